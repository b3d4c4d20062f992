"""Named parameters with priors and supports."""

from lockstep.parameters.parameters import Parameters
from lockstep.parameters.supports import interval, ordered, positive, real, simplex

__all__ = ["Parameters", "interval", "ordered", "positive", "real", "simplex"]
