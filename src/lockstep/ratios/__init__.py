"""The few forms that the log ratio of Metropolis–Hastings takes, and what it takes to write another.

``MetropolisHastings(proposal, ratio)`` is a kernel with any of them: `Carried` along with the position, `Estimated`
anew for each candidate and made a log ratio by one of the `rules`, `Randomized` by an auxiliary variable whose
`involutions` lead the way back, `Screened` by a cheap surrogate first, or `Universal`.
"""

from lockstep.core.randomization import Randomization
from lockstep.core.ratio import Ratio
from lockstep.ratios import involutions, rules
from lockstep.ratios.carried import Carried, Exactly, Noisily
from lockstep.ratios.estimated import Estimated
from lockstep.ratios.randomizations import Density, tempering
from lockstep.ratios.randomized import Randomized
from lockstep.ratios.screened import Screened
from lockstep.ratios.universal import Universal

__all__ = [
    "Carried",
    "Density",
    "Estimated",
    "Exactly",
    "Noisily",
    "Randomization",
    "Randomized",
    "Ratio",
    "Screened",
    "Universal",
    "involutions",
    "rules",
    "tempering",
]
