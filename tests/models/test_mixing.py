"""The number of toggles of a draw follows how the chain mixes, and large graphs are simulated in time."""

from __future__ import annotations

import time

import jax.numpy as jnp
import jax.random as jr
import networkx
import numpy as np
import pytest
from scipy import optimize, special

import lockstep as ls
from lockstep.core.warnings import LockstepWarning
from lockstep.models import ERGM, mixing
from lockstep.models.mixing import autocorrelation_times, pairs_of, pseudo_maximum


def test_times_of_an_autoregression_are_known():
    """1 + 2 Σ φ^t = (1 + φ)/(1 - φ)."""
    noise = np.random.default_rng(0).normal(size=(40_000, 3))
    series = np.zeros_like(noise)
    for t in range(1, len(noise)):
        series[t] = np.array([0.0, 0.5, 0.9]) * series[t - 1] + noise[t]
    assert np.allclose(autocorrelation_times(series), [1, 3, 19], rtol=0.12)
    assert autocorrelation_times(np.ones((100, 1))).tolist() == [1]


def test_the_pseudo_likelihood_of_ties_that_are_independent_is_the_likelihood(monkeypatch):
    """Edges and homophily: logits of the shares of ties within and between groups; also from a part of the pairs."""
    graph = networkx.planted_partition_graph(2, 60, 0.2, 0.05, seed=1)
    groups = np.repeat([0, 1], 60)
    model = ERGM(["edges", ls.models.terms.nodematch(groups)], graph, toggles=1)
    within = model.statistic(graph)[1] / (60 * 59)
    between = (model.statistic(graph)[0] - model.statistic(graph)[1]) / 3600
    logit = np.log(between / (1 - between)), np.log(within / (1 - within))
    exact = np.array([logit[0], logit[1] - logit[0]])
    chain, pairs = model._chain(120), pairs_of(120, False)
    found = pseudo_maximum(chain, model.data, pairs)
    assert np.allclose(found, exact, atol=2e-3)  # of a prior of standard deviation 10
    # In another unit.
    units = (ERGM(["edges", ls.models.terms.nodecov(unit * groups)], graph, toggles=1) for unit in (1, 10))
    one, ten = (pseudo_maximum(other._chain(120), other.data, pairs) for other in units)
    assert np.allclose(ten * [1, 10], one, atol=2e-3) and np.abs(one[1]) > 0.01
    monkeypatch.setattr(mixing, "PAIRS", 2_000)
    assert np.all(np.abs(pseudo_maximum(chain, model.data, pairs) - exact) < 0.15)
    # A tie of which there is none: finite, far down, where the prior of standard deviation 10 balances fifteen pairs.
    empty = ERGM(["edges"], networkx.empty_graph(6))
    balance = optimize.brentq(lambda theta: -15 * special.expit(theta) - theta / 100, -20, 0)
    assert empty.mixing.theta[0] == pytest.approx(balance, abs=1e-6)


def test_a_draw_forgets_where_it_began():
    """Ten times what a pilot measured: from the empty graph and from the observed one, statistics are the same."""
    graph = networkx.karate_club_graph()
    model = ERGM(["edges", "gwesp(0.2)", "nodematch(club)"], graph)
    toggles = model.mixing.toggles
    assert toggles == ERGM(["edges", "gwesp(0.2)", "nodematch(club)"], graph).mixing.toggles
    assert 5 * model.mixing.times.max() < toggles < 100 * 561
    keys = jr.split(jr.key(0), 400)
    means = []
    for start in (model.data, np.zeros_like(model.data)):
        _, totals = model._chain(34).toggled(
            np.asarray(jr.key_data(keys)), np.tile(model.mixing.theta, (400, 1)), np.tile(start, (400, 1, 1)), toggles
        )
        means.append(np.asarray(model.statistic(start)) + totals[:, 0])
    error = np.sqrt((means[0].var(axis=0) + means[1].var(axis=0)) / 400)
    assert np.all(np.abs(means[0].mean(axis=0) - means[1].mean(axis=0)) < 4.5 * error)
    # A hundredth of it is not enough.
    _, totals = model._chain(34).toggled(
        np.asarray(jr.key_data(keys)),
        np.tile(model.mixing.theta, (400, 1)),
        np.zeros((400, 34, 34), np.int8),
        toggles // 100,
    )
    assert np.any(np.abs(totals[:, 0].mean(axis=0) - means[0].mean(axis=0)) > 4.5 * error)


@pytest.mark.study
def test_a_thousand_nodes():
    """A draw takes well below a second: 100 toggles a pair took 18."""
    graph = networkx.planted_partition_graph(10, 100, 0.03, 0.003, seed=1)
    groups = np.repeat(np.arange(10), 100)
    model = ERGM(["edges", "gwesp(0.5)", "nodematch(group)"], graph, attributes={"group": groups})
    assert 10 * model.mixing.times.max() <= model.mixing.toggles < 100 * 499_500 / 10
    theta = jnp.asarray(model.mixing.theta)
    model.simulate_statistic(jr.key(0), theta, toggles=10)
    began = time.process_time()
    found = model.simulate_statistic(jr.key(1), theta)
    assert time.process_time() - began < 5
    assert np.all(np.isfinite(found))
    exact = [graph.number_of_edges(), sum(groups[i] == groups[j] for i, j in graph.edges())]
    assert np.asarray(model.statistic(graph))[[0, 2]].tolist() == exact


def test_a_model_that_runs_away_is_told():
    graph = networkx.gnp_random_graph(20, 0.25, seed=2)
    model = ERGM(["triangles"], graph)
    with pytest.warns(LockstepWarning, match=r"cannot tell how many toggles|nearly empty and nearly full"):
        mixing.measured(model._chain(20), model.data, np.array([1.0]))


# --- what a simulator says of itself ----------------------------------------------------------------------------------
def log_prior(theta):
    return -0.5 * jnp.sum(jnp.square(theta)) / 4


def kernel_of(model, data, make=ls.exchange, **more):
    return make(log_prior, model.log_likelihood, model.simulate, data, proposal=ls.RandomWalk(0.3), **more)


def test_kernels_believe_what_a_simulator_says():
    graph = networkx.florentine_families_graph()
    network = ERGM(["edges"], graph, toggles=200)
    spins = np.ones((3, 3), int)
    for make, more in ((ls.exchange, {}), (ls.bridged_exchange, {"bridges": 2})):
        stopped = kernel_of(network, network.data, make, **more)
        assert stopped.exact_when is None and "toggles that is stopped" in stopped.error
    assert network.posterior(log_prior, ls.RandomWalk(0.3)).exact_when is None
    assert kernel_of(ls.models.Ising((3, 3)), spins).exact_when == "always"
    assert kernel_of(ls.models.Ising((3, 3)), spins, ls.bridged_exchange, bridges=2).exact_when == (
        "transition is reversible with respect to the likelihood"
    )
    assert kernel_of(ls.models.Potts((3, 3), 3), spins).exact_when == "always"
    assert kernel_of(ls.models.Potts((3, 3), 3, sweeps=2), spins).exact_when is None

    # A function says nothing, unless it does.
    def simulate(key, theta):
        return theta + jr.normal(key, (3,))

    def log_likelihood(theta, x):
        return -jnp.sum((x - theta) ** 2) / 2

    def made():
        return ls.exchange(log_prior, log_likelihood, simulate, np.zeros(3), ls.RandomWalk(1.0))

    assert made().exact_when == "simulate draws exactly from the likelihood"
    simulate.is_perfect = True
    assert made().exact_when == "always" and made().error is None
    simulate.is_perfect = False
    assert made().exact_when is None and "not perfect" in made().error


def test_the_summary_does_not_call_a_stopped_chain_exact():
    model = ERGM(["edges"], networkx.florentine_families_graph(), toggles=200)
    run = ls.sample(model.posterior(log_prior, ls.RandomWalk(0.5)), model.initial(), draws=50, chains=2)
    text = repr(run.summary())
    assert "exact kernel" not in text and "approximate kernel: error of a chain of toggles" in text
