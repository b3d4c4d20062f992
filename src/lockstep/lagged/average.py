"""The estimate that a lagged pair makes without bias.

H_k = h(X_k) + Σ_{j ≥ 1} [h(X_{k+jL}) - h(Y_{k+(j-1)L})], and H_{k:m} is the average of H_k … H_m.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.precision import double_precision
from lockstep.core.types import Position, Tree
from lockstep.host.boxes import is_box
from lockstep.host.functions import Function

FEWEST_JUDGED, MOST_JUDGED = 16, 2**21  # pairs, and numbers, by which a long chain's variance is estimated


class Average(NamedTuple):
    """H_{k:m} of a function h, from k = ``start`` to m = ``end``."""

    function: Any
    start: int
    end: int

    def over(self, draws: Tree, lag: int, number: int) -> tuple[Any, Any]:
        """Its value for each of some pairs, the first of which has a number, and h along those that are judged."""
        along = self._along(draws, self.start, self.end)
        numbers = max(1, sum(leaf[0].size for leaf in jax.tree.leaves(along)))
        judged = max(0, max(FEWEST_JUDGED, MOST_JUDGED // numbers) - number)
        values = self._corrected(jax.tree.map(lambda leaf: leaf.mean(axis=1), along), draws, lag)
        return values, jax.tree.map(lambda leaf: leaf[:judged].copy(), along)

    def _corrected(self, means: Any, draws: Tree, lag: int) -> Any:
        # X_t and Y_{t - lag} for all t at which the two differ and count: from k + lag until the last pair has met.
        begin, last = self.start + lag, int(draws.meeting_times.max())
        if last <= begin:
            return means
        ours = self._along(draws, begin, last - 1)
        theirs = evaluated(self.function, jax.tree.map(lambda leaf: leaf[:, begin - 1 : last - 1], draws.second))
        weights = weights_of(np.arange(begin, last), lag, self.start, self.end)

        def corrected(mean: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
            return np.asarray(mean + np.tensordot(one - other, weights, axes=([1], [0])))

        return jax.tree.map(corrected, means, ours, theirs)

    def _along(self, draws: Tree, start: int, end: int) -> Any:
        """The values of h along X_start … X_end, (pairs, end - start + 1, …)."""

        def part(zero: np.ndarray, later: np.ndarray) -> np.ndarray:
            # X_0 stands apart from the later ones.
            return later[:, start - 1 : end] if start else np.concatenate([zero[:, None], later[:, :end]], axis=1)

        return evaluated(self.function, jax.tree.map(part, draws.start, draws.first))


def weights_of(times: np.ndarray, lag: int, start: int, end: int) -> np.ndarray:
    """How often h(X_t) - h(Y_{t - lag}) comes in H_{k:m}: the j ≥ 1 with k ≤ t - j lag ≤ m, over m - k + 1."""
    most = (times - start) // lag
    least = np.maximum(1, -(-(times - end) // lag))
    return np.maximum(most - least + 1, 0) / (end - start + 1)


def evaluated(function: Callable[..., Any], positions: Position) -> Any:
    """A function of positions with two leading axes; by default their numbers as they are."""
    leaves = jax.tree.leaves(positions)
    if function is None:
        return jax.tree.map(lambda leaf: np.asarray(leaf, float), positions)
    shape = leaves[0].shape[:2]
    flat = jax.tree.map(lambda leaf: np.reshape(leaf, (-1, *leaf.shape[2:])), positions)
    with double_precision():
        if is_box(function):
            values = [function(jax.tree.map(lambda leaf: leaf[i], flat)) for i in range(int(np.prod(shape)))]  # noqa: B023
            found: Any = jax.tree.map(lambda *leaves: np.stack(leaves), *values)
        else:
            found = _over_all(Function(function, "function"), flat)
    return jax.tree.map(lambda leaf: np.asarray(leaf, float).reshape((*shape, *np.shape(leaf)[1:])), found)


@jax.jit
def _over_all(function: Callable[..., Any], positions: Position) -> Any:
    return jax.vmap(function)(positions)
