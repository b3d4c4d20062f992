"""The statistics of exponential random graphs: each a number of things in a graph, and a code for compiled toggling."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import is_array, is_number
from lockstep.core.types import Array

__all__ = [
    "Term",
    "edges",
    "gwdegree",
    "gwesp",
    "gwidegree",
    "gwodegree",
    "homophily",
    "in_stars",
    "mutual",
    "out_stars",
    "stars",
    "triangles",
]

# Codes of the changes in `lockstep.models.toggles`.
EDGES, MUTUAL, OUT_STARS, IN_STARS, TRIANGLES, SHARED, OUT_DEGREE, IN_DEGREE, HOMOPHILY = range(9)


class Term(NamedTuple):
    """A term: its name, its code, its number (k of stars, the decay of weighted terms), and the nodes' values."""

    name: str
    code: int
    number: float = 0.0
    values: Any = None

    def __call__(self, x: Array, is_directed: bool) -> Array:
        """The statistic of an adjacency matrix of floats."""
        if self.code == EDGES:
            return x.sum() / (1 if is_directed else 2)
        if self.code == MUTUAL:
            return (x * x.T).sum() / 2
        if self.code in (OUT_STARS, IN_STARS):
            return _choose(x.sum(axis=1 if self.code == OUT_STARS else 0), int(self.number)).sum()
        if self.code == TRIANGLES:
            cycles = jnp.trace(x @ x @ x)
            return cycles / 6 if not is_directed else cycles / 3 + (x * (x @ x)).sum()
        if self.code == SHARED:
            return (x * _weighted(x @ x, self.number)).sum() / (1 if is_directed else 2)
        if self.code in (OUT_DEGREE, IN_DEGREE):
            return _weighted(x.sum(axis=1 if self.code == OUT_DEGREE else 0), self.number).sum()
        is_same = self.values[:, None] == self.values[None, :]
        return (x * is_same).sum() / (1 if is_directed else 2)


def _choose(n: Array, k: int) -> Array:
    product = jnp.ones_like(n)
    for i in range(k):
        product = product * (n - i)
    return product / math.factorial(k)


def _weighted(count: Array, decay: float) -> Array:
    """``e^α (1 - (1 - e^{-α})^count)``: each further one counts for less."""
    return np.exp(decay) * (1 - (1 - np.exp(-decay)) ** count)


def edges() -> Term:
    """The number of edges."""
    return Term("edges", EDGES)


def mutual() -> Term:
    """The number of pairs with edges both ways, of a directed graph."""
    return Term("mutual", MUTUAL)


def stars(k: int) -> Term:
    """The number of k-stars: a node and k of its neighbours."""
    return Term(f"stars({_whole(k)})", OUT_STARS, k)


def out_stars(k: int) -> Term:
    """The number of stars of k edges that leave a node, of a directed graph."""
    return Term(f"out_stars({_whole(k)})", OUT_STARS, k)


def in_stars(k: int) -> Term:
    """The number of stars of k edges that enter a node, of a directed graph."""
    return Term(f"in_stars({_whole(k)})", IN_STARS, k)


def triangles() -> Term:
    """The number of triangles; in a directed graph transitive and cyclic ones together."""
    return Term("triangles", TRIANGLES)


def gwesp(decay: float) -> Term:
    """Geometrically weighted edgewise shared partners: ``e^α Σ_edges (1 - (1 - e^{-α})^s)``, s shared partners.

    In a directed graph a shared partner of i → j is a k with i → k → j.
    """
    return Term(f"gwesp({_decay(decay)})", SHARED, decay)


def gwdegree(decay: float) -> Term:
    """Geometrically weighted degree: ``e^α Σ_nodes (1 - (1 - e^{-α})^d)``, d the degree."""
    return Term(f"gwdegree({_decay(decay)})", OUT_DEGREE, decay)


def gwodegree(decay: float) -> Term:
    """Geometrically weighted out-degree, of a directed graph."""
    return Term(f"gwodegree({_decay(decay)})", OUT_DEGREE, decay)


def gwidegree(decay: float) -> Term:
    """Geometrically weighted in-degree, of a directed graph."""
    return Term(f"gwidegree({_decay(decay)})", IN_DEGREE, decay)


def homophily(values: Any) -> Term:
    """The number of edges between nodes of equal value: of an attribute by name, or of a vector of values."""
    return Term(f"homophily({values})" if isinstance(values, str) else "homophily", HOMOPHILY, 0.0, values)


_BY_NAME = {
    f.__name__: f
    for f in (
        edges,
        mutual,
        stars,
        out_stars,
        in_stars,
        triangles,
        gwesp,
        gwdegree,
        gwodegree,
        gwidegree,
        homophily,
    )
}
ONLY_DIRECTED = {"mutual", "out_stars", "in_stars", "gwodegree", "gwidegree"}
ONLY_UNDIRECTED = {"stars", "gwdegree"}


def as_term(term: Any, is_directed: bool) -> Term:
    """A term, from itself or from its name, such as ``"edges"`` or ``"gwesp(0.5)"``."""
    if isinstance(term, str):
        found = re.fullmatch(r"(\w+)(?:\((.*)\))?", term.replace(" ", ""))
        if not found or found.group(1) not in _BY_NAME:
            raise ValueError(f"terms of ERGM: {term!r} is none of them; there are {', '.join(_BY_NAME)}")
        name, argument = found.groups()
        try:
            term = _BY_NAME[name](*(() if argument is None else (_number(argument),)))
        except TypeError:
            needs = "a number or an attribute, such as gwesp(0.5)" if argument is None else "no argument"
            raise ValueError(f"terms of ERGM: {term!r} needs {needs}") from None
    if not isinstance(term, Term):
        raise TypeError(f"terms of ERGM: {term!r} is no term; give names such as 'edges' or ls.models.terms.gwesp(0.5)")
    name = term.name.split("(")[0]
    if name in (ONLY_UNDIRECTED if is_directed else ONLY_DIRECTED):
        kind = "undirected" if is_directed else "directed"
        raise ValueError(f"terms of ERGM: {term.name} is for {kind} graphs")
    return term


def _number(text: str) -> Any:
    try:
        return int(text) if re.fullmatch(r"\d+", text) else float(text)
    except ValueError:
        return text.strip("'\"")


def _whole(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 2:
        raise ValueError(f"k of stars is {k!r}; it must be a whole number, at least 2 (1-stars are edges)")
    return int(k)


def _decay(decay: Any) -> float:
    if not is_array(decay) or not is_number(decay) or not 0 <= decay < np.inf:
        raise ValueError(f"decay of a weighted term is {decay!r}; it must be one number, at least 0")
    return float(decay)
