"""How far apart the two chains of lagged pairs are until they meet."""

from __future__ import annotations

import jax
import numpy as np

from lockstep.core.types import Tree


def distances(draws: Tree, lag: int) -> np.ndarray:
    """The Euclidean distance of X_{lag+s} and Y_s, for s = 0, 1, …, until the last pair has met; (pairs, s)."""
    last = max(int(draws.meeting_times.max()), lag)
    squares = np.zeros((len(draws.meeting_times), last - lag + 1))
    for one, other in zip(*map(jax.tree.leaves, (draws.first, draws.second)), strict=True):
        apart = one[:, lag - 1 : last].astype(float) - other[:, lag - 1 : last].astype(float)
        squares[:, : apart.shape[1]] += np.sum(apart**2, axis=tuple(range(2, apart.ndim)))
    return np.sqrt(squares)
