"""Exponential random graph models."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core.arguments import flag, whole
from lockstep.core.shown import Showing
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key
from lockstep.host.callback import on_host
from lockstep.models.arguments import parameters
from lockstep.models.terms import HOMOPHILY, Term, as_term
from lockstep.parameters.names import names_of

SWEEPS = 100  # proposals for each pair of nodes in a draw, if not said otherwise


class ERGM(Showing):
    """An exponential random graph model: ``L(θ, x) = exp(θ·s(x))``, s(x) some statistics of the graph x.

    A graph is an adjacency matrix of 0 and 1, or a networkx graph, whose nodes are taken in their order. Graphs are
    simulated by toggling edges (tie–no-tie proposals), which is a Markov chain: draws are as good as the number of
    toggles is large.

    Parameters
    ----------
    terms
        The statistics, by name or from `lockstep.models.terms`: ``"edges"``, ``"mutual"``, ``"stars(2)"``,
        ``"triangles"``, ``"gwesp(0.5)"``, ``"gwdegree(0.5)"``, ``"homophily(attribute)"``, …
    graph
        The graph under study: it says how many nodes there are, whether edges have a direction, and which attributes
        the nodes have, and it is where simulations start. Its adjacency matrix is ``data``.
    nodes, directed
        The same without a graph; simulations then start from the empty graph.
    toggles
        How many toggles to propose for a draw; 100 for each pair of nodes if left out.

    Examples
    --------
    >>> import jax, networkx, lockstep as ls
    >>> model = ls.models.ERGM(["edges", "stars(2)", "triangles"], networkx.florentine_families_graph())
    >>> model.statistic(model.data).tolist()
    [20.0, 47.0, 3.0]
    >>> x = model.simulate(jax.random.key(0), [-1.6, 0.0, 0.2])
    >>> x.shape
    (15, 15)

    References
    ----------
    Morris, Handcock and Hunter (2008), Journal of Statistical Software 24 (4) (terms, proposals).
    """

    def __init__(
        self,
        terms: Sequence[Any],
        graph: Any = None,
        nodes: int | None = None,
        directed: bool | None = None,
        toggles: int | None = None,
    ) -> None:
        if not isinstance(terms, (list, tuple)) or not terms:
            raise TypeError(f"terms of ERGM is {terms!r}; it must be a list of terms, such as ['edges', 'triangles']")
        flag(directed, "directed of ERGM", is_none_allowed=True)
        self.is_directed = _is_directed(graph) if directed is None else bool(directed)
        self.data = None if graph is None else adjacency(graph, self.is_directed)
        nodes = nodes if self.data is None else len(self.data)
        self.nodes = None if nodes is None else whole(nodes, "nodes of ERGM", 2)
        self.terms = tuple(self._with_values(as_term(term, self.is_directed), graph) for term in terms)
        self.toggles = None if toggles is None else whole(toggles, "toggles of ERGM", 1)
        names = [re.sub(r"\W+", "_", term.name).strip("_") for term in self.terms]
        self.shown = names_of(names, "terms of ERGM") if len(set(names)) == len(names) else None

    def __repr__(self) -> str:
        kind = "directed" if self.is_directed else "undirected"
        nodes = "" if self.nodes is None else f"{self.nodes} nodes, "
        return f"ERGM({' + '.join(term.name for term in self.terms)}; {nodes}{kind})"

    def statistic(self, x: Any) -> Array:
        """s(x), one number for each term."""
        x = self._graph(x).astype(float)
        return jnp.stack([term(x, self.is_directed) for term in self.terms])

    def log_likelihood(self, theta: Any, x: Any) -> Array:
        """``θ·s(x)``, without the normalising constant."""
        return jnp.dot(parameters(theta, len(self.terms), "ERGM"), self.statistic(x))

    def simulate(self, key: Key, theta: Any, start: Any = None, toggles: int | None = None) -> Array:
        """A graph after ``toggles`` proposals; from a ``start``, one for each pair of nodes if not said otherwise."""
        if start is None and self.nodes is None:
            raise TypeError("ERGM simulates graphs of known size: give ERGM(terms, graph) or ERGM(terms, nodes=20)")
        if start is None:
            start = np.zeros((self.nodes, self.nodes)) if self.data is None else self.data
            sweeps, toggles = SWEEPS, self.toggles if toggles is None else toggles
        else:
            sweeps = 1
        start = self._graph(start)
        nodes = len(start)
        dyads = nodes * (nodes - 1) // (1 if self.is_directed else 2)
        count = whole(sweeps * dyads if toggles is None else toggles, "toggles", 1)
        codes, numbers, powers, is_same = self._compiled_terms(nodes)

        def toggled(words: np.ndarray, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
            from lockstep.models.toggles import toggle

            if not np.all(np.isfinite(theta)):
                raise ValueError(
                    f"theta of ERGM is {theta[~np.isfinite(theta).all(axis=1)][0].tolist()}; it must be finite"
                )
            x = x.astype(np.int8)
            toggle(words, theta, count, x, self.is_directed, codes, numbers, powers, is_same)
            return x

        like = jax.ShapeDtypeStruct((nodes, nodes), np.int8)
        theta = parameters(theta, len(self.terms), "ERGM")
        return on_host(toggled, like, jr.key_data(key), theta, start, is_threaded=True)

    def _graph(self, x: Any) -> Array:
        x = adjacency(x, self.is_directed) if is_concrete(x) else x
        if self.nodes is not None and np.shape(x) != (self.nodes, self.nodes):
            raise ValueError(f"x of ERGM has shape {np.shape(x)}; the model has {self.nodes} nodes")
        return jnp.asarray(x)

    def _with_values(self, term: Term, graph: Any) -> Term:
        """A term on nodes' values with them as numbers."""
        if term.code != HOMOPHILY:
            return term
        values = term.values
        if isinstance(values, str):
            held = [graph.nodes[node].get(values) for node in graph] if _is_networkx(graph) else [None]
            if any(value is None for value in held):
                raise ValueError(
                    f"terms of ERGM: homophily({values}) needs the attribute {values!r} of every node; give a networkx "
                    f"graph with it, or ls.models.terms.homophily(vector)"
                )
            values = held
        values = np.asarray(values)
        if self.nodes is not None and values.shape != (self.nodes,):
            raise ValueError(f"terms of ERGM: homophily has values of shape {values.shape} for {self.nodes} nodes")
        return term._replace(values=np.unique(values, return_inverse=True)[1].astype(np.int64))

    def _compiled_terms(self, nodes: int) -> tuple[np.ndarray, ...]:
        """The terms as arrays: codes, whole numbers, powers of 1 - e^{-decay}, and which nodes have equal values."""
        count = len(self.terms)
        decay = np.array([term.number for term in self.terms])
        is_same = np.zeros((count, nodes, nodes) if any(t.values is not None for t in self.terms) else (count, 1, 1))
        for t, term in enumerate(self.terms):
            if term.values is not None:
                is_same[t] = term.values[:, None] == term.values
        powers = (1 - np.exp(-decay))[:, None] ** np.arange(nodes + 1)
        return np.array([term.code for term in self.terms]), decay.astype(np.int64), powers, is_same


def _is_networkx(graph: Any) -> bool:
    """Whether a graph is one of networkx, which is not loaded to tell: who has one has loaded it."""
    return "networkx" in sys.modules and isinstance(graph, sys.modules["networkx"].Graph)


def _is_directed(graph: Any) -> bool:
    if _is_networkx(graph):
        return bool(graph.is_directed())
    if graph is None:
        return False
    matrix = _matrix(graph)
    return not np.array_equal(matrix, matrix.T)


def _matrix(graph: Any) -> np.ndarray:
    try:
        return np.asarray(graph)
    except (TypeError, ValueError):
        raise TypeError(f"graph is {graph!r}; it must be a square adjacency matrix or a networkx graph") from None


def adjacency(graph: Any, is_directed: bool) -> np.ndarray:
    """The adjacency matrix of a graph, refused if there are self-loops, missing entries, or others than 0 and 1."""
    if _is_networkx(graph):
        import networkx

        if graph.is_multigraph():
            raise ValueError("graph is a multigraph; its edges must be single: networkx.Graph(graph)")
        if graph.is_directed() != is_directed:
            kinds = ("undirected", "directed")
            raise ValueError(f"graph is {kinds[graph.is_directed()]}, but the model is {kinds[is_directed]}")
        graph = networkx.to_numpy_array(graph, weight=None)
    matrix = _matrix(graph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"graph has shape {matrix.shape}; it must be a square adjacency matrix or a networkx graph")
    if matrix.dtype.kind not in "fiub" or not np.all((matrix == 0) | (matrix == 1)):
        raise ValueError("graph has missing entries, or entries other than 0 and 1; it must be complete and unweighted")
    if np.any(np.diag(matrix)):
        node = int(np.flatnonzero(np.diag(matrix))[0])
        raise ValueError(f"graph has a self-loop at node {node}; remove it: an edge joins two nodes here")
    if not is_directed and not np.array_equal(matrix, matrix.T):
        raise ValueError("graph is not symmetric, but the model is undirected; take directed=True, or symmetrize it")
    return matrix.astype(np.int8)
