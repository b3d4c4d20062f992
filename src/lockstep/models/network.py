"""Networks as users have them: networkx graphs, adjacency matrices and lists of ties, with attributes of the nodes."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.core.arguments import flag, whole
from lockstep.core.types import Array
from lockstep.models.families import MATRIX, Term

KINDS = ("undirected", "directed")


class Network:
    """What was observed: nodes with labels and attributes, ties (NaN where it is not known), and which are fixed."""

    def __init__(
        self,
        graph: Any = None,
        edges: Array = None,
        nodes: Array = None,
        directed: bool | None = None,
        attributes: Mapping[str, Any] | None = None,
        missing: Any = None,
        fixed: Any = None,
    ) -> None:
        flag(directed, "directed of ERGM", is_none_allowed=True)
        if graph is not None and edges is not None:
            raise TypeError("ERGM got a graph and edges; give one of them")
        self.graph = graph
        self.is_directed = _is_directed(graph) if directed is None else bool(directed)
        self.labels = _labels(graph, edges, nodes)
        self.matrix: np.ndarray | None = None
        if graph is not None:
            self.matrix = adjacency(graph, self.is_directed, is_missing_allowed=True)
        elif edges is not None:
            self.matrix = self._from_pairs(edges, self.labels or [])
        if self.matrix is not None and self.labels is None:
            self.labels = list(range(len(self.matrix)))
        self.nodes = None if self.labels is None else whole(len(self.labels), "nodes of ERGM", 2)
        self._require_nodes(nodes)
        self.attributes = self._attributes({} if attributes is None else attributes)
        self.missing = self._missing(missing)
        self.free = self._free(fixed)

    # --- ties -----------------------------------------------------------------------------------------------------
    def _from_pairs(self, edges: Array, labels: list[Any]) -> np.ndarray:
        pairs = self.places(edges, "edges")
        matrix = np.zeros((len(labels), len(labels)), np.int8)
        for i, j in pairs:
            if matrix[i, j]:
                raise ValueError(f"edges of ERGM has {labels[i]!r}–{labels[j]!r} twice; give every tie once")
            matrix[i, j] = 1
            if not self.is_directed:
                matrix[j, i] = 1
        return matrix

    def places(self, pairs: Any, name: str) -> np.ndarray:
        """Pairs of labels as pairs of numbers of nodes, the smaller first if ties have no direction."""
        place = {label: number for number, label in enumerate(self.labels or ())}
        found = []
        for pair in _pairs(pairs, name):
            for label in pair:
                if not isinstance(label, Hashable) or label not in place:
                    raise ValueError(f"{name} of ERGM: {label!r} is no node; the nodes are {_some(self.labels)}")
            i, j = place[pair[0]], place[pair[1]]
            if i == j:
                raise ValueError(
                    f"{name} of ERGM has a self-loop at {pair[0]!r}; remove it: a tie joins two nodes here"
                )
            found.append((i, j) if self.is_directed or i < j else (j, i))
        return np.array(found, np.int64).reshape(-1, 2)

    def _mask(self, pairs: Any, name: str) -> np.ndarray:
        """A matrix of flags, from itself or from pairs of nodes."""
        if self.nodes is None:
            raise TypeError(f"{name} of ERGM needs a graph: give ERGM(terms, graph)")
        shape = (self.nodes, self.nodes)
        if isinstance(pairs, np.ndarray) and pairs.dtype == bool:
            if pairs.shape != shape or (not self.is_directed and not np.array_equal(pairs, pairs.T)):
                raise ValueError(f"{name} of ERGM must be pairs of nodes, or a matrix of flags like that of the graph")
            return pairs & ~np.eye(self.nodes, dtype=bool)
        mask = np.zeros(shape, bool)
        i, j = self.places(pairs, name).T
        mask[i, j] = True
        return mask if self.is_directed else mask | mask.T

    def _missing(self, missing: Any) -> np.ndarray | None:
        """Which ties are not known, as pairs of numbers of nodes; None if all are."""
        mask = self._mask([] if missing is None else missing, "missing") if self.nodes is not None else None
        if mask is None or self.matrix is None:
            if missing is not None:
                raise TypeError("missing of ERGM needs a graph: give ERGM(terms, graph, missing=pairs)")
            return None
        mask |= np.isnan(self.matrix)
        if not mask.any():
            return None
        self.matrix = np.where(mask, np.nan, self.matrix)
        return np.argwhere(mask if self.is_directed else np.triu(mask))

    def _free(self, fixed: Any) -> np.ndarray | None:
        """The pairs that simulations may change; None for all."""
        if fixed is None:
            return None
        mask = self._mask(fixed, "fixed")
        if self.missing is not None and np.any(mask[tuple(self.missing.T)]):
            raise ValueError("fixed of ERGM has pairs whose tie is missing; a tie is fixed as it was observed")
        free = ~mask & ~np.eye(len(mask), dtype=bool)
        if not free.any():
            raise ValueError("fixed of ERGM leaves no pair that can change")
        return np.argwhere(free if self.is_directed else np.triu(free))

    # --- nodes ----------------------------------------------------------------------------------------------------
    def _require_nodes(self, nodes: Array) -> None:
        count = len(nodes) if isinstance(nodes, (list, tuple, np.ndarray)) and np.ndim(nodes) else nodes
        if nodes is not None and self.matrix is not None and whole(count, "nodes of ERGM", 2) != self.nodes:
            raise ValueError(f"nodes of ERGM is {count}, but the graph has {self.nodes}; leave nodes out")

    def _attributes(self, attributes: Any) -> dict[str, np.ndarray]:
        if not isinstance(attributes, Mapping):
            raise TypeError(f"attributes of ERGM is {attributes!r}; it must be a dict, such as {{'age': ages}}")
        return {name: self._values(values, f"attributes[{name!r}] of ERGM") for name, values in attributes.items()}

    def _values(self, values: object, name: str) -> np.ndarray:
        """One value for each node, from a vector or from a dict by label."""
        if isinstance(values, Mapping):
            lacking = [label for label in self.labels or () if label not in values]
            if lacking:
                raise ValueError(f"{name} has no value for the node {lacking[0]!r}")
            values = [values[label] for label in self.labels or ()]
        held = np.asarray(values)
        if self.nodes is not None and held.shape != (self.nodes,):
            raise ValueError(f"{name} has values of shape {held.shape} for {self.nodes} nodes")
        if held.dtype == object and any(value is None for value in held):
            raise ValueError(f"{name} has no value for the node {int(np.flatnonzero(held == None)[0])}")  # noqa: E711
        if held.dtype.kind == "f" and np.any(np.isnan(held)):
            raise ValueError(
                f"{name} is NaN at the node {int(np.flatnonzero(np.isnan(held))[0])}; values must be known"
            )
        return held

    def bound(self, term: Term) -> list[Term]:
        """The terms that a term means here, with the nodes' values as numbers."""
        if term.bind is None:
            return [term]
        if term.code == MATRIX:
            return term.bind(self._weights(term))
        if not isinstance(term.values, str):
            return term.bind(self._values(term.values, f"terms of ERGM: {term.name}"))
        if term.values in self.attributes:
            return term.bind(self.attributes[term.values])
        held = [self.graph.nodes[node].get(term.values) for node in self.graph] if is_networkx(self.graph) else [None]
        if any(value is None for value in held):
            raise ValueError(
                f"terms of ERGM: {term.name} needs the attribute {term.values!r} of every node; give a networkx "
                f"graph with it, attributes={{{term.values!r}: values}}, or ls.models.terms with a vector"
            )
        return term.bind(np.asarray(held))

    def _weights(self, term: Term) -> np.ndarray:
        matrix = term.values
        if is_networkx(matrix):
            matrix = adjacency(matrix, bool(matrix.is_directed()))
        matrix = np.asarray(matrix)
        shape = matrix.shape if self.nodes is None else (self.nodes, self.nodes)
        if matrix.dtype.kind not in "fiub" or matrix.ndim != 2 or matrix.shape != shape or shape[0] != shape[1]:
            raise ValueError(
                f"terms of ERGM: {term.name} has a matrix of shape {matrix.shape}; it must be numbers of {shape}"
            )
        matrix = matrix.astype(float)
        np.fill_diagonal(matrix, 0.0)
        if not np.all(np.isfinite(matrix)):
            raise ValueError(f"terms of ERGM: {term.name} has entries that are not finite; a covariate must be known")
        if not self.is_directed and not np.array_equal(matrix, matrix.T):
            raise ValueError(f"terms of ERGM: {term.name} is not symmetric, but the graph is undirected")
        return matrix


def is_networkx(graph: Any) -> bool:
    """Whether a graph is one of networkx, which is not loaded to tell: who has one has loaded it."""
    return "networkx" in sys.modules and isinstance(graph, sys.modules["networkx"].Graph)


def _is_directed(graph: Any) -> bool:
    if is_networkx(graph):
        return bool(graph.is_directed())
    if graph is None:
        return False
    matrix = _matrix(graph)
    return not np.array_equal(matrix, matrix.T, equal_nan=matrix.dtype.kind == "f")


def _labels(graph: Any, edges: Array, nodes: Array) -> list[Any] | None:
    if is_networkx(graph):
        return list(graph)
    if isinstance(nodes, (list, tuple, np.ndarray)):
        labels = list(nodes.tolist() if isinstance(nodes, np.ndarray) else nodes)
        if not all(isinstance(label, Hashable) for label in labels):
            raise TypeError(f"nodes of ERGM is {nodes!r}; it must be a number of nodes, or a list of their labels")
        if len(set(labels)) != len(labels):
            raise ValueError("nodes of ERGM has a label twice; every node needs its own")
        return labels
    if nodes is not None and graph is None:
        return list(range(whole(nodes, "nodes of ERGM", 2)))
    if edges is not None:
        labels = list(dict.fromkeys(label for pair in _pairs(edges, "edges") for label in pair))
        return sorted(labels) if all(isinstance(label, (int, np.integer)) for label in labels) else labels
    return None


def _pairs(pairs: Any, name: str) -> list[tuple[Any, Any]]:
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    is_listed = isinstance(pairs, Sequence) and not isinstance(pairs, str)
    if not is_listed or not all(
        isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2 for pair in pairs
    ):
        raise TypeError(
            f"{name} of ERGM is {pairs!r}; it must be a list of pairs of nodes, such as [('a', 'b'), ('b', 'c')]"
        )
    return [tuple(pair) for pair in pairs]


def _some(labels: Any) -> str:
    return ", ".join(map(repr, labels[:5])) + (", …" if len(labels) > 5 else "")


def _matrix(graph: Any) -> np.ndarray:
    try:
        return np.asarray(graph)
    except (TypeError, ValueError):
        raise TypeError(f"graph is {graph!r}; it must be a square adjacency matrix or a networkx graph") from None


def adjacency(graph: Any, is_directed: bool, is_missing_allowed: bool = False) -> np.ndarray:
    """The adjacency matrix of a graph, refused if there are self-loops or entries others than 0 and 1 (or NaN)."""
    labels = None
    if is_networkx(graph):
        import networkx

        labels = list(graph)
        if graph.is_multigraph():
            raise ValueError("graph is a multigraph; its edges must be single: networkx.Graph(graph)")
        if graph.is_directed() != is_directed:
            raise ValueError(f"graph is {KINDS[graph.is_directed()]}, but the model is {KINDS[is_directed]}")
        graph = networkx.to_numpy_array(graph, weight=None)
    matrix = _matrix(graph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"graph has shape {matrix.shape}; it must be a square adjacency matrix or a networkx graph (ties as a list "
            f"of pairs are ERGM(terms, edges=pairs))"
        )
    if matrix.dtype.kind not in "fiub":
        raise ValueError(f"graph has entries of dtype {matrix.dtype}; they must be 0 and 1")
    is_missing = np.isnan(matrix)
    np.fill_diagonal(is_missing, False)
    matrix = np.where(np.eye(len(matrix)) * np.isnan(matrix), 0, matrix)  # what is not known there does not matter
    if not np.all((matrix == 0) | (matrix == 1) | is_missing):
        raise ValueError("graph has entries other than 0 and 1; ties are there or not, without weights")
    if np.any(is_missing) and not is_missing_allowed:
        raise ValueError("graph has missing entries; it must be complete here")
    if np.any(np.diag(matrix)):
        number = int(np.flatnonzero(np.diag(matrix))[0])
        node = repr(labels[number]) if labels else number
        raise ValueError(f"graph has a self-loop at node {node}; remove it: an edge joins two nodes here")
    if not is_directed and not np.array_equal(matrix, matrix.T, equal_nan=matrix.dtype.kind == "f"):
        raise ValueError("graph is not symmetric, but the model is undirected; take directed=True, or symmetrize it")
    return matrix.astype(float if np.any(is_missing) else np.int8)
