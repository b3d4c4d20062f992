"""Models with unknown normalising constants: an unnormalised likelihood, a statistic, and a simulator of data.

Every model has ``log_likelihood(theta, x)``, ``statistic(x)`` and ``simulate(key, theta)``, ready for `ls.exchange` and
its relatives. Those that simulate by a chain also take a ``start``: ``simulate(key, theta, x)`` is one transition.
"""

from lockstep.models import terms
from lockstep.models.conway_maxwell_poisson import ConwayMaxwellPoisson
from lockstep.models.ergm import ERGM
from lockstep.models.ising import Ising
from lockstep.models.potts import Potts

__all__ = ["ERGM", "ConwayMaxwellPoisson", "Ising", "Potts", "terms"]
