"""Families of terms: what each counts in a whole graph. `lockstep.models.changes` has what a single tie adds to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Array

# Ties, each with a weight: 1, v_i + w_j, whether v_i = w_j, |v_i - w_j|, or an entry of a matrix.
EDGES, SUM, MATCH, DIFFERENCE, MATRIX = range(5)
# Pairs with ties both ways; f(degree) over nodes; f(shared partners) over ties or over pairs; triangles; two-paths.
MUTUAL, OUT_DEGREE, IN_DEGREE, EDGEWISE, DYADWISE, TRIANGLES, TRANSITIVE, CYCLIC, TWO_PATHS = range(5, 14)


class Term(NamedTuple):
    """One statistic of a graph: its name, its family, and what makes it one of the family.

    ``table`` is the function f of degrees or of shared partners; ``values`` are two numbers for every node, or a
    matrix. ``bind`` makes of a term on users' values (an attribute by its name, a vector, a matrix) those with numbers.
    """

    name: str
    code: int
    table: Callable[[Any], Any] | None = None
    values: Any = None
    bind: Callable[[Any], list[Term]] | None = None

    def statistic(self, x: Array, is_directed: bool) -> Array:
        """The statistic of an adjacency matrix of floats."""
        return _COUNTED[self.code](self, x, 1 if is_directed else 2)


def weights_of(term: Term) -> Any:
    """The weight of each tie."""
    if term.code == MATRIX:
        return term.values
    first, second = term.values[0][:, None], term.values[1][None, :]
    if term.code == SUM:
        return first + second
    return np.abs(first - second) if term.code == DIFFERENCE else (first == second).astype(float)


def _edges(term: Term, x: Array, twice: int) -> Array:
    return x.sum() / twice


def _weighted(term: Term, x: Array, twice: int) -> Array:
    return (x * weights_of(term)).sum() / twice


def _mutual(term: Term, x: Array, twice: int) -> Array:
    return (x * x.T).sum() / 2


def _out_degrees(term: Term, x: Array, twice: int) -> Array:
    return _table(term)(x.sum(axis=1)).sum()


def _in_degrees(term: Term, x: Array, twice: int) -> Array:
    return _table(term)(x.sum(axis=0)).sum()


def _edgewise(term: Term, x: Array, twice: int) -> Array:
    return (x * _table(term)(x @ x)).sum() / twice


def _dyadwise(term: Term, x: Array, twice: int) -> Array:
    return ((1 - jnp.eye(len(x))) * _table(term)(x @ x)).sum() / twice


def _triangles(term: Term, x: Array, twice: int) -> Array:
    return (x * (x @ x)).sum() / 6 if twice == 2 else _transitive(term, x, twice) + _cyclic(term, x, twice)


def _transitive(term: Term, x: Array, twice: int) -> Array:
    return (x * (x @ x)).sum()


def _cyclic(term: Term, x: Array, twice: int) -> Array:
    return (x.T * (x @ x)).sum() / 3


def _two_paths(term: Term, x: Array, twice: int) -> Array:
    return (x.sum(axis=0) @ x.sum(axis=1) - jnp.sum(x * x.T)) / twice


def _table(term: Term) -> Callable[[Any], Any]:
    if term.table is None:
        raise TypeError(f"{term.name} has no table")
    return term.table


_COUNTED = {
    EDGES: _edges,
    **dict.fromkeys((SUM, MATCH, DIFFERENCE, MATRIX), _weighted),
    MUTUAL: _mutual,
    OUT_DEGREE: _out_degrees,
    IN_DEGREE: _in_degrees,
    EDGEWISE: _edgewise,
    DYADWISE: _dyadwise,
    TRIANGLES: _triangles,
    TRANSITIVE: _transitive,
    CYCLIC: _cyclic,
    TWO_PATHS: _two_paths,
}
