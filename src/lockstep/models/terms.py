"""The vocabulary of exponential random graphs: what the statistic of an `ERGM` counts.

In a directed graph a shared partner of a pair (i, j) is a node k with i → k → j. Values of nodes are an attribute by
its name, or a vector with one for each node.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lockstep.core.arguments import flag, is_array, is_number
from lockstep.core.types import Array
from lockstep.models import families
from lockstep.models.families import Term

__all__ = [
    "Term",
    "absdiff",
    "ctriple",
    "degree",
    "edgecov",
    "edges",
    "gwdegree",
    "gwdsp",
    "gwesp",
    "gwidegree",
    "gwodegree",
    "in_degree",
    "in_stars",
    "mutual",
    "nodecov",
    "nodefactor",
    "nodeicov",
    "nodeifactor",
    "nodematch",
    "nodeocov",
    "nodeofactor",
    "out_degree",
    "out_stars",
    "stars",
    "triangles",
    "ttriple",
    "two_paths",
]

ONLY_DIRECTED = {
    *("mutual", "nodeocov", "nodeicov", "nodeofactor", "nodeifactor", "out_degree", "in_degree", "out_stars"),
    *("in_stars", "gwodegree", "gwidegree", "ttriple", "ctriple"),
}  # fmt: skip
ONLY_UNDIRECTED = {"degree", "stars", "gwdegree"}


# --- ties, each with a weight -----------------------------------------------------------------------------------------
def edges() -> Term:
    """The number of ties."""
    return Term("edges", families.EDGES)


def nodecov(values: object) -> Term:
    """The sum over ties of the values of both nodes: a covariate's main effect."""
    return _covariate("nodecov", values, 1, 1)


def nodeocov(values: object) -> Term:
    """The sum over ties of the sender's value, in a directed graph."""
    return _covariate("nodeocov", values, 1, 0)


def nodeicov(values: object) -> Term:
    """The sum over ties of the receiver's value, in a directed graph."""
    return _covariate("nodeicov", values, 0, 1)


def nodefactor(values: object) -> Term:
    """For each category but the first: how often a node of it is at an end of a tie."""
    return _factor("nodefactor", values, 1, 1)


def nodeofactor(values: object) -> Term:
    """For each category but the first: the number of ties that its nodes send, in a directed graph."""
    return _factor("nodeofactor", values, 1, 0)


def nodeifactor(values: object) -> Term:
    """For each category but the first: the number of ties that its nodes receive, in a directed graph."""
    return _factor("nodeifactor", values, 0, 1)


def nodematch(values: object, by_category: bool = False) -> Term:
    """The number of ties between nodes of equal value (homophily); ``by_category``: one number for each category."""
    flag(by_category, "by_category of nodematch")
    name = _named("nodematch", values)

    def bind(held: Any) -> list[Term]:
        levels, category = np.unique(held, return_inverse=True)
        number = category.astype(float)
        if not by_category:
            return [Term(name, families.MATCH, values=np.stack([number, number]))]
        # What is not a number equals nothing: the other categories match nobody.
        alone = [np.where(category == c, number, np.nan) for c in range(len(levels))]
        return [
            Term(_at_level(name, level), families.MATCH, values=np.stack([one, one]))
            for level, one in zip(levels, alone, strict=True)
        ]

    return Term(name, families.MATCH, values=values, bind=bind)


def absdiff(values: object) -> Term:
    """The sum over ties of the absolute difference of the two nodes' values."""
    name = _named("absdiff", values)

    def bind(held: Any) -> list[Term]:
        number = _numbers(held, name)
        return [Term(name, families.DIFFERENCE, values=np.stack([number, number]))]

    return Term(name, families.DIFFERENCE, values=values, bind=bind)


def edgecov(matrix: Array, name: str | None = None) -> Term:
    """The sum over ties of the entries of a matrix (or a networkx graph: ties that are ties there too)."""
    name = "edgecov" if name is None else f"edgecov({name})"
    return Term(name, families.MATRIX, values=matrix, bind=lambda held: [Term(name, families.MATRIX, values=held)])


# --- degrees ----------------------------------------------------------------------------------------------------------
def degree(k: int) -> Term:
    """The number of nodes with k ties; ``degree(0)`` counts isolated ones."""
    return _of_degrees("degree", families.OUT_DEGREE, _equal, k)


def out_degree(k: int) -> Term:
    """The number of nodes that k ties leave, in a directed graph."""
    return _of_degrees("out_degree", families.OUT_DEGREE, _equal, k)


def in_degree(k: int) -> Term:
    """The number of nodes that k ties enter, in a directed graph."""
    return _of_degrees("in_degree", families.IN_DEGREE, _equal, k)


def stars(k: int) -> Term:
    """The number of k-stars: a node and k of its neighbours."""
    return _of_degrees("stars", families.OUT_DEGREE, _chosen, k)


def out_stars(k: int) -> Term:
    """The number of stars of k ties that leave a node, in a directed graph."""
    return _of_degrees("out_stars", families.OUT_DEGREE, _chosen, k)


def in_stars(k: int) -> Term:
    """The number of stars of k ties that enter a node, in a directed graph."""
    return _of_degrees("in_stars", families.IN_DEGREE, _chosen, k)


def gwdegree(decay: float) -> Term:
    """Geometrically weighted degree: ``e^α Σ_nodes (1 - (1 - e^{-α})^d)``, d the degree."""
    return _decaying("gwdegree", families.OUT_DEGREE, decay)


def gwodegree(decay: float) -> Term:
    """Geometrically weighted out-degree, in a directed graph."""
    return _decaying("gwodegree", families.OUT_DEGREE, decay)


def gwidegree(decay: float) -> Term:
    """Geometrically weighted in-degree, in a directed graph."""
    return _decaying("gwidegree", families.IN_DEGREE, decay)


# --- pairs, paths and triangles ---------------------------------------------------------------------------------------
def mutual() -> Term:
    """The number of pairs with ties both ways, in a directed graph."""
    return Term("mutual", families.MUTUAL)


def two_paths() -> Term:
    """The number of paths of two ties, i – k – j, or i → k → j with i ≠ j in a directed graph."""
    return Term("two_paths", families.TWO_PATHS)


def triangles() -> Term:
    """The number of triangles; in a directed graph transitive and cyclic ones together."""
    return Term("triangles", families.TRIANGLES)


def ttriple() -> Term:
    """The number of transitive triples, i → k → j with i → j, in a directed graph."""
    return Term("ttriple", families.TRANSITIVE)


def ctriple() -> Term:
    """The number of cyclic triples, i → j → k → i, in a directed graph."""
    return Term("ctriple", families.CYCLIC)


def gwesp(decay: float) -> Term:
    """Geometrically weighted edgewise shared partners: ``e^α Σ_ties (1 - (1 - e^{-α})^s)``, s the shared partners."""
    return _decaying("gwesp", families.EDGEWISE, decay)


def gwdsp(decay: float) -> Term:
    """Geometrically weighted dyadwise shared partners: as `gwesp`, summed over all pairs, tied or not."""
    return _decaying("gwdsp", families.DYADWISE, decay)


# --- functions of degrees and shared partners -------------------------------------------------------------------------
def _weighted(decay: float, count: Array) -> Any:
    """``e^α (1 - (1 - e^{-α})^count)``: each further one counts for less."""
    return np.exp(decay) * (1 - (1 - np.exp(-decay)) ** count)


def _equal(k: int, count: Array) -> Any:
    return (count == k) * 1.0


def _chosen(k: int, count: Array) -> Any:
    """The binomial coefficient of a count over k."""
    product = count * 1.0
    for i in range(1, k):
        product = product * (count - i)
    return product / math.factorial(k)


# --- values of nodes --------------------------------------------------------------------------------------------------
def _covariate(term: str, values: object, of_sender: int, of_receiver: int) -> Term:
    name = _named(term, values)

    def bind(held: Any) -> list[Term]:
        number = _numbers(held, name)
        return [Term(name, families.SUM, values=np.stack([of_sender * number, of_receiver * number]))]

    return Term(name, families.SUM, values=values, bind=bind)


def _factor(term: str, values: object, of_sender: int, of_receiver: int) -> Term:
    name = _named(term, values)

    def bind(held: Any) -> list[Term]:
        levels = np.unique(held)
        if len(levels) < 2:
            raise ValueError(f"terms of ERGM: {name} has the one category {levels[0]!r}; a factor needs two")
        is_level = [(held == level).astype(float) for level in levels[1:]]
        return [
            Term(_at_level(name, level), families.SUM, values=np.stack([of_sender * one, of_receiver * one]))
            for level, one in zip(levels[1:], is_level, strict=True)
        ]

    return Term(name, families.SUM, values=values, bind=bind)


def _named(term: str, values: object) -> str:
    return f"{term}({values})" if isinstance(values, str) else term


def _at_level(name: str, level: Any) -> str:
    return f"{name[:-1]}={level})" if name.endswith(")") else f"{name}({level})"


def _numbers(held: np.ndarray, name: str) -> np.ndarray:
    if held.dtype.kind not in "fiub" or not np.all(np.isfinite(held)):
        raise ValueError(
            f"terms of ERGM: the values of {name} are not all finite numbers; they are {held.tolist()[:5]} …"
        )
    return held.astype(float)


def _of_degrees(term: str, family: int, function: Callable[..., Any], k: Any) -> Term:
    least = 0 if function is _equal else 2
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < least:
        hint = " (1-stars are edges)" if least == 2 else ""
        raise ValueError(f"k of {term} is {k!r}; it must be a whole number, at least {least}{hint}")
    return Term(f"{term}({int(k)})", family, partial(function, int(k)))


def _decaying(term: str, family: int, decay: Any) -> Term:
    if not is_array(decay) or not is_number(decay) or not 0 <= decay < np.inf:
        raise ValueError(f"decay of a weighted term is {decay!r}; it must be one number, at least 0")
    return Term(f"{term}({float(decay)})", family, partial(_weighted, float(decay)))
