"""Random graphs by toggling edges, compiled: Metropolis–Hastings with tie–no-tie proposals and change statistics.

With probability 1/2 an edge is proposed to go, else any pair of nodes is proposed to change. The neighbours of a node
are bits of words, so that common neighbours are counted 64 at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lockstep.models.compiled import njit, stream, uniform
from lockstep.models.terms import EDGES, IN_DEGREE, IN_STARS, MUTUAL, OUT_DEGREE, OUT_STARS, SHARED, TRIANGLES

ONE = np.uint64(1)
ODD, PAIRS, FOURS, BYTES = (
    np.uint64(word) for word in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)


@njit
def bits(word: Any) -> Any:
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & ODD)
    word = (word & PAIRS) + ((word >> np.uint64(2)) & PAIRS)
    word = (word + (word >> np.uint64(4))) & FOURS
    return np.int64((word * BYTES) >> np.uint64(56))


@njit
def common(first: Any, second: Any) -> Any:
    """How many nodes are in both of two sets."""
    total = 0
    for n in range(len(first)):
        total += bits(first[n] & second[n])
    return total


@njit
def choose(n: int, k: int) -> float:
    """The binomial coefficient."""
    product = 1.0
    for i in range(k):
        product *= (n - i) / (i + 1)
    return product


@njit
def shared_change(i: int, j: int, is_there: Any, is_directed: bool, power: Any, out: Any, into: Any) -> float:
    """What the edge i → j adds to the weighted number of shared partners: its own, and those it makes for others."""
    value = (1 - power[common(out[i], into[j])]) / (1 - power[1])
    for n in range(out.shape[1]):
        left = out[i, n] & out[j, n]
        while left:
            k = 64 * n + bits((left & (~left + ONE)) - ONE)
            value += power[common(out[i], into[k]) - is_there]
            if not is_directed:
                value += power[common(out[j], into[k]) - is_there]
            left &= left - ONE
        left = into[i, n] & into[j, n] if is_directed else np.uint64(0)
        while left:
            k = 64 * n + bits((left & (~left + ONE)) - ONE)
            value += power[common(out[k], into[j]) - is_there]
            left &= left - ONE
    return value


@njit
def change(
    i: int, j: int, is_there: Any, is_directed: bool, theta: Any, codes: Any, numbers: Any, powers: Any, is_same: Any,
    out: Any, into: Any, degree: Any,
) -> float:  # fmt: skip
    """What the edge i → j adds to θ·s, in the graph without it.

    Row i of ``out`` holds the nodes to which edges leave i, of ``into`` those from which they enter; ``degree`` has
    their numbers; ``powers[t, s]`` is (1 - e^{-α})^s of term t.
    """
    left, entered = degree[0, i] - is_there, degree[1, j] - is_there
    total = 0.0
    for t in range(len(codes)):
        code, power = codes[t], powers[t]
        if code == EDGES:
            value = 1.0
        elif code == MUTUAL:
            value = float((out[j, i >> 6] >> np.uint64(i & 63)) & ONE)
        elif code == OUT_STARS:
            value = choose(left, numbers[t] - 1) + (0.0 if is_directed else choose(entered, numbers[t] - 1))
        elif code == IN_STARS:
            value = choose(entered, numbers[t] - 1)
        elif code == TRIANGLES:
            value = float(common(out[i], into[j]))
            if is_directed:
                value += common(out[j], into[i]) + common(out[i], out[j]) + common(into[i], into[j])
        elif code == SHARED:
            value = shared_change(i, j, is_there, is_directed, power, out, into)
        elif code == OUT_DEGREE:
            value = power[left] + (0.0 if is_directed else power[entered])
        elif code == IN_DEGREE:
            value = power[entered]
        else:
            value = is_same[t, i, j]
        total += theta[t] * value
    return total


@njit
def put(i: int, j: int, sign: Any, out: Any, into: Any, degree: Any) -> None:
    """Add the edge i → j, or take it away."""
    out[i, j >> 6] ^= ONE << np.uint64(j & 63)
    into[j, i >> 6] ^= ONE << np.uint64(i & 63)
    degree[0, i] += sign
    degree[1, j] += sign


@njit
def toggle(
    words: Any, theta: Any, count: int, x: Any, is_directed: bool, codes: Any, numbers: Any, powers: Any, is_same: Any
) -> None:
    """That many proposals to toggle, for each graph of ``x``, in place."""
    nodes = x.shape[1]
    pairs = nodes * (nodes - 1)
    dyads = pairs if is_directed else pairs // 2
    edge = np.empty((dyads, 2), np.int64)
    place = np.empty((nodes, nodes), np.int64)
    for g in range(len(x)):
        start, edges = stream(words[g], 1), 0
        out, into = np.zeros((nodes, (nodes + 63) // 64), np.uint64), np.zeros((nodes, (nodes + 63) // 64), np.uint64)
        degree = np.zeros((2, nodes), np.int64)
        for i in range(nodes):
            for j in range(nodes):
                if x[g, i, j]:
                    put(i, j, 1, out, into, degree)
                    if is_directed or i < j:
                        edge[edges, 0], edge[edges, 1], place[i, j] = i, j, edges
                        edges += 1
        for step in range(count):
            # PROPOSE an edge that is there, or any pair.
            u = uniform(start, 2 * step)
            if edges and u < 0.5:
                n = int(2 * u * edges)
                i, j = edge[n, 0], edge[n, 1]
            else:
                n = int(((2 * u - 1) if edges else u) * pairs)
                i, j = n // (nodes - 1), n % (nodes - 1)
                if j >= i:
                    j += 1
                if not is_directed and i > j:
                    i, j = j, i
            is_there = np.int64((out[i, j >> 6] >> np.uint64(j & 63)) & ONE)
            # RATIO of the two graphs, and of proposing one from the other.
            log_ratio = change(
                i, j, is_there, is_directed, theta[g], codes, numbers, powers, is_same, out, into, degree
            )
            if is_there:
                log_ratio = -log_ratio
                forward = 0.5 / edges + 0.5 / dyads
                backward = 0.5 / dyads if edges > 1 else 1.0 / dyads
            else:
                forward = 0.5 / dyads if edges else 1.0 / dyads
                backward = 0.5 / (edges + 1) + 0.5 / dyads
            # ACCEPT.
            if uniform(start, 2 * step + 1) * forward >= math.exp(log_ratio) * backward:
                continue
            put(i, j, 1 - 2 * is_there, out, into, degree)
            if not is_directed:
                put(j, i, 1 - 2 * is_there, out, into, degree)
            x[g, i, j] = 1 - is_there
            if not is_directed:
                x[g, j, i] = 1 - is_there
            if is_there:
                edges -= 1
                n = place[i, j]
                edge[n, 0], edge[n, 1] = edge[edges, 0], edge[edges, 1]
                place[edge[n, 0], edge[n, 1]] = n
            else:
                edge[edges, 0], edge[edges, 1], place[i, j] = i, j, edges
                edges += 1
