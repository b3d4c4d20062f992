"""Exponential random graph models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core.arguments import whole
from lockstep.core.kernel import Kernel
from lockstep.core.proposal import Proposal
from lockstep.core.shown import Showing
from lockstep.core.simulator import Simulator
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.host.callback import on_host
from lockstep.kernels.exchange import exchange
from lockstep.models.arguments import parameters
from lockstep.models.formula import as_term
from lockstep.models.missing_ties import MissingTies, with_imputation
from lockstep.models.mixing import Mixing, measured, pairs_of, pseudo_maximum
from lockstep.models.network import Network, adjacency, is_networkx
from lockstep.models.tie_chain import UNBOUNDED, TieChain
from lockstep.parameters.names import names_of

SWEEPS = 100  # proposals for each pair of nodes in a draw, if not said otherwise
DENSE = 64  # nodes up to which statistics are products of matrices


class ERGM(Simulator, Showing):
    """An exponential random graph model: ``L(θ, x) = exp(θ·s(x))``, s(x) some statistics of the graph x.

    A graph is an adjacency matrix of 0 and 1, or a networkx graph, whose nodes are taken in their order. Graphs are
    simulated by toggling ties (tie–no-tie proposals), which is a Markov chain: draws are as good as the number of
    toggles is large.

    Parameters
    ----------
    terms
        The statistics, by name or from `lockstep.models.terms`: ``"edges"``, ``"gwesp(0.5)"``,
        ``"nodematch(attribute)"``, …
    graph
        The network under study: a networkx graph, or an adjacency matrix. It says how many nodes there are, whether
        ties have a direction, and which attributes the nodes have, and it is where simulations start.
    nodes, directed
        The same without a graph: the number of nodes, or a list of their labels; simulations then start from the empty
        graph.
    toggles
        How many toggles to propose for a draw. If left out, ten autocorrelation times of the statistics, measured in a
        pilot (see `mixing`), but at least 10,000; without a graph, 100 for each pair of nodes.
    edges
        In place of a graph, its ties as a list of pairs of labels. Nodes without a tie need ``nodes``.
    attributes
        Values of the nodes by name, each a vector or a dict by label.
    missing
        Pairs of nodes (or a matrix of flags) of which it is not known whether they are tied, as are entries NaN of an
        adjacency matrix. They become part of the position and are imputed within a run: see `posterior`.
    fixed
        Pairs of nodes (or a matrix of flags) whose tie is kept as it was observed, there or not there.
    max_degree
        How many ties a node may have; in a directed graph a pair ``(out, in)``, None for no limit.

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

    is_perfect = False
    simulation_error = (
        "of a chain of toggles that is stopped, which falls geometrically with their number; "
        "ls.check.curvature(run, log_prior, longer, graph), with longer a model of more `toggles`, tests whether they "
        "are enough"
    )

    def __init__(
        self,
        terms: Any,
        graph: Any = None,
        nodes: Array = None,
        directed: bool | None = None,
        toggles: int | None = None,
        edges: Array = None,
        attributes: Mapping[str, Any] | None = None,
        missing: Any = None,
        fixed: Any = None,
        max_degree: Any = None,
    ) -> None:
        if not isinstance(terms, (list, tuple)) or not terms:
            raise TypeError(f"terms of ERGM is {terms!r}; it must be a list of terms, such as ['edges', 'triangles']")
        network = Network(graph, edges, nodes, directed, attributes, missing, fixed)
        self.is_directed, self.nodes, self.data = network.is_directed, network.nodes, network.matrix
        self.terms = tuple(bound for term in terms for bound in network.bound(as_term(term, self.is_directed)))
        self.toggles = None if toggles is None else whole(toggles, "toggles of ERGM", 1)
        self.free = network.free
        self.most = _largest_degrees(max_degree, self.is_directed)
        self._require_within(self.data)
        self.missing: MissingTies | None = None
        if self.data is not None and network.missing is not None:
            self.missing = MissingTies(self.data, network.missing, self.is_directed)
        names = [re.sub(r"\W+", "_", name).strip("_") for name in self.names]
        is_shown = self.missing is None and len(set(names)) == len(names)
        self._shown = names_of(names, "terms of ERGM") if is_shown else None
        self._chains: dict[Any, TieChain] = {}
        self._mixing: Mixing | None = None

    def __repr__(self) -> str:
        kind = "directed" if self.is_directed else "undirected"
        nodes = "" if self.nodes is None else f"{self.nodes} nodes, "
        return f"ERGM({' + '.join(self.names)}; {nodes}{kind})"

    @property
    def shown(self) -> Any:
        """The parameters by the names of their terms."""
        return self._shown

    @property
    def names(self) -> tuple[str, ...]:
        """What the parameters belong to: the names of the terms."""
        return tuple(term.name for term in self.terms)

    def named(self, theta: Position) -> dict[str, Any]:
        """A vector of parameters as a dict by the names of the terms."""
        parameters(theta, len(self.terms), "ERGM")
        return dict(zip(self.names, np.asarray(theta, float), strict=True))

    @property
    def mixing(self) -> Mixing:
        """What a pilot tells of the chain that simulates: where, autocorrelation times, and the toggles of a draw.

        It is measured once, at the maximum of the pseudo-likelihood of the graph, and is the same in every program.
        """
        if self.data is None or self.nodes is None:
            raise TypeError("ERGM measures how its chain mixes from a graph: give ERGM(terms, graph)")
        if self._mixing is None:
            chain = self._chain(self.nodes)
            pairs = pairs_of(self.nodes, self.is_directed) if self.free is None else self.free
            pairs = pairs[~np.isnan(self.data[tuple(pairs.T)])]
            self._mixing = measured(chain, self._began(), pseudo_maximum(chain, self._began(), pairs))
        return self._mixing

    def initial(self, theta: Position = None) -> Any:
        """A position to begin at: ``theta``, or the maximum of the pseudo-likelihood; with ties for missing ones."""
        theta = self.mixing.theta if theta is None else theta
        if not isinstance(theta, Mapping):
            parameters(theta, len(self.terms), "ERGM")
            theta = np.asarray(theta, float)
        return (
            theta if self.missing is None else {"theta": theta, "missing": np.zeros(len(self.missing.pairs), np.int8)}
        )

    def posterior(self, log_prior: Callable[..., Any], proposal: Proposal) -> Kernel:
        """The exchange algorithm for the posterior of the parameters given the graph.

        *Approximate:* `simulate` is a chain of toggles that is stopped; the error falls geometrically with their
        number.

        Simulations hand over their statistics alone, which is all that the ratio needs. With missing ties, positions
        are ``{"theta": …, "missing": …}`` (see `initial`), and each update of θ is followed by toggles of the missing
        ties given θ and all others, which is exact for the joint posterior if ties are missing at random.

        Parameters
        ----------
        log_prior
            ``log_prior(theta)``.
        proposal
            For theta, such as `RandomWalk`.
        """
        if self.data is None:
            raise TypeError("ERGM has no graph to condition on: give ERGM(terms, graph)")
        if self.missing is not None:
            return with_imputation(self, log_prior, proposal)
        observed = self._chain(len(self.data)).counted(self.data[None])[0]
        return exchange(log_prior, self.log_likelihood, self.simulate_statistic, observed, proposal)

    def statistic(self, x: Array) -> Array:
        """s(x), one number for each term."""
        x = self._graph(x)
        if len(x) <= DENSE:
            x = x.astype(float)
            return jnp.stack([term.statistic(x, self.is_directed) for term in self.terms])
        like = jax.ShapeDtypeStruct((len(self.terms),), jnp.result_type(float))
        return on_host(self._chain(len(x)).counted, like, x, is_threaded=True)

    def log_likelihood(self, theta: Position, x: Array) -> Array:
        """``θ·s(x)``, without the normalising constant; x a graph, or the vector of its statistics."""
        if not is_networkx(x) and np.ndim(x) == 1:
            return jnp.dot(self.vector(theta), jnp.asarray(x, float))
        x = self._graph(x)
        return jnp.where(self._is_allowed(x), jnp.dot(self.vector(theta), self.statistic(x)), -jnp.inf)

    def simulate(self, key: Key, theta: Position, start: Tree = None, toggles: int | None = None) -> Array:
        """A graph after ``toggles`` proposals; from a ``start``, one for each pair of nodes if not said otherwise."""
        nodes, start, count = self._way(start, toggles)
        chain = self._chain(nodes)

        def toggled(words: np.ndarray, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
            return chain.toggled(words, theta, x, count)[0]

        like = jax.ShapeDtypeStruct((nodes, nodes), np.int8)
        return on_host(toggled, like, jr.key_data(key), self.vector(theta), start, is_threaded=True)

    def simulate_statistic(self, key: Key, theta: Position, toggles: int | None = None) -> Array:
        """The statistics of the graph that `simulate` draws, without the graph: all that an exchange needs."""
        nodes, start, count = self._way(None, toggles)
        chain, begin = self._chain(nodes), np.asarray(start)
        before = chain.counted(begin[None])

        def changed(words: np.ndarray, theta: np.ndarray) -> np.ndarray:
            x = np.broadcast_to(begin, (len(words), nodes, nodes))
            return before + chain.toggled(words, theta, x, count)[1][:, 0]

        like = jax.ShapeDtypeStruct((len(self.terms),), jnp.result_type(float))
        return on_host(changed, like, jr.key_data(key), self.vector(theta), is_threaded=True)

    def _way(self, start: Tree, toggles: int | None) -> tuple[int, Any, int]:
        """How many nodes, where a simulation begins and how many toggles it makes."""
        if start is None and self.nodes is None:
            raise TypeError("ERGM simulates graphs of known size: give ERGM(terms, graph) or ERGM(terms, nodes=20)")
        if start is None:
            toggles = self.toggles if toggles is None else toggles
            toggles = self.mixing.toggles if toggles is None and self.data is not None else toggles
            start, sweeps = self._began(), SWEEPS
        else:
            start, sweeps = self._graph(start), 1
        count = sweeps * self._chain(len(start)).free if toggles is None else toggles
        return len(start), start, whole(count, "toggles", 1)

    def _began(self) -> np.ndarray:
        """Where simulations begin: the graph, with no tie where it is not known."""
        if self.data is None:
            return np.zeros((self.nodes or 0, self.nodes or 0), np.int8)
        return self.data if self.missing is None else self.missing.data

    def vector(self, theta: Position) -> Array:
        """The parameters as a vector, from one, from a dict by the names of the terms, or from a position with them."""
        if isinstance(theta, Mapping) and "theta" in theta:
            theta = theta["theta"]
        if isinstance(theta, Mapping):
            if set(theta) != set(self.names):
                raise ValueError(
                    f"theta of ERGM has the names {', '.join(theta)}; they must be {', '.join(self.names)}"
                )
            theta = jnp.stack([jnp.asarray(theta[name], float) for name in self.names])
        return parameters(theta, len(self.terms), "ERGM")

    def _graph(self, x: Array) -> Array:
        x = adjacency(x, self.is_directed) if is_concrete(x) else x
        if self.nodes is not None and np.shape(x) != (self.nodes, self.nodes):
            raise ValueError(f"x of ERGM has shape {np.shape(x)}; the model has {self.nodes} nodes")
        return jnp.asarray(x)

    def _is_allowed(self, x: Array) -> Any:
        """Whether a graph is among those that the model is about: with its fixed ties, and no more than allowed."""
        is_within = ~((x.sum(axis=1).max() > self.most[0]) | (x.sum(axis=0).max() > self.most[1]))
        if self.free is None:
            return is_within
        is_fixed = np.ones((len(x), len(x)), bool)
        is_fixed[tuple(self.free.T)] = False
        is_fixed &= is_fixed.T if not self.is_directed else True
        return is_within & jnp.all((x == self._began()) | ~is_fixed)

    def _require_within(self, x: Array) -> None:
        """Refuse a graph with a node that has more ties than it may."""
        if x is None:
            return
        for degrees, most in ((np.nansum(x, axis=1), self.most[0]), (np.nansum(x, axis=0), self.most[1])):
            if np.any(degrees > most):
                node = int(np.argmax(degrees))
                raise ValueError(
                    f"max_degree of ERGM is {most}, but node {node} of the graph has {int(degrees[node])} ties"
                )

    @property
    def imputing(self) -> TieChain:
        """The chain that toggles missing ties alone."""
        if self.missing is None or self.nodes is None:
            raise TypeError("ERGM has no missing ties")
        if "missing" not in self._chains:
            pairs = self.missing.pairs
            self._chains["missing"] = TieChain(self.terms, self.nodes, self.is_directed, self.most, pairs)
        return self._chains["missing"]

    def _chain(self, nodes: int) -> TieChain:
        if nodes not in self._chains:
            self._chains[nodes] = TieChain(self.terms, nodes, self.is_directed, self.most, self.free)
        return self._chains[nodes]


def _largest_degrees(max_degree: Any, is_directed: bool) -> tuple[int, int]:
    """The largest out-degree and in-degree."""
    if is_directed and max_degree is not None and not (isinstance(max_degree, (list, tuple)) and len(max_degree) == 2):
        raise TypeError(
            f"max_degree of ERGM is {max_degree!r}; for a directed graph give a pair (out, in), None: no limit"
        )
    pair = max_degree if isinstance(max_degree, (list, tuple)) and is_directed else (max_degree, max_degree)
    first, second = (UNBOUNDED if one is None else whole(one, "max_degree of ERGM", 1) for one in pair)
    return first, second
