"""Exponential random graphs: statistics, simulation against enumeration, and posteriors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import networkx
import numba
import numpy as np
import pytest
from covering import chosen
from lattices import drawn, frequency_test, log_weights, probabilities

import lockstep as ls
from lockstep.models import ERGM, terms

GROUPS = np.array([0, 1, 0, 1, 1])
CASES = {
    "4 nodes, every term": (
        ERGM(
            ["edges", "stars(2)", "stars(3)", "triangles", "gwesp(0.5)", "gwdegree(0.7)", terms.nodematch(GROUPS[:4])],
            nodes=4,
            toggles=400,
        ),
        [-0.5, 0.2, -0.1, 0.3, 0.4, 0.5, 0.6],
    ),
    # The empty graph is visited often: from it, and from a last edge, no edge can be chosen by its number.
    "3 nodes, mostly empty": (ERGM(["edges"], nodes=3, toggles=100), [-1.0]),
    "3 nodes, mostly empty, directed": (ERGM(["edges"], nodes=3, directed=True, toggles=200), [-2.0]),
    "5 nodes": (ERGM(["edges", "stars(2)", "gwesp(0.5)"], nodes=5, toggles=600), [-0.9, 0.1, 0.5]),
    "4 nodes, directed, every term": (
        ERGM(
            [
                *("edges", "mutual", "out_stars(2)", "in_stars(2)", "triangles", "gwesp(0.5)"),
                *("gwodegree(0.4)", "gwidegree(0.6)", terms.nodematch(GROUPS[:4])),
            ],
            nodes=4,
            directed=True,
            toggles=800,
        ),
        [-0.5, 0.5, 0.1, -0.2, 0.2, 0.4, 0.3, 0.2, 0.3],
    ),
}


def pairs_of(model):
    nodes = range(model.nodes)
    return [(i, j) for i in nodes for j in nodes if (i != j if model.is_directed else i < j)]


def all_graphs(model) -> np.ndarray:
    pairs = pairs_of(model)
    graphs = np.zeros((2 ** len(pairs), model.nodes, model.nodes), np.int8)
    for bit, (i, j) in enumerate(pairs):
        graphs[:, i, j] = (np.arange(len(graphs)) >> bit) & 1
        if not model.is_directed:
            graphs[:, j, i] = graphs[:, i, j]
    return graphs


@pytest.mark.parametrize("name", chosen(CASES, set(CASES) - {"5 nodes"}))
def test_simulated_graphs_have_the_frequencies_of_enumeration(name):
    model, theta = CASES[name]
    x = drawn(lambda key: model.simulate(key, jnp.array(theta)), 15_000).astype(int)
    index = sum(x[:, i, j] << bit for bit, (i, j) in enumerate(pairs_of(model)))
    weights = log_weights(model, jnp.array(theta), all_graphs(model))
    assert frequency_test(index, probabilities(weights)) > 1e-5
    wrong = log_weights(model, jnp.array(theta) + 0.15, all_graphs(model))
    assert frequency_test(index, probabilities(wrong)) < 1e-5


def test_statistics_are_what_they_say():
    """Counted one by one on a graph with triangles, against networkx and plain loops."""
    graph = networkx.gnp_random_graph(9, 0.5, seed=3)
    names = ["edges", "stars(2)", "stars(3)", "triangles", "gwesp(0.7)", "gwdegree(0.4)"]
    found = ERGM(names, graph).statistic(graph)
    degree = np.array([d for _, d in graph.degree()])
    shared = np.array([len(list(networkx.common_neighbors(graph, i, j))) for i, j in graph.edges()])
    expected = [
        graph.number_of_edges(),
        (degree * (degree - 1) / 2).sum(),
        (degree * (degree - 1) * (degree - 2) / 6).sum(),
        sum(networkx.triangles(graph).values()) / 3,
        (np.exp(0.7) * (1 - (1 - np.exp(-0.7)) ** shared)).sum(),
        (np.exp(0.4) * (1 - (1 - np.exp(-0.4)) ** degree)).sum(),
    ]
    assert shared.max() > 1
    assert np.allclose(found, expected, rtol=1e-5)


def test_directed_statistics_are_what_they_say():
    graph = networkx.gnp_random_graph(7, 0.4, seed=5, directed=True)
    found = ERGM(["edges", "mutual", "in_stars(2)", "out_stars(2)", "triangles", "gwesp(0.7)"], graph).statistic(graph)
    into, out = (np.array([d for _, d in degrees()]) for degrees in (graph.in_degree, graph.out_degree))
    shared = np.array([len(set(graph.successors(i)) & set(graph.predecessors(j))) for i, j in graph.edges()])
    cycles = sum(graph.has_edge(k, i) for i, j in graph.edges() for k in graph.successors(j)) / 3
    expected = [
        graph.number_of_edges(),
        sum(graph.has_edge(j, i) for i, j in graph.edges()) / 2,
        (into * (into - 1) / 2).sum(),
        (out * (out - 1) / 2).sum(),
        shared.sum() + cycles,
        (np.exp(0.7) * (1 - (1 - np.exp(-0.7)) ** shared)).sum(),
    ]
    assert cycles > 0
    assert np.allclose(found, expected, rtol=1e-5)


def test_graphs_come_from_networkx_or_as_matrices():
    graph = networkx.florentine_families_graph()
    from_graph = ERGM(["edges", "stars(2)", "triangles"], graph)
    from_matrix = ERGM(["edges", "stars(2)", "triangles"], networkx.to_numpy_array(graph))
    assert from_graph.statistic(graph).tolist() == from_matrix.statistic(from_graph.data).tolist() == [20, 47, 3]
    assert ERGM(["edges", "stars(2)", "triangles"]).statistic(graph).tolist() == [20, 47, 3]
    karate = ERGM(["edges", "nodematch(club)"], networkx.karate_club_graph())
    assert karate.statistic(karate.data).tolist() == [78, 67]
    assert ERGM(["edges"], networkx.path_graph(4, networkx.DiGraph)).is_directed


def test_graphs_come_as_lists_of_ties_with_attributes():
    """The same graph four ways, with labels; a node without ties is kept."""
    graph = networkx.florentine_families_graph()
    graph.add_node("Pucci")
    wealth = {family: number for number, family in enumerate(graph)}
    networkx.set_node_attributes(graph, wealth, "wealth")
    names = ["edges", "nodecov(wealth)", "degree(0)"]
    ties, labels = list(graph.edges()), list(graph)
    models = [
        ERGM(names, graph),
        ERGM(names, edges=ties, nodes=labels, attributes={"wealth": wealth}),
        ERGM(names, edges=np.array(ties), nodes=np.array(labels), attributes={"wealth": list(wealth.values())}),
        ERGM(names, networkx.to_numpy_array(graph), attributes={"wealth": list(wealth.values())}),
    ]
    found = [model.statistic(model.data).tolist() for model in models]
    assert found[0][0] == 20 and found[0][2] == 1 and all(one == found[0] for one in found)
    directed = ERGM(["edges", "mutual"], edges=[(3, 1), (1, 3), (3, 5)], directed=True)
    assert directed.nodes == 3 and directed.statistic(directed.data).tolist() == [3, 1]
    theta = dict(zip(models[0].names, [-1.0, 0.1, 0.2], strict=True))
    assert models[0].log_likelihood(theta, graph) == models[0].log_likelihood([-1.0, 0.1, 0.2], graph)


def test_simulations_start_from_the_graph_and_keep_its_kind():
    model = ERGM(["edges", "triangles"], networkx.karate_club_graph())
    x = np.asarray(model.simulate(jr.key(0), [-1.8, 0.1], toggles=1))
    assert np.abs(x - model.data).sum() <= 2
    y = drawn(lambda key: model.simulate(key, jnp.array([-1.8, 0.1]), model.data), 2)
    assert np.array_equal(y, np.swapaxes(y, 1, 2)) and not np.any(np.trace(y, axis1=1, axis2=2))
    assert np.any(y[0] != y[1])


# --- posteriors ------------------------------------------------------------------------------------------------------
def florentine() -> networkx.Graph:
    """The marriages among 16 families; networkx leaves out the Pucci, who had none with the others."""
    graph = networkx.florentine_families_graph()
    graph.add_node("Pucci")
    return graph


def log_prior(theta):
    return -0.5 * jnp.sum((theta / 5) ** 2)


def test_the_posterior_of_a_bernoulli_graph_is_exact():
    """With edges alone the constant is known, (1 + e^θ)^120."""
    model = ERGM(["edges"], florentine(), toggles=2000)
    grid = np.linspace(-4, 1, 2001)
    weights = probabilities(20 * grid - 120 * np.log1p(np.exp(grid)) - 0.5 * (grid / 5) ** 2)
    mean = weights @ grid
    sd = np.sqrt(weights @ (grid - mean) ** 2)
    kernel = ls.exchange(log_prior, model.log_likelihood, model.simulate, model.data, ls.RandomWalk(0.6))
    run = ls.sample(kernel, np.array([-1.6]), draws=250, chains=24, warmup=20, seed=0)
    for value, exact in (
        (run.positions.mean(axis=(1, 2)), mean),
        (((run.positions - mean) ** 2).mean(axis=(1, 2)), sd**2),
    ):
        assert abs(value.mean() - exact) < 3 * value.std(ddof=1) / np.sqrt(len(value))


@pytest.mark.study
def test_published_estimates_of_the_marriages_reproduce_their_statistics():
    """At a maximum of the likelihood the expected statistics are the observed ones.

    Estimates by Monte Carlo from the tests of statnet's R package ergm (estflo.R: edges -1.622292, 2-stars 0.006467),
    which is good to some hundredths.
    """
    model = ERGM(["edges", "stars(2)"], florentine(), toggles=5000)
    x = drawn(lambda key: model.simulate(key, jnp.array([-1.622292, 0.006467])), 3000)
    s = np.asarray(jax.vmap(model.statistic)(jnp.asarray(x)))
    assert np.all(np.abs(s.mean(axis=0) - [20, 47]) < 0.15 * s.std(axis=0))


# --- a reference by another program -----------------------------------------------------------------------------------
@numba.njit
def reference_chain(data, draws, toggles, steps, seed):
    """Exchange for edges, 2-stars and triangles as plainly as it can be written.

    Graphs begin empty; any pair is proposed to toggle; the statistics are counted anew from the whole graph at the end.
    """
    np.random.seed(seed)
    nodes = len(data)
    theta = np.array([-1.5, 0.0, 0.1])
    kept = np.empty((draws, 3))
    observed = counted(data)
    for t in range(draws):
        candidate = theta + steps @ np.random.normal(0.0, 1.0, 3)
        x = np.zeros_like(data)
        for _ in range(toggles):
            i, j = np.random.randint(nodes), np.random.randint(nodes - 1)
            j += j >= i
            others_i, others_j = x[i].sum() - x[i, j], x[j].sum() - x[i, j]
            change = candidate[0] + candidate[1] * (others_i + others_j) + candidate[2] * (x[i] * x[j]).sum()
            if np.log(np.random.random()) < (1 - 2 * x[i, j]) * change:
                x[i, j] = x[j, i] = 1 - x[i, j]
        log_ratio = ((candidate - theta) * (observed - counted(x))).sum() - ((candidate**2 - theta**2) / 50).sum()
        if np.log(np.random.random()) < log_ratio:
            theta = candidate
        kept[t] = theta
    return kept


@numba.njit
def counted(x):
    edges, stars, triangles, nodes = 0.0, 0.0, 0.0, len(x)
    for i in range(nodes):
        for j in range(nodes):
            edges += x[i, j] / 2
            for k in range(j + 1, nodes):
                stars += x[i, j] * x[i, k]
                triangles += x[i, j] * x[i, k] * x[j, k] / 3
    return np.array([edges, stars, triangles])


@pytest.mark.study
def test_the_posterior_of_the_marriages_is_that_of_a_long_reference_run():
    model = ERGM(["edges", "stars(2)", "triangles"], florentine(), toggles=6000)
    steps = np.linalg.cholesky(np.array([[0.9, -0.19, 0.1], [-0.19, 0.05, -0.08], [0.1, -0.08, 0.6]]))
    kernel = ls.exchange(log_prior, model.log_likelihood, model.simulate, model.data, ls.RandomWalk(steps))
    ours = ls.sample(kernel, np.array([-1.5, 0.0, 0.1]), draws=1500, chains=24, warmup=100, seed=0).positions
    data = np.asarray(model.data, np.int64)
    theirs = np.stack([reference_chain(data, 2100, 6000, steps, seed)[100:] for seed in range(24)])
    for moment in (lambda x: x, lambda x: (x - theirs.mean(axis=(0, 1))) ** 2):
        a, b = (moment(x).mean(axis=1) for x in (ours, theirs))
        error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / 24)
        print(a.mean(axis=0), b.mean(axis=0), error)
        assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 3.5 * error)
