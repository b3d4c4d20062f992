"""Random graphs by toggling edges, compiled: Metropolis–Hastings with tie–no-tie proposals and change statistics.

With probability 1/2 an edge is proposed to go, else any pair of nodes is proposed to change. What a toggle changes in
the statistics is found from the degrees and from the numbers of two-paths, which are kept up to date.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lockstep.models.compiled import njit, stream, uniform
from lockstep.models.terms import EDGES, IN_DEGREE, IN_STARS, MUTUAL, OUT_DEGREE, OUT_STARS, SHARED, TRIANGLES


@njit
def choose(n: int, k: int) -> float:
    """The binomial coefficient."""
    product = 1.0
    for i in range(k):
        product *= (n - i) / (i + 1)
    return product


@njit
def changes(
    i: int, j: int, is_there: int, is_directed: bool, codes: Any, numbers: Any, powers: Any, is_same: Any,
    a: Any, degree: Any, listed: Any, paths: Any, delta: Any,
) -> None:  # fmt: skip
    """What the edge i → j adds to each statistic, in the graph without it.

    ``degree[0]`` and ``listed[0]`` are of edges that leave a node, ``[1]`` of those that enter it; ``paths[i, k]`` is
    the number of two-paths from i to k; ``powers[t, s]`` is (1 - e^{-α})^s of term t.
    """
    out, into = degree[0, i] - is_there, degree[1, j] - is_there
    for t in range(len(codes)):
        code, power, value = codes[t], powers[t], 0.0
        if code == EDGES:
            value = 1.0
        elif code == MUTUAL:
            value = a[j, i]
        elif code == OUT_STARS:
            value = choose(out, numbers[t] - 1) + (0.0 if is_directed else choose(into, numbers[t] - 1))
        elif code == IN_STARS:
            value = choose(into, numbers[t] - 1)
        elif code == TRIANGLES:
            value = paths[i, j]
            if is_directed:
                value += paths[j, i]
                for k in range(len(a)):
                    value += a[i, k] * a[j, k] + a[k, i] * a[k, j]
        elif code == SHARED:
            value = (1 - power[paths[i, j]]) / (1 - power[1])
            for n in range(degree[0, i]):
                k = listed[0, i, n]
                if a[j, k]:
                    value += power[paths[i, k] - is_there]
                    if not is_directed:
                        value += power[paths[j, k] - is_there]
            if is_directed:
                for n in range(degree[1, j]):
                    k = listed[1, j, n]
                    if a[k, i]:
                        value += power[paths[k, j] - is_there]
        elif code == OUT_DEGREE:
            value = power[out] + (0.0 if is_directed else power[into])
        elif code == IN_DEGREE:
            value = power[into]
        else:
            value = is_same[t, i, j]
        delta[t] = value


@njit
def put(i: int, j: int, a: Any, degree: Any, listed: Any, paths: Any) -> None:
    """Add the edge i → j, or take it away."""
    sign = 1 - 2 * a[i, j]
    if sign < 0:
        drop(degree[0], listed[0], i, j)
        drop(degree[1], listed[1], j, i)
    for n in range(degree[0, j]):
        paths[i, listed[0, j, n]] += sign
    for n in range(degree[1, i]):
        paths[listed[1, i, n], j] += sign
    if sign > 0:
        listed[0, i, degree[0, i]], listed[1, j, degree[1, j]] = j, i
        degree[0, i] += 1
        degree[1, j] += 1
    a[i, j] += sign


@njit
def drop(degree: Any, listed: Any, node: int, other: int) -> None:
    """Take a node from another's list; the last one takes its place."""
    degree[node] -= 1
    for n in range(degree[node]):
        if listed[node, n] == other:
            listed[node, n] = listed[node, degree[node]]
            return


@njit
def toggle(
    words: Any, theta: Any, count: int, x: Any, is_directed: bool, codes: Any, numbers: Any, powers: Any, is_same: Any
) -> None:
    """That many proposals to toggle, for each graph of ``x``, in place."""
    nodes = x.shape[1]
    pairs = nodes * (nodes - 1)
    dyads = pairs if is_directed else pairs // 2
    delta = np.empty(len(codes))
    edge = np.empty((dyads, 2), np.int64)
    place = np.empty((nodes, nodes), np.int64)
    for g in range(len(x)):
        a, start = np.zeros((nodes, nodes), np.int64), stream(words[g], 1)
        degree, listed = np.zeros((2, nodes), np.int64), np.empty((2, nodes, nodes), np.int64)
        paths, edges = np.zeros((nodes, nodes), np.int64), 0
        for i in range(nodes):
            for j in range(nodes):
                if x[g, i, j]:
                    put(i, j, a, degree, listed, paths)
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
            is_there = a[i, j]
            # RATIO of the two graphs, and of proposing one from the other.
            changes(i, j, is_there, is_directed, codes, numbers, powers, is_same, a, degree, listed, paths, delta)
            log_ratio = 0.0
            for t in range(len(codes)):
                log_ratio += theta[g, t] * delta[t]
            if is_there:
                forward = 0.5 / edges + 0.5 / dyads
                backward = 0.5 / dyads if edges > 1 else 1.0 / dyads
                log_ratio = -log_ratio
            else:
                forward = 0.5 / dyads if edges else 1.0 / dyads
                backward = 0.5 / (edges + 1) + 0.5 / dyads
            # ACCEPT.
            if uniform(start, 2 * step + 1) * forward >= math.exp(log_ratio) * backward:
                continue
            put(i, j, a, degree, listed, paths)
            if not is_directed:
                put(j, i, a, degree, listed, paths)
            if is_there:
                edges -= 1
                n = place[i, j]
                edge[n, 0], edge[n, 1] = edge[edges, 0], edge[edges, 1]
                place[edge[n, 0], edge[n, 1]] = n
            else:
                edge[edges, 0], edge[edges, 1], place[i, j] = i, j, edges
                edges += 1
        x[g] = a
