"""The few forms that the log ratio of Metropolis–Hastings takes."""

from lockstep.ratios import involutions, rules
from lockstep.ratios.carried import Carried, Exactly, Noisily
from lockstep.ratios.estimated import Estimated
from lockstep.ratios.randomized import Randomized
from lockstep.ratios.universal import Universal

__all__ = ["Carried", "Estimated", "Exactly", "Noisily", "Randomized", "Universal", "involutions", "rules"]
