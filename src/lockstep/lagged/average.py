"""The estimate that a lagged pair makes without bias.

H_k = h(X_k) + Σ_{j ≥ 1} [h(X_{k+jL}) - h(Y_{k+(j-1)L})], and H_{k:m} is the average of H_k … H_m.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.precision import double_precision
from lockstep.host.boxes import is_box
from lockstep.host.functions import Function
from lockstep.lagged.pairs import Group


def averages(group: Group, function: Any, lag: int, start: int, end: int) -> Any:
    """H_{k:m} of each pair of a group, (pairs, …)."""
    means = jax.tree.map(lambda values: values.mean(axis=1), along(group, function, start, end))
    # X_t and Y_{t - lag} for all t at which the two differ and count: from k + lag until the last pair has met.
    last = int(group.meeting_times.max())
    if last <= start + lag:
        return means
    ours = along(group, function, start + lag, last - 1)
    theirs = evaluated(function, jax.tree.map(lambda leaf: leaf[:, start + lag - 1 : last - 1], group.positions.second))
    weights = weights_of(np.arange(start + lag, last), lag, start, end)

    def corrected(mean: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray(mean + np.tensordot(one - other, weights, axes=([1], [0])))

    return jax.tree.map(corrected, means, ours, theirs)


def along(group: Group, function: Any, start: int, end: int) -> Any:
    """The values of h along X_k … X_m, (pairs, m - k + 1, …)."""

    def part(zero: np.ndarray, later: np.ndarray) -> np.ndarray:
        # X_0 stands apart from the later ones.
        return later[:, start - 1 : end] if start else np.concatenate([zero[:, None], later[:, :end]], axis=1)

    return evaluated(function, jax.tree.map(part, group.start, group.positions.first))


def weights_of(times: np.ndarray, lag: int, start: int, end: int) -> np.ndarray:
    """How often h(X_t) - h(Y_{t - lag}) comes in H_{k:m}: the j ≥ 1 with k ≤ t - j lag ≤ m, over m - k + 1."""
    most = (times - start) // lag
    least = np.maximum(1, -(-(times - end) // lag))
    return np.maximum(most - least + 1, 0) / (end - start + 1)


def evaluated(function: Any, positions: Any) -> Any:
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
def _over_all(function: Any, positions: Any) -> Any:
    return jax.vmap(function)(positions)
