"""How far the equilibria of two kernels are from each other, bounded by the distance of two coupled chains."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import is_number, require_run
from lockstep.core.sampled import Sampled
from lockstep.coupling.infos import CoupledInfo
from lockstep.separation.summary import mean_and_error


@dataclasses.dataclass(frozen=True, eq=False)
class Distance:
    """An upper bound of the Wasserstein distance of two invariant laws, and its Monte Carlo standard error."""

    bound: float
    bound_se: float
    order: float

    def __str__(self) -> str:
        return f"Wasserstein distance (order {self.order:g}) at most {self.bound:.3g} ± {self.bound_se:.1g}"


def distance(run: Sampled, order: float = 1.0) -> Distance:
    """Bound the Wasserstein distance between the equilibria of two coupled kernels.

    Each chain of a pair in equilibrium has its own invariant law, so that the pair is a coupling of the two laws:
    their Wasserstein distance of order p is at most (E abs(X - Y)^p)^{1/p}, the average along the run. The closer the
    coupling, the tighter the bound: take `ls.MaximallyCoupled`.

    Parameters
    ----------
    run
        From `ls.sample` of ``ls.MaximallyCoupled(exact, approximate)`` or `ls.Coupled`, with a warm-up: the bound
        holds in equilibrium.
    order
        p, at least 1.

    Returns
    -------
    Distance
        ``bound`` and ``bound_se``, in the units of the position (Euclidean distance).

    References
    ----------
    Biswas and Mackey, "Bounding Wasserstein distance with couplings" (2024).
    """
    require_run(run)
    if not isinstance(run.info, CoupledInfo):
        raise TypeError(
            "run is not one of two coupled kernels; give one of ls.MaximallyCoupled(exact, approximate) or ls.Coupled"
        )
    if not is_number(order) or not 1 <= order < np.inf:
        raise ValueError(f"order is {order!r}; it must be a number, at least 1")
    squares: Any = 0.0
    for one, other in zip(*map(jax.tree.leaves, run.positions), strict=True):
        apart = np.asarray(one, float) - np.asarray(other, float)
        squares = squares + np.sum(apart**2, axis=tuple(range(2, apart.ndim)))
    mean, error = mean_and_error(squares ** (order / 2))
    bound = mean ** (1 / order)
    return Distance(bound, error * bound / (order * mean) if mean > 0 else error, float(order))
