"""A graph for compiled loops: lists of neighbours, so that time goes with ties, and a bit for every pair of nodes.

An undirected graph is a directed one whose lists of ties that leave and that enter are the same arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.core.types import Array
from lockstep.models.compiled import inlined, njit

ONE = np.uint64(1)


class Ties(NamedTuple):
    """Row i of ``out`` lists the nodes to which ties leave i, of ``into`` those from which they enter i."""

    bits: Any  # bit j of row i: whether there is a tie i → j
    out: Any
    into: Any
    out_degree: Any
    in_degree: Any


@njit
def empty(nodes: int, width: Any, is_directed: bool) -> Any:
    """A graph without ties, with room for ``width`` of them at every node."""
    out, out_degree = np.empty((nodes, width), np.int32), np.zeros(nodes, np.int64)
    into, in_degree = out, out_degree
    if is_directed:
        into, in_degree = np.empty((nodes, width), np.int32), np.zeros(nodes, np.int64)
    return Ties(np.zeros((nodes, (nodes + 63) >> 6), np.uint64), out, into, out_degree, in_degree)


@njit
def widened(graph: Ties, is_directed: bool) -> Any:
    """The same graph with room for twice as many ties at every node."""
    nodes, width = graph.out.shape
    out = np.empty((nodes, 2 * width), np.int32)
    into = np.empty((nodes, 2 * width), np.int32) if is_directed else out
    for i in range(nodes):
        for n in range(width):
            out[i, n], into[i, n] = graph.out[i, n], graph.into[i, n]
    return Ties(graph.bits, out, into, graph.out_degree, graph.in_degree)


@inlined
def is_tie(graph: Ties, i: Array, j: Array) -> Any:
    """1 if there is a tie i → j, else 0."""
    return np.int64((graph.bits[i, j >> 6] >> np.uint64(j & 63)) & ONE)


@inlined
def is_full(graph: Ties, i: Array, j: Array) -> Any:
    """Whether there is no room for a tie i → j."""
    return max(graph.out_degree[i], graph.in_degree[j]) == graph.out.shape[1]


@inlined
def add(graph: Ties, i: Array, j: Array, is_directed: bool) -> None:
    """Put a tie i → j where there is none."""
    graph.bits[i, j >> 6] |= ONE << np.uint64(j & 63)
    graph.out[i, graph.out_degree[i]] = j
    graph.out_degree[i] += 1
    if not is_directed:
        graph.bits[j, i >> 6] |= ONE << np.uint64(i & 63)
    graph.into[j, graph.in_degree[j]] = i
    graph.in_degree[j] += 1


@inlined
def drop(listed: np.ndarray, degree: np.ndarray, i: Array, j: Array) -> None:
    """Take j out of the list of i; the last one takes its place."""
    place = 0
    while listed[i, place] != j:
        place += 1
    degree[i] -= 1
    listed[i, place] = listed[i, degree[i]]


@inlined
def remove(graph: Ties, i: Array, j: Array, is_directed: bool) -> None:
    """Take away the tie i → j."""
    graph.bits[i, j >> 6] &= ~(ONE << np.uint64(j & 63))
    if not is_directed:
        graph.bits[j, i >> 6] &= ~(ONE << np.uint64(i & 63))
    drop(graph.out, graph.out_degree, i, j)
    drop(graph.into, graph.in_degree, j, i)


@inlined
def paths(graph: Ties, i: Array, j: Array) -> Any:
    """How many k there are with i → k → j."""
    leaving, entering = graph.out_degree[i], graph.in_degree[j]
    is_shorter = leaving <= entering
    total = 0
    for n in range(leaving if is_shorter else 0):
        total += is_tie(graph, np.int64(graph.out[i, n]), j)
    for n in range(0 if is_shorter else entering):
        total += is_tie(graph, i, np.int64(graph.into[j, n]))
    return total


@inlined
def common(graph: Ties, i: Array, j: Array, is_out: bool) -> Any:
    """How many k there are with i → k and j → k; or, if not ``is_out``, with k → i and k → j."""
    listed, degree = (graph.out, graph.out_degree) if is_out else (graph.into, graph.in_degree)
    if degree[j] < degree[i]:
        i, j = j, i
    total = 0
    for n in range(degree[i]):
        k = np.int64(listed[i, n])
        total += is_tie(graph, j, k) if is_out else is_tie(graph, k, j)
    return total
