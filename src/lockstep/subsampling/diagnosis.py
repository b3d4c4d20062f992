"""How near a posterior is to its normal approximation, and how noisy a subsampled ratio is between draws from it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import real_numbers
from lockstep.core.estimator import Estimator
from lockstep.core.flat import require_floating, size, unflatten
from lockstep.core.precision import canonical, double_precision
from lockstep.core.proposal import Proposal
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.subsampling.rows import widened

DRAWS = 1024
ROWS = 1024
HIGH_SHAPE = 0.5  # of the Pareto tail of the weights: beyond it they have no variance, and chains miss the tail
LOW_ACCEPTANCE = 0.5


@runtime_checkable
class Remainders(Protocol):
    """A fitted estimator: its rows, what its control leaves of each, and what is known without them."""

    rows: Any

    def remainder(self, position: Position, row: Tree) -> Array: ...
    def known(self, position: Position) -> Array: ...


class Diagnosis(NamedTuple):
    """What candidates from a proposal meet, found on a fixed sample of draws and rows.

    ``acceptance`` is the expected acceptance of the exact chain with this proposal. ``shape`` is the shape parameter k
    of the Pareto tail of the weights target/proposal (by ArviZ): above 0.5 the proposal misses a tail of the target;
    NaN for proposals that are not independent. ``variance`` is that of an estimate of D from *one* row, at the 90 %
    quantile over pairs of draws: that of m rows is m times smaller.
    """

    acceptance: float
    shape: float
    variance: float

    @property
    def is_normal_enough(self) -> bool:
        """Whether candidates of this proposal serve."""
        return self.acceptance >= LOW_ACCEPTANCE and not self.shape > HIGH_SHAPE

    def __str__(self) -> str:
        tail = "" if np.isnan(self.shape) else f", Pareto shape of its weights {self.shape:.2f}"
        return f"acceptance {self.acceptance:.2f}{tail}, variance of a one-row estimate {self.variance:.3g}"


def diagnose(estimator: Any, proposal: Proposal, start: Position, mean: Array, factor: Array) -> Diagnosis:
    """Look at draws from N(mean, factor factorᵀ) and at what a proposal makes of them.

    Parameters
    ----------
    estimator
        A fitted `Subsample`.
    proposal
        A proposal.
    start
        A position, for its structure.
    mean, factor
        The normal approximation of the posterior.
    """
    if isinstance(estimator, type) or not isinstance(estimator, Remainders):
        raise TypeError(f"estimator is {estimator!r}; it must be what ls.estimators.subsample(…, initial=…) returns")
    proposal = adopted(proposal, Proposal, "proposal", "a proposal such as ls.RandomWalk(scale)")
    mean, factor = real_numbers(mean, "mean"), real_numbers(factor, "factor")
    with double_precision():
        estimator, proposal = canonical(estimator, "estimator"), canonical(proposal, "proposal")
        start = canonical(start, "start")
        require_floating(start, "diagnose")
        if mean.shape != (size(start),) or factor.shape != 2 * mean.shape:
            raise ValueError(
                f"mean has shape {mean.shape} and factor {factor.shape}, but start holds {size(start)} numbers; give "
                f"the normal approximation of the posterior, a vector and a square matrix, such as those of find_mode"
            )
        rows = widened(estimator.rows.some(ROWS).arrays)
        z = np.random.default_rng(0).normal(size=(DRAWS, len(mean)))
        found = _looked_at(estimator, proposal, start, mean + z @ factor.T, rows, random.seeded(0))
        log_q, old, new, spread, log_density = (np.asarray(one) for one in found)
        log_ratio = log_q + new - old
        accepted = np.where(log_ratio < np.inf, np.exp(np.minimum(log_ratio, 0.0)), 0.0)
        # The draws come from the approximation: weigh them towards the posterior.
        log_weight = old + 0.5 * np.sum(z**2, axis=1)
        weight = np.exp(log_weight - np.max(log_weight))
        shape = np.nan if np.isnan(log_density).all() else _tail(new - log_density)
    return Diagnosis(float(weight @ accepted / weight.sum()), shape, float(np.quantile(spread, 0.9)))


@jax.jit
def _looked_at(
    estimator: Estimator,
    proposal: Proposal,
    start: Position,
    vectors: Array,
    rows: Tree,
    key: Key,
) -> tuple[Array, ...]:
    """Log proposal ratios, log targets at draws and candidates, variances, log densities.

    The log density of independent candidates, up to a constant; NaN if they are not independent.
    """
    draws = unflatten(vectors, start, (DRAWS,))
    noise = proposal.noise(key, jax.tree.map(lambda leaf: leaf[0], draws), (DRAWS,))
    candidates, log_q = jax.vmap(proposal)(noise, draws)
    pairs = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=1), draws, candidates)
    targets, variances = jax.lax.map(lambda pair: _of_pair(estimator, rows, pair), pairs)
    # From one of them to all of them: the log proposal ratio of independent candidates has both densities.
    one = jax.tree.map(lambda leaf: leaf[0], candidates)
    log_density = -jax.vmap(proposal, (0, None))(noise, one)[1] if proposal.is_independent else jnp.full(DRAWS, jnp.nan)
    return log_q, targets[:, 0], targets[:, 1], variances, log_density


def _of_pair(estimator: Any, rows: Tree, pair: Any) -> tuple[Array, Array]:
    """The log target at two positions, and the variance of N times the difference of remainders over the rows."""

    def one(position: Position) -> tuple[Array, Array]:
        remainders = estimator.rows.size * jax.vmap(lambda row: estimator.remainder(position, row))(rows)
        return estimator.known(position) + remainders.mean(), remainders

    targets, remainders = jax.vmap(one)(pair)
    return targets, jnp.var(remainders[1] - remainders[0])


def _tail(log_weights: np.ndarray) -> float:
    """The shape of the Pareto tail of weights; that of nearly equal weights is no tail at all."""
    log_weights = log_weights[np.isfinite(log_weights)]
    if np.std(log_weights) < 0.1:
        return 0.0
    from arviz_stats.base import array_stats

    # It takes minus the logarithms, as for leave-one-out weights.
    return float(array_stats.psislw(log_weights.max() - log_weights)[1])
