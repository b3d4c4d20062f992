"""Change statistics, compiled: what a tie i → j adds to each family of terms, in the graph without it.

``is_there`` is 1 if the graph has the tie now: then it is left out of account. In time they go with the ties of the two
nodes, and of their neighbours where shared partners are counted; never with the number of nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.models.compiled import njit
from lockstep.models.families import (
    CYCLIC,
    DIFFERENCE,
    DYADWISE,
    EDGES,
    EDGEWISE,
    IN_DEGREE,
    MATCH,
    MATRIX,
    MUTUAL,
    OUT_DEGREE,
    SUM,
    TRANSITIVE,
    TRIANGLES,
)
from lockstep.models.ties import common_sources, common_targets, is_tie, paths


class Compiled(NamedTuple):
    """Terms as arrays, one entry each: see `lockstep.models.families`."""

    codes: Any
    tables: Any  # f(0), f(1), …
    vectors: Any  # two numbers for every node
    matrices: Any  # of those terms that have one
    places: Any  # which of these matrices


@njit
def step(table: Any, count: int) -> Any:
    """What one more counts for, if there are that many."""
    return table[count + 1] - table[count]


@njit
def edgewise_change(graph: Any, i: int, j: int, is_there: int, table: Any) -> Any:
    """What f is of the tie's own shared partners, and what the tie adds to those of others."""
    value = table[paths(graph, i, j)]
    for n in range(graph.out_degree[j]):  # i → k has the new partner j
        k = graph.out[j, n]
        if is_tie(graph, i, k):
            value += step(table, paths(graph, i, k) - is_there)
    for n in range(graph.in_degree[i]):  # k → j has the new partner i
        k = graph.into[i, n]
        if is_tie(graph, k, j):
            value += step(table, paths(graph, k, j) - is_there)
    return value


@njit
def dyadwise_change(graph: Any, i: int, j: int, is_there: int, table: Any) -> Any:
    """What the tie adds to the shared partners of pairs, whether they are tied or not."""
    value = 0.0
    for n in range(graph.out_degree[j]):
        k = graph.out[j, n]
        if k != i:
            value += step(table, paths(graph, i, k) - is_there)
    for n in range(graph.in_degree[i]):
        k = graph.into[i, n]
        if k != j:
            value += step(table, paths(graph, k, j) - is_there)
    return value


@njit
def change(graph: Any, i: int, j: int, is_there: int, is_directed: bool, terms: Any, into: Any) -> None:
    """What the tie i → j adds to each term, written into ``into``."""
    for t in range(len(terms.codes)):
        code, table, vector = terms.codes[t], terms.tables[t], terms.vectors[t]
        if code == EDGES:
            value = 1.0
        elif code == SUM:
            value = vector[0, i] + vector[1, j]
        elif code == MATCH:
            value = 1.0 if vector[0, i] == vector[1, j] else 0.0
        elif code == DIFFERENCE:
            value = abs(vector[0, i] - vector[1, j])
        elif code == MATRIX:
            value = terms.matrices[terms.places[t], i, j]
        elif code == MUTUAL:
            value = float(is_tie(graph, j, i))
        elif code == OUT_DEGREE:
            value = step(table, graph.out_degree[i] - is_there)
            if not is_directed:
                value += step(table, graph.out_degree[j] - is_there)
        elif code == IN_DEGREE:
            value = step(table, graph.in_degree[j] - is_there)
        elif code == EDGEWISE:
            value = edgewise_change(graph, i, j, is_there, table)
        elif code == DYADWISE:
            value = dyadwise_change(graph, i, j, is_there, table)
        elif code == TRANSITIVE:
            value = float(paths(graph, i, j) + common_targets(graph, i, j) + common_sources(graph, i, j))
        elif code == CYCLIC:
            value = float(paths(graph, j, i))
        elif code == TRIANGLES:
            value = float(paths(graph, i, j))
            if is_directed:
                value += paths(graph, j, i) + common_targets(graph, i, j) + common_sources(graph, i, j)
        else:  # TWO_PATHS
            value = float(
                graph.out_degree[j] + graph.in_degree[i] - 2 * (is_tie(graph, j, i) if is_directed else is_there)
            )
        into[t] = value
