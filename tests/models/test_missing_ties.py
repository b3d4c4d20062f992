"""Missing ties are imputed within a run: exactly, by matrices and against posteriors that are known."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import networkx
import numpy as np
import pytest
from lattices import log_weights, probabilities
from test_constraints import transition_matrix

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.models import ERGM

TERMS = ["edges", "triangles", "stars(2)"]
GRAPH = networkx.to_numpy_array(networkx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)]))
HIDDEN = [(0, 2), (1, 3), (0, 3)]
GRID = np.array([[-1.0, 0.5, 0.1], [0.3, -0.4, 0.2], [0.0, 1.0, -0.3]])


def hidden(matrix, pairs):
    matrix = np.array(matrix, float)
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = np.nan
    return matrix


def completions(model):
    number = len(model.missing.pairs)
    ties = (np.arange(2**number)[:, None] >> np.arange(number)) & 1
    return ties, np.stack([np.asarray(model.missing.completed(z)) for z in ties])


def test_both_halves_of_an_update_leave_the_joint_posterior_invariant():
    """By matrices, for parameters on a grid: toggles given θ, and the exchange given the completed graph."""
    model = ERGM(TERMS, hidden(GRAPH, HIDDEN))
    ties, graphs = completions(model)
    everything = ERGM(TERMS, nodes=4)
    all_graphs = every_graph()
    constants = [np.logaddexp.reduce(log_weights(everything, theta, all_graphs)) for theta in GRID]
    heights = np.array([log_weights(everything, theta, graphs) for theta in GRID])
    target = probabilities((heights - np.array(constants)[:, None]).ravel()).reshape(heights.shape)
    # IMPUTE: the library's own proposals of missing ties alone, at each θ.
    for theta, row in zip(GRID, target, strict=True):
        matrix = transition_matrix(model.imputing, theta, graphs)
        assert ls.check.balance_error(matrix, row / row.sum()) < 1e-14
    # EXCHANGE: the ratio of the kernel itself, at the statistics of every graph with its probability.
    kernel = model.posterior(lambda theta: 0.0, ls.RandomWalk(1.0))
    ratio = kernel.kernels[0].ratio
    statistics = np.array([everything.statistic(x) for x in all_graphs], float)
    for z, column in zip(ties, target.T, strict=True):
        matrix = exchanged(ratio, z, statistics)
        assert ls.check.balance_error(matrix, column / column.sum()) < 1e-14
        wrong = exchanged(ratio, z, statistics, is_reversed=True)
        assert ls.check.balance_error(wrong, column / column.sum()) > 1e-3


def every_graph():
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    graphs = np.zeros((2 ** len(pairs), 4, 4), np.int8)
    for bit, (i, j) in enumerate(pairs):
        graphs[:, i, j] = graphs[:, j, i] = (np.arange(len(graphs)) >> bit) & 1
    return graphs


@partial(jax.jit, static_argnums=0)
def log_weights_of(randomization, statistics, here, there):
    return jax.vmap(lambda one: randomization.log_weight(one, here, there))(statistics)


def exchanged(ratio, z, statistics, is_reversed=False):
    """The exchange on the grid with uniform proposals, data sets in all their probability."""
    with double_precision():
        states = [{"theta": jnp.asarray(theta), "missing": jnp.asarray(z, jnp.int8)} for theta in GRID]
        matrix = np.zeros((len(GRID), len(GRID)))
        for a, here in enumerate(states):
            for b, there in enumerate(states):
                base = float(ratio.base(None, here, ratio.base.init(None, here), there, 0.0).log_ratio)
                chances = probabilities(statistics @ np.asarray(GRID[a if is_reversed else b]))
                weights = np.asarray(log_weights_of(ratio.randomization, jnp.asarray(statistics), here, there))
                matrix[a, b] += chances @ np.minimum(1, np.exp(base + weights)) / len(GRID)
        np.fill_diagonal(matrix, 0)
        np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    return matrix


def test_with_edges_alone_missing_ties_tell_nothing():
    """The posterior of θ is that of the observed pairs; a missing tie is there with the average of e^θ/(1 + e^θ)."""
    rng = np.random.default_rng(2)
    matrix = networkx.to_numpy_array(networkx.gnp_random_graph(12, 0.3, seed=4))
    pairs = [(i, j) for i in range(12) for j in range(i + 1, 12)]
    pairs = [pairs[n] for n in rng.permutation(len(pairs))[:25]]
    model = ERGM(["edges"], hidden(matrix, pairs), toggles=400)
    seen = 66 - 25
    ties = np.nansum(model.data) / 2
    grid = np.linspace(-4, 3, 2001)
    weights = probabilities(ties * grid - seen * np.log1p(np.exp(grid)) - 0.5 * (grid / 2) ** 2)
    kernel = model.posterior(lambda theta: -0.5 * jnp.sum((theta / 2) ** 2), ls.RandomWalk(0.8))
    run = ls.sample(kernel, model.initial([-1.0]), draws=300, chains=24, warmup=30, seed=0)
    theta = run.positions["theta"][..., 0]
    for value, exact in (
        (theta.mean(axis=1), weights @ grid),
        ((theta**2).mean(axis=1), weights @ grid**2),
        (run.positions["missing"].mean(axis=(1, 2)), weights @ (1 / (1 + np.exp(-grid)))),
    ):
        assert abs(value.mean() - exact) < 4 * value.std(ddof=1) / np.sqrt(len(value))


def test_imputed_ties_follow_their_conditional_distribution():
    """With θ held fixed, ties come in their exact frequencies, together."""
    model = ERGM(TERMS, hidden(GRAPH, HIDDEN), toggles=50)
    theta = np.array([-0.5, 1.5, 0.3])
    _, graphs = completions(model)
    target = probabilities(log_weights(ERGM(TERMS, nodes=4), jnp.array(theta), graphs))
    kernel = model.posterior(lambda theta: 0.0, ls.RandomWalk(1.0)).kernels[1]
    run = ls.sample(kernel, model.initial(theta), draws=3_000, chains=4, seed=1, warmup=20)
    index = run.positions["missing"].astype(int) @ (2 ** np.arange(3))
    assert np.all(run.positions["theta"] == theta)
    shares = np.array([[np.mean(chain == n) for n in range(8)] for chain in index[:, ::5]])
    error = np.sqrt(target * (1 - target) / (4 * 600))
    assert np.all(np.abs(shares.mean(axis=0) - target) < 5 * error)


def test_missing_ties_by_name_and_what_is_refused():
    graph = networkx.florentine_families_graph()
    model = ERGM(["edges"], graph, missing=[("Medici", "Pazzi"), ("Strozzi", "Medici")], toggles=100)
    assert len(model.missing.pairs) == 2 and np.isnan(model.data).sum() == 4
    assert model.initial([0.0])["missing"].tolist() == [0, 0]
    with pytest.raises(ValueError, match="graph has missing entries"):
        model.statistic(model.data)
    kernel = ls.exchange(lambda t: 0.0, model.log_likelihood, model.simulate, model.data, ls.RandomWalk(0.1))
    with pytest.raises(ValueError, match=r"missing|NaN|nan"):
        ls.sample(kernel, np.zeros(1), draws=5, chains=1)
    with pytest.raises(ValueError, match="'Borgia' is no node"):
        ERGM(["edges"], graph, missing=[("Medici", "Borgia")])
    with pytest.raises(ValueError, match="whose tie is missing"):
        ERGM(["edges"], graph, missing=[("Medici", "Pazzi")], fixed=[("Medici", "Pazzi")])


@pytest.mark.study
def test_a_run_with_missing_ties_resumes(tmp_path):
    """A position with parameters by name, and the default number of toggles, which is measured again."""

    def kernel():
        model = ERGM(["edges", "gwesp(0.25)"], hidden(GRAPH, HIDDEN))
        return model, model.posterior(log_prior, ls.RandomWalk({"edges": 0.5, "gwesp(0.25)": 0.5}))

    model, first = kernel()
    start = {"theta": model.named([-0.5, 0.1]), "missing": np.zeros(3, np.int8)}
    ls.sample(first, start, draws=20, chains=2, seed=3, directory=tmp_path / "run")
    run = ls.sample(kernel()[1], start, draws=40, chains=2, seed=3, directory=tmp_path / "run")
    whole = ls.sample(kernel()[1], start, draws=40, chains=2, seed=3)
    assert np.array_equal(run.positions["missing"], whole.positions["missing"])
    assert "gwesp" in repr(run.summary()) and "exact kernel" not in repr(run.summary())


def log_prior(theta):
    return -0.5 * (theta["edges"] ** 2 + theta["gwesp(0.25)"] ** 2) / 4


def test_parameters_by_name_are_shown_by_name():
    model = ERGM(["edges", "stars(2)"], GRAPH, toggles=50)
    kernel = model.posterior(lambda theta: -0.5 * (theta["edges"] ** 2 + theta["stars(2)"] ** 2), ls.RandomWalk(0.3))
    run = ls.sample(kernel, model.named([0.0, 0.0]), draws=20, chains=1, seed=1)
    assert list(run.summary().table.index) == ["edges", "stars(2)"]
