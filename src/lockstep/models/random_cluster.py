"""Perfect draws of Ising and Potts models: coupling from the past on the random-cluster representation.

A bond is open with probability p = 1 - e^{-coupling} if its ends are connected by other open bonds, else with
probability p/(p + (1-p) q). That is monotone for every q >= 1: from all bonds open and from all closed, with the same
uniform numbers, the two configurations stay ordered, and where they have met every other has met them too. Given the
open bonds, each cluster takes a colour at random: that is a draw of the Potts model (Edwards and Sokal, 1988).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.core.types import Array
from lockstep.models.compiled import njit, stream, uniform

COLOURS = -1  # the number of the stream that colours the clusters; sweep -t uses stream t


@njit
def is_connected(
    is_open: Any, start: int, end: int, without: int, first: Array, sites: Array, bonds: Array, work: Any
) -> Any:
    """Whether open bonds other than ``without`` join two sites: both are searched from, by turns.

    ``work`` has four rows: stamps that tell which search has seen a site, two queues, and the last stamp.
    """
    stamp, queue = work[0], work[1:3]
    mark = work[3, 0] + 2
    work[3, 0] = mark
    stamp[start], stamp[end] = mark, mark + 1
    queue[0, 0], queue[1, 0] = start, end
    head, tail = np.zeros(2, np.int64), np.ones(2, np.int64)
    while True:
        for side in range(2):
            if head[side] == tail[side]:
                return False
            site = queue[side, head[side]]
            head[side] += 1
            for k in range(first[site], first[site + 1]):
                bond, other = bonds[k], sites[k]
                if not is_open[bond] or bond == without or stamp[other] == mark + side:
                    continue
                if stamp[other] == mark + 1 - side:
                    return True
                stamp[other] = mark + side
                queue[side, tail[side]] = other
                tail[side] += 1


@njit
def sweep(
    low: Any,
    high: Any,
    start: Array,
    p: Array,
    q: float,
    ends: Any,
    first: Array,
    sites: Array,
    bonds: Array,
    work: Any,
) -> None:
    """One heat-bath update of every bond, in both configurations, with the same uniform numbers."""
    for bond in range(len(ends)):
        u = uniform(start, bond)
        # Connected or not only matters between the two probabilities.
        if u < p[bond] / (p[bond] + (1 - p[bond]) * q):
            low[bond] = high[bond] = True
        elif u >= p[bond]:
            low[bond] = high[bond] = False
        else:
            one, other = ends[bond, 0], ends[bond, 1]
            low[bond] = is_connected(low, one, other, bond, first, sites, bonds, work)
            high[bond] = low[bond] or is_connected(high, one, other, bond, first, sites, bonds, work)


@njit
def open_bonds(
    words: Array, p: Array, q: float, limit: int, ends: Any, first: Array, sites: Array, bonds: Array
) -> tuple[Any, int]:
    """A perfect draw of the open bonds, and how many sweeps into the past it began; -1 at the limit."""
    work = np.zeros((4, len(first)), np.int64)
    low, high = np.zeros(len(ends), np.bool_), np.zeros(len(ends), np.bool_)
    back = 1
    while back <= limit:
        low[:], high[:] = False, True
        for t in range(back, 0, -1):  # the sweeps at times -back, ..., -1
            sweep(low, high, stream(words, t), p, q, ends, first, sites, bonds, work)
        if np.all(low == high):
            return low, back
        back *= 2
    return low, -1


@njit
def coloured(is_open: Any, colours: int, start: Array, ends: Any, sites: int) -> Any:
    """A colour for each cluster at random, the same for all its sites."""
    root = np.arange(sites)
    for bond in range(len(ends)):
        if is_open[bond]:
            one, other = find(root, ends[bond, 0]), find(root, ends[bond, 1])
            root[max(one, other)] = min(one, other)
    colour = np.empty(sites, np.int64)
    for site in range(sites):
        top = find(root, site)
        colour[site] = int(uniform(start, site) * colours) if top == site else colour[top]
    return colour


@njit
def find(root: Any, site: int) -> Any:
    """The first site of a cluster; the way to it is shortened."""
    while root[site] != site:
        root[site] = root[root[site]]
        site = root[site]
    return site


@njit
def perfect_draws(
    words: Array, p: Array, colours: int, limit: int, ends: Any, first: Array, sites: Array, bonds: Array
) -> tuple[Any, Any]:
    """For each row of keys and bond probabilities: the colours of all sites, and how far back the draw began."""
    count = len(first) - 1
    draws, back = np.zeros((len(words), count), np.int64), np.zeros(len(words), np.int64)
    for i in range(len(words)):
        is_open, back[i] = open_bonds(words[i], p[i], colours, limit, ends, first, sites, bonds)
        if back[i] < 0:
            break
        draws[i] = coloured(is_open, colours, stream(words[i], COLOURS), ends, count)
    return draws, back


@njit
def swendsen_wang(words: Array, p: Array, colours: int, sweeps: int, x: Array, ends: Any) -> None:
    """Updates of Swendsen and Wang, in place: bonds between equal colours open at random, clusters take new colours."""
    is_open = np.zeros(len(ends), np.bool_)
    for i in range(len(words)):
        for t in range(sweeps):
            start = stream(words[i], t + 1)
            for bond in range(len(ends)):
                is_equal = x[i, ends[bond, 0]] == x[i, ends[bond, 1]]
                is_open[bond] = is_equal and uniform(start, bond) < p[i, bond]
            x[i] = coloured(is_open, colours, stream(words[i], -t - 1), ends, x.shape[1])
