"""Change statistics, compiled: what a tie i → j adds to each family of terms, in the graph without it.

``is_there`` is 1 if the graph has the tie now: then it is left out of account. In time they go with the ties of the two
nodes, and of their neighbours where shared partners are counted; never with the number of nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.core.types import Array
from lockstep.models.compiled import inlined
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
    TWO_PATHS,
)
from lockstep.models.ties import Ties, common, is_tie, paths


class Compiled(NamedTuple):
    """Terms as arrays, one entry each: see `lockstep.models.families`."""

    codes: Any
    tables: Any  # f(0), f(1), …
    vectors: Any  # two numbers for every node
    matrices: Any  # of those terms that have one
    places: Any  # which of these matrices


@inlined
def step(terms: Compiled, t: int, count: int) -> Any:
    """What one more counts for to term t, if there are that many."""
    return terms.tables[t, count + 1] - terms.tables[t, count]


@inlined
def partner_change(graph: Ties, i: Array, j: Array, is_there: bool, terms: Compiled, t: int) -> Any:
    """What the tie adds to the shared partners of other pairs: of those that are tied, or of all."""
    is_dyadwise = terms.codes[t] == DYADWISE
    value = 0.0
    for n in range(graph.out_degree[j]):  # i and k have the new partner j
        k = np.int64(graph.out[j, n])
        if is_tie(graph, i, k) or (is_dyadwise and k != i):
            value += step(terms, t, paths(graph, i, k) - is_there)
    for n in range(graph.in_degree[i]):  # k and j have the new partner i
        k = np.int64(graph.into[i, n])
        if is_tie(graph, k, j) or (is_dyadwise and k != j):
            value += step(terms, t, paths(graph, k, j) - is_there)
    return value


@inlined
def change(
    graph: Ties, i: Array, j: Array, is_there: Any, is_directed: bool, terms: Compiled, into: np.ndarray
) -> None:
    """What the tie i → j adds to each term, written into ``into``."""
    for t in range(len(terms.codes)):
        code, value = terms.codes[t], 0.0
        if code == EDGES:
            value = 1.0
        elif code == SUM:
            value = terms.vectors[t, 0, i] + terms.vectors[t, 1, j]
        elif code == MATCH:
            value = 1.0 if terms.vectors[t, 0, i] == terms.vectors[t, 1, j] else 0.0
        elif code == DIFFERENCE:
            value = abs(terms.vectors[t, 0, i] - terms.vectors[t, 1, j])
        elif code == MATRIX:
            value = terms.matrices[terms.places[t], i, j]
        elif code == MUTUAL:
            value = float(is_tie(graph, j, i))
        elif code == OUT_DEGREE:
            value = step(terms, t, graph.out_degree[i] - is_there)
            if not is_directed:
                value += step(terms, t, graph.out_degree[j] - is_there)
        elif code == IN_DEGREE:
            value = step(terms, t, graph.in_degree[j] - is_there)
        elif code == TWO_PATHS:
            both = is_tie(graph, j, i) if is_directed else is_there
            value = float(graph.out_degree[j] + graph.in_degree[i] - 2 * both)
        else:
            if code not in (CYCLIC, DYADWISE):
                partners = paths(graph, i, j)
                value = terms.tables[t, partners] if code == EDGEWISE else float(partners)
            if code in (EDGEWISE, DYADWISE):
                value += partner_change(graph, i, j, is_there, terms, t)
            elif is_directed:
                if code != TRANSITIVE:
                    value += paths(graph, j, i)
                if code != CYCLIC:
                    value += common(graph, i, j, True) + common(graph, i, j, False)
        into[t] = value
