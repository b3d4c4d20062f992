"""How far apart the two chains of lagged pairs are until they meet."""

from __future__ import annotations

import jax
import numpy as np

from lockstep.lagged.pairs import Group


def distances(group: Group, lag: int) -> np.ndarray:
    """The Euclidean distance of X_{lag+s} and Y_s, for s = 0, 1, …, until the last pair has met; (pairs, s)."""
    last = max(int(group.meeting_times.max()), lag)
    squares = np.zeros((group.size, last - lag + 1))
    for one, other in zip(*map(jax.tree.leaves, group.positions), strict=True):
        apart = one[:, lag - 1 : last].astype(float) - other[:, lag - 1 : last].astype(float)
        squares[:, : apart.shape[1]] += np.sum(apart**2, axis=tuple(range(2, apart.ndim)))
    return np.sqrt(squares)
