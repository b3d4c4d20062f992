"""The chain on graphs as a matrix: reversible on every set of graphs that is free to be visited, and missing ties."""

from __future__ import annotations

import jax.numpy as jnp
import networkx
import numpy as np
import pytest
from covering import chosen
from lattices import drawn, frequency_test, log_weights, probabilities

import lockstep as ls
from lockstep.models import ERGM
from lockstep.models.ties import remove
from lockstep.models.toggles import Rules, free_pairs, is_allowed, proposal_ratio, proposed, read

PATH = networkx.path_graph(4)
TERMS = ["edges", "gwesp(0.5)", "stars(2)"]
THETA = np.array([-0.4, 0.5, 0.3])
SPARSE = THETA - np.array([3.0, 0.0, 0.0])  # ties are so rare that none is always accepted
DIRECTED = ["edges", "mutual", "ctriple"]
FIXED = [(0, 1), (1, 3)]
CASES = {
    "all graphs": ERGM(TERMS, PATH),
    "fixed ties": ERGM(TERMS, PATH, fixed=FIXED),
    "at most two ties a node": ERGM(TERMS, PATH, max_degree=2),
    "both": ERGM(TERMS, PATH, fixed=FIXED, max_degree=2),
    "directed, one tie out and two in": ERGM(DIRECTED, nodes=3, directed=True, max_degree=(1, 2)),
    "directed, one tie in": ERGM(DIRECTED, nodes=4, directed=True, max_degree=(None, 1)),
}
HERE = {"all graphs", "both", "directed, one tie in"}


def all_graphs(model) -> np.ndarray:
    """Every graph that the rules allow, by their definition."""
    nodes = range(model.nodes)
    pairs = [(i, j) for i in nodes for j in nodes if (i != j if model.is_directed else i < j)]
    graphs = np.zeros((2 ** len(pairs), model.nodes, model.nodes), np.int8)
    for bit, (i, j) in enumerate(pairs):
        graphs[:, i, j] = (np.arange(len(graphs)) >> bit) & 1
        if not model.is_directed:
            graphs[:, j, i] = graphs[:, i, j]
    is_within = (graphs.sum(axis=2).max(axis=1) <= model.most[0]) & (graphs.sum(axis=1).max(axis=1) <= model.most[1])
    if model.free is not None:
        for i, j in FIXED:
            is_within &= graphs[:, i, j] == model.data[i, j]
    return graphs[is_within]


def transition_matrix(chain, theta, graphs, ratio=proposal_ratio) -> np.ndarray:
    """One proposal of the library's own code from every graph, over all numbers that choose another pair."""
    rules, _ = chain._compiled()
    free = free_pairs(chain.nodes, rules)
    number = {x.tobytes(): n for n, x in enumerate(graphs)}
    matrix = np.zeros((len(graphs), len(graphs)))
    for n, x in enumerate(graphs):
        ties = np.empty((chain.free, 2), np.int32)
        graph, count = read(x, rules, ties, np.empty(x.shape, np.int32))
        # Numbers in the middle of cells so fine that each chooses one pair.
        cells = 2 * max(count, 1) * chain.nodes * (chain.nodes - 1) * max(len(chain.pairs), 1)
        chosen = [proposed((c + 0.5) / cells, ties, count, chain.nodes, rules) for c in range(cells)]
        for pair in set(chosen):
            i, j = pair
            share, is_there = chosen.count(pair) / cells, int(x[i, j])
            log_ratio = (1 - 2 * is_there) * chain.changes(x, np.array([pair]))[0] @ theta
            accept = min(1.0, np.exp(log_ratio) * ratio(is_there, count, free))
            accept = accept if is_there or is_allowed(graph, i, j, rules) else 0.0
            other = x.copy()
            other[i, j] = 1 - is_there
            if not chain.is_directed:
                other[j, i] = 1 - is_there
            if accept:
                matrix[n, number[other.tobytes()]] += share * accept
        matrix[n, n] += 1 - matrix[n].sum()
    return matrix


@pytest.mark.parametrize("name", chosen(CASES, HERE))
def test_the_chain_is_reversible_on_the_graphs_that_are_allowed(name):
    model = CASES[name]
    chain, graphs = model._chain(model.nodes), all_graphs(model)
    for theta in (THETA, SPARSE):
        target = probabilities(log_weights(model, theta, graphs))
        matrix = transition_matrix(chain, theta, graphs)
        assert ls.check.balance_error(matrix, target) < 1e-14
        assert np.linalg.matrix_power(matrix, 2000)[0].min() > 0
    target = probabilities(log_weights(model, THETA, graphs))
    # Without the ratio of proposals, or with that of a chain that always chooses pairs, it is not.
    for wrong in (
        lambda is_there, count, pairs: 1.0,
        lambda is_there, count, pairs: proposal_ratio(is_there, count + 1, pairs),
    ):
        assert ls.check.balance_error(transition_matrix(chain, THETA, graphs, wrong), target) > 1e-4


@pytest.mark.parametrize("name", chosen([name for name in CASES if name != "all graphs"], HERE - {"all graphs"}))
def test_simulated_graphs_have_the_frequencies_of_those_that_are_allowed(name):
    model = CASES[name]
    graphs = all_graphs(model)
    x = drawn(lambda key: model.simulate(key, jnp.array(THETA), toggles=300), 8_000)
    number = {graph.tobytes(): n for n, graph in enumerate(graphs)}
    target = probabilities(log_weights(model, THETA, graphs))
    assert frequency_test(np.array([number[one.tobytes()] for one in x]), target) > 1e-5


@pytest.mark.parametrize("is_directed", [True, False])
def test_a_tie_that_goes_leaves_the_lists_of_the_others(is_directed):
    """From the graph of all ties to that of none, so that no list can lack what is looked for in it."""
    nodes = 4
    rules = Rules(is_directed, np.empty((0, 2), np.int32), nodes, nodes)
    x = (1 - np.eye(nodes)).astype(np.int8)
    graph, count = read(x, rules, np.empty((x.sum(), 2), np.int32), np.empty(x.shape, np.int32))
    assert count == x.sum() / (1 if is_directed else 2)
    for i, j in np.argwhere(x if is_directed else np.triu(x)):
        remove(graph, i, j, is_directed)
        x[i, j] = 0
        if not is_directed:
            x[j, i] = 0
        for node in range(nodes):
            assert sorted(graph.out[node, : graph.out_degree[node]]) == list(np.flatnonzero(x[node]))
            assert sorted(graph.into[node, : graph.in_degree[node]]) == list(np.flatnonzero(x[:, node]))


def test_the_statistics_of_a_simulation_are_those_of_its_graph():
    """The same key: one hands over the graph, the other what has changed along the way."""
    model = ERGM(["edges", "gwesp(0.5)", "gwdsp(0.3)", "degree(0)", "gwdegree(0.4)"], networkx.karate_club_graph())
    theta = jnp.array([-3.0, 0.5, -0.1, 0.1, 0.2])
    graphs = drawn(lambda key: model.simulate(key, theta, toggles=4_000), 4)
    statistics = drawn(lambda key: model.simulate_statistic(key, theta, toggles=4_000), 4)
    assert np.allclose(statistics, [model.statistic(x) for x in graphs], rtol=1e-6)
    assert np.abs(graphs - model.data).sum(axis=(1, 2)).min() > 20


def test_what_the_rules_exclude_has_no_likelihood():
    model = CASES["both"]
    star = networkx.star_graph(3)
    assert float(model.log_likelihood(THETA, star)) == -np.inf
    assert np.isfinite(float(model.log_likelihood(THETA, PATH)))
    assert float(CASES["fixed ties"].log_likelihood(THETA, networkx.empty_graph(4))) == -np.inf
    assert np.isfinite(
        float(CASES["fixed ties"].log_likelihood(THETA, networkx.Graph([(0, 1), (1, 2), (2, 3), (0, 3)])))
    )
