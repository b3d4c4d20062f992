"""Whether a bound holds: what the exact minibatch algorithms look at before a run, and at one row of every update.

Rows are drawn in proportion to their bounds. One whose bound is 0 is never drawn, so that no row which *is* drawn can
tell that it matters: this needs a look at rows that the algorithm itself would not take.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import describe, one_of
from lockstep.core.types import Array, Position, Tree
from lockstep.core.warnings import warn

MOST_ROWS = 4096  # that are looked at before a run
FEW_ROWS = 1000.0  # at an update: nobody minds
MOST_ARRIVALS = 1e8  # of an update; a bound that asks for more would never come to an end
SLACK = 1e-9  # relative to a bound
ROUNDING = 1e-12  # of a remainder, relative to the values of which it is the difference


def is_usable(size: Array, rate: Array) -> Array:
    """Whether a distance is one, and asks for a number of rows that can be drawn."""
    return (size >= 0) & (rate <= MOST_ARRIVALS)


def is_broken(minibatch: Tree, index: Array, size: Array, position: Position, candidate: Position) -> Array:
    """Whether a row changes by more than its bound from one position to another, whose distance is ``size``."""
    change, slack = _change(minibatch, index, position, candidate)
    # Where the change is no number, neither is the ratio, which is counted on its own.
    return jnp.abs(change) > minibatch.coefficients[index] * size * (1 + SLACK) + slack


def watched_row(minibatch: Tree, process: Any) -> Array:
    """A row for each update that is looked at whatever its bound; any uniform number may choose it."""
    size = minibatch.estimator.rows.size
    return jnp.clip((process.first.keeps[0] * size).astype(np.int32), 0, size - 1)


def is_asymmetric(there: Array, back: Array) -> Array:
    """Whether a distance is another one on the way back."""
    return ~(jnp.abs(there - back) <= SLACK * jnp.maximum(jnp.abs(there), jnp.abs(back)))


def require_bound(minibatch: Tree, position: Position, candidates: Position, is_two_way: bool) -> None:
    """Refuse a bound that does not hold between a position and some candidates (a leading axis)."""
    rows = _rows(np.asarray(minibatch.coefficients))
    there, back, changes, bounds = map(np.asarray, _looks(minibatch, rows, position, candidates))
    if not np.all((there >= 0) & (there < np.inf)):
        pair = int(np.argmin((there >= 0) & (there < np.inf)))
        raise ValueError(
            f"distance of the bound is {there[pair]} from {describe(position)} to "
            f"{describe(one_of(candidates, pair))}; it must be finite and not negative"
        )
    if is_two_way and np.any(is_asymmetric(there, back)):
        pair = int(np.argmax(is_asymmetric(there, back)))
        raise ValueError(
            f"distance of the bound is {there[pair]:.6g} from {describe(position)} to "
            f"{describe(one_of(candidates, pair))}, but {back[pair]:.6g} back; it must be the same in both directions"
        )
    is_beyond = changes > bounds
    if is_beyond.any():
        worst = np.argmax(np.where(is_beyond, changes - bounds, -np.inf))
        pair, row = (int(index) for index in np.unravel_index(worst, changes.shape))
        raise ValueError(
            f"bound does not hold: from {describe(position)} to {describe(one_of(candidates, pair))} what the "
            f"control leaves of row {int(rows[row]):,} changes by {changes[pair, row]:.6g}, but its coefficient "
            f"{float(minibatch.coefficients[rows[row]]):.6g} times the distance {float(there[pair]):.6g} is less; "
            f"{is_beyond.any(axis=0).sum():,} of the {len(rows):,} rows that were looked at are beyond theirs. Raise "
            f"what `row` or `distance` of the bound returns"
        )


def require_few_rows(rates: Any, size: int, which: str) -> None:
    """Refuse a minibatch that takes more rows than there are, warn if it takes many.

    ``rates`` tells how many rows updates to some candidates draw on average.
    """
    rows = float(np.median(np.asarray(rates)))
    if rows <= max(size / 10, FEW_ROWS):
        return
    told = (
        f"{which} would draw about {rows:,.3g} rows at each update, of the {size:,} rows that there are: the bound is "
        f"wide compared with the posterior (rare events, few rows for each parameter, steps that are too long)"
    )
    if rows > max(size, FEW_ROWS):
        raise ValueError(
            f"bound: {told}. ls.standard with all rows is exact and cheaper; ls.subsampled needs no bound; or tighten "
            f"the bound, rescale the features, or take smaller steps"
        )
    warn(f"bound: {told}")


@jax.jit
def _looks(minibatch: Tree, rows: Array, position: Position, candidates: Position) -> tuple[Array, Array, Array, Array]:
    """To each candidate, and back: the distances, and of all these rows the change there and what it may be."""

    def of_pair(candidate: Position) -> tuple[Array, Array, Array, Array]:
        there, back = minibatch.distance(position, candidate), minibatch.distance(candidate, position)
        change, slack = jax.vmap(lambda index: _change(minibatch, index, position, candidate))(rows)
        return there, back, jnp.abs(change), minibatch.coefficients[rows] * there * (1 + SLACK) + slack

    return jax.vmap(of_pair)(candidates)


def _change(minibatch: Tree, index: Array, position: Position, candidate: Position) -> tuple[Array, Array]:
    """By how much the remainder of a row changes, and how much of that may be rounding."""
    estimator = minibatch.estimator
    row = jax.tree.map(lambda leaf: leaf[0], estimator.rows.take(index[None]))
    old, new = estimator.remainder(position, row), estimator.remainder(candidate, row)
    size = sum(
        1 + jnp.abs(estimator.log_likelihood(theta, row)) + jnp.abs(r)
        for theta, r in ((position, old), (candidate, new))
    )
    return new - old, ROUNDING * size


def _rows(coefficients: np.ndarray) -> np.ndarray:
    """All rows, or those with the smallest bounds and some that are spread over the rest."""
    if len(coefficients) <= MOST_ROWS:
        return np.arange(len(coefficients))
    least = np.argpartition(coefficients, MOST_ROWS // 2)[: MOST_ROWS // 2]
    return np.union1d(least, np.linspace(0, len(coefficients) - 1, MOST_ROWS // 2).astype(int))
