"""Perfect draws of Ising models in any field: coupling from the past by single-site heat bath.

Spins are bounded from below and above; a site whose new value is the same for all neighbours between the bounds is
known. For θ >= 0 the bounds are the lowest and the highest configuration of Propp and Wilson, for θ < 0 they swap
roles at each update (Häggström and Nelander, 1998).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lockstep.core.types import Array, Position
from lockstep.models.compiled import njit, stream, uniform


@njit
def sweep(low: Any, high: Any, start: Array, theta: float, field: Any, first: Array, sites: Array) -> None:
    """One heat-bath update of every site, of both bounds with the same uniform numbers."""
    for site in range(len(low)):
        lowest = highest = 0
        for k in range(first[site], first[site + 1]):
            lowest += low[sites[k]]
            highest += high[sites[k]]
        if theta < 0:
            lowest, highest = highest, lowest
        u = uniform(start, site)
        low[site] = 1 if u * (1 + math.exp(-2 * (theta * lowest + field[site]))) < 1 else -1
        high[site] = 1 if u * (1 + math.exp(-2 * (theta * highest + field[site]))) < 1 else -1


@njit
def perfect_draws(words: Array, theta: Position, field: Any, limit: int, first: Array, sites: Array) -> tuple[Any, Any]:
    """For each key and θ: all spins, and how many sweeps into the past the draw began; -1 at the limit."""
    draws, back = np.zeros((len(words), len(field)), np.int64), np.zeros(len(words), np.int64)
    low, high = np.zeros(len(field), np.int64), np.zeros(len(field), np.int64)
    for i in range(len(words)):
        length = 1
        back[i] = -1
        while length <= limit:
            low[:], high[:] = -1, 1
            for t in range(length, 0, -1):
                sweep(low, high, stream(words[i], t), theta[i], field, first, sites)
            if np.all(low == high):
                draws[i], back[i] = low, length
                break
            length *= 2
        if back[i] < 0:
            break
    return draws, back
