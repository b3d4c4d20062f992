"""The one accept/reject, its compositions, and the named algorithms, which say of themselves when they are exact."""

from lockstep.kernels.auxiliary_variable import auxiliary_variable
from lockstep.kernels.averaged_exchange import averaged_exchange
from lockstep.kernels.bridged_exchange import bridged_exchange
from lockstep.kernels.compose import Cycle, Mixture
from lockstep.kernels.corrected import corrected
from lockstep.kernels.exchange import exchange
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.kernels.naive import naive
from lockstep.kernels.noisy_exchange import noisy_exchange
from lockstep.kernels.penalty import penalty
from lockstep.kernels.poisson_product import poisson_product
from lockstep.kernels.pseudo_marginal import pseudo_marginal
from lockstep.kernels.randomized import randomized
from lockstep.kernels.screened import screened
from lockstep.kernels.standard import standard
from lockstep.kernels.subsampled import subsampled
from lockstep.kernels.tunamh import tunamh
from lockstep.kernels.universal import universal

__all__ = [
    "Cycle",
    "MetropolisHastings",
    "Mixture",
    "auxiliary_variable",
    "averaged_exchange",
    "bridged_exchange",
    "corrected",
    "exchange",
    "naive",
    "noisy_exchange",
    "penalty",
    "poisson_product",
    "pseudo_marginal",
    "randomized",
    "screened",
    "standard",
    "subsampled",
    "tunamh",
    "universal",
]
