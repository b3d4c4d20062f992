"""Models with unknown normalising constants: an unnormalised likelihood, a statistic, and a simulator of data.

Every model has ``log_likelihood(theta, x)``, ``statistic(x)`` and ``simulate(key, theta)``, ready for `ls.exchange` and
its relatives. Those that simulate by a chain also take a ``start``: ``simulate(key, theta, x)`` is one transition.
`StateSpace` is a model of another kind: a hidden Markov process with observations, for `ls.particle_marginal`.
"""

from lockstep.models import leaps, terms
from lockstep.models.conway_maxwell_poisson import ConwayMaxwellPoisson
from lockstep.models.ergm import ERGM
from lockstep.models.goodness import GoodnessOfFit, goodness_of_fit
from lockstep.models.ising import Ising
from lockstep.models.potts import Potts
from lockstep.state_space.model import StateSpace

__all__ = [
    "ERGM",
    "ConwayMaxwellPoisson",
    "GoodnessOfFit",
    "Ising",
    "Potts",
    "StateSpace",
    "goodness_of_fit",
    "leaps",
    "terms",
]
