"""Section 5 of Nicholls, Fox and Muir Watt (2012), *Coupled MCMC with a randomized acceptance probability*.

The target, the estimators with their normal scores, the coupled pairs of kernels, and one file a figure. The paper does
not state its proposals; the two used here agree with all of its numbers.
"""

from lockstep.studies.nicholls2012.estimators import InverseGamma, NormalMean, NormalScore
from lockstep.studies.nicholls2012.model import INDEPENDENCE, PROPOSALS, RANDOM_WALK, draw_target, log_density
from lockstep.studies.nicholls2012.pairs import PAIRS, coupled_pair, separation

__all__ = [
    "INDEPENDENCE",
    "PAIRS",
    "PROPOSALS",
    "RANDOM_WALK",
    "InverseGamma",
    "NormalMean",
    "NormalScore",
    "coupled_pair",
    "draw_target",
    "log_density",
    "separation",
]
