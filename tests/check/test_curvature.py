"""Draws against their posterior by squared score and curvature: right draws pass, wrong ones do not."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import signal, stats

import lockstep as ls
from lockstep.check import batches
from lockstep.check.batches import mean_is_zero
from lockstep.check.curvature import _entries, _posterior
from lockstep.core.precision import double_precision

# --- three outcomes and two parameters: everything is a finite sum ----------------------------------------------------
STATISTICS = np.array([[0.0, 1.0], [1.0, 0.5], [1.5, -1.0]])
OUTCOMES = SimpleNamespace(
    log_likelihood=lambda theta, x: jnp.sum(jnp.asarray(STATISTICS)[x] @ theta),
    simulate=lambda key, theta: jr.categorical(key, jnp.asarray(STATISTICS) @ theta, shape=(6,)),
)
OBSERVED = np.array([0, 1, 1, 2, 0, 1])


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2) / 4


def exact_posterior(theta):
    """The logarithm of the posterior with its constant, for autodiff."""
    return (
        log_prior(theta)
        + OUTCOMES.log_likelihood(theta, OBSERVED)
        - 6 * jax.nn.logsumexp(jnp.asarray(STATISTICS) @ theta)
    )


def exact_entries(theta, log_posterior=exact_posterior):
    def entries(theta):
        score = jax.grad(log_posterior)(theta)
        return jnp.outer(score, score) + jax.hessian(log_posterior)(theta)

    return np.asarray(jax.jit(entries)(theta))[np.triu_indices(len(theta))]


def estimated_entries(model, data, prior, theta, simulations, repetitions, statistic=None):
    with double_precision():
        posterior = _posterior(prior, model, data, statistic, jnp.asarray(theta))
        return _entries(posterior, np.tile(theta, (1, repetitions, 1)), simulations, 0)[0]


@pytest.mark.parametrize("simulations", [2, pytest.param(7, marks=pytest.mark.study)])
def test_entries_are_estimated_without_bias_from_few_simulations(simulations):
    theta = np.array([0.7, -0.4])
    found = estimated_entries(OUTCOMES, OBSERVED, log_prior, theta, simulations, 40_000)
    with double_precision():
        exact = exact_entries(jnp.asarray(theta))
    errors = found.std(axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - exact) < 4.5 * errors)
    assert np.all(errors < 0.05 * np.abs(exact))


def test_likelihoods_that_are_curved_themselves():
    """Normal data of precision e^θ: ∇² log L is not 0."""
    model = SimpleNamespace(
        log_likelihood=lambda theta, x: -0.5 * jnp.exp(theta[0]) * jnp.sum(x**2),
        simulate=lambda key, theta: jr.normal(key, (5,)) * jnp.exp(-theta[0] / 2),
    )
    data, theta = np.array([0.3, -1.2, 0.8, 0.1, -0.4]), np.array([0.4])
    found = estimated_entries(model, data, None, theta, 3, 40_000)
    with double_precision():
        exact = exact_entries(jnp.asarray(theta), lambda t: model.log_likelihood(t, data) + 2.5 * t[0] + 0 * jnp.sum(t))
    assert abs(found.mean() - exact[0]) < 4.5 * found.std() / np.sqrt(len(found)) < 0.1 * abs(exact[0])


def test_a_statistic_stands_for_derivatives():
    theta = np.array([0.7, -0.4])
    plain = estimated_entries(OUTCOMES, OBSERVED, log_prior, theta, 4, 50)
    black = SimpleNamespace(simulate=OUTCOMES.simulate)
    given = estimated_entries(
        black, OBSERVED, log_prior, theta, 4, 50, ls.blackbox(lambda x: STATISTICS[np.asarray(x)].sum(axis=0))
    )
    np.testing.assert_allclose(given, plain, rtol=1e-12, atol=1e-12)


def test_statistics_of_graphs_stand_for_graphs():
    model = ls.models.ERGM(
        ["edges", "gwesp(0.5)"], np.triu(np.ones((6, 6)), 4) + np.tril(np.ones((6, 6)), -4), toggles=50
    )
    whole = SimpleNamespace(log_likelihood=model.log_likelihood, simulate=model.simulate)
    theta = np.array([-0.5, 0.2])
    short = estimated_entries(model, model.data, log_prior, theta, 3, 40)
    np.testing.assert_allclose(short, estimated_entries(whole, model.data, log_prior, theta, 3, 40), rtol=1e-9)
    assert short.std(axis=0).min() > 0
    assert "ls.check.curvature(run, log_prior, longer, graph)" in model.simulation_error


# --- runs: draws of a normal mean, of which the posterior is known ----------------------------------------------------
DATA = np.array([0.3, 1.2, -0.4, 0.5])
NORMAL = SimpleNamespace(
    log_likelihood=lambda theta, x: -0.5 * jnp.sum((x - theta["mean"]) ** 2),
    simulate=lambda key, theta: theta["mean"] + jr.normal(key, (4,)),
)


def run_of(draws):
    return SimpleNamespace(positions={"mean": draws}, info=None)


def normal_draws(seed, shift=0.0, factor=1.0, chains=4, draws=500):
    return 0.4 + shift + factor * 0.5 * np.random.default_rng(seed).normal(size=(chains, draws))


def test_exact_draws_pass_and_wrong_ones_are_rejected():
    assert ls.check.curvature(run_of(normal_draws(0)), None, NORMAL, DATA)
    for wrong in (normal_draws(0, shift=0.25), normal_draws(0, factor=1.2), normal_draws(0, factor=0.8)):
        finding = ls.check.curvature(run_of(wrong), None, NORMAL, DATA)
        assert not finding and finding.values["p_value"] < 1e-3
        assert "inner=" in finding.sentence and "bridged_exchange" in finding.sentence
    assert finding.values["scores"]["mean"] < 0  # too narrow: less squared score than curvature
    assert finding.worst == "mean" and finding.values["degrees"] == 1


def test_the_prior_counts():
    tight = normal_draws(0, shift=-0.2, factor=np.sqrt(0.5))  # the posterior under N(0, 1/4)
    assert ls.check.curvature(run_of(tight), lambda theta: -2 * theta["mean"] ** 2, NORMAL, DATA)
    assert not ls.check.curvature(run_of(tight), None, NORMAL, DATA)


def autoregressions(rng, chains, draws, size, correlation=0.95):
    """Chains with the normal posterior as their law, and the entries of squared score less curvature."""
    noise = rng.normal(size=(chains, draws + 200, size))
    x = signal.lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], noise, axis=1)[:, 200:]
    row, column = np.triu_indices(size)
    return x[..., row] * x[..., column] - (row == column)


@pytest.mark.study  # the suite has the test of the textbook
@pytest.mark.parametrize("size", [2, 1])
def test_false_alarms_are_as_rare_as_they_are_said_to_be(size):
    """Four chains that count as about 800 independent draws: uniform p-values."""
    rng, p_values, refused = np.random.default_rng(3), [], 0
    for _ in range(300):
        try:
            p_values.append(mean_is_zero(autoregressions(rng, 4, 4000, size), ["a", "b", "c"]).p_value)
        except ValueError:  # too dependent, by chance
            refused += 1
    assert refused < 30
    p_values = np.array(p_values)
    # Standard errors are 0.013 and 0.006.
    assert np.mean(p_values < 0.05) < 0.09
    assert np.mean(p_values < 0.01) < 0.028
    assert stats.kstest(p_values, "uniform").statistic < 0.12


def test_skew_entries_are_resampled():
    """Squares: a mean that is small by chance comes with a variance that is too small, which F does not know of."""
    squares = np.random.default_rng(0).permutation(stats.chi2(1).ppf((np.arange(160) + 0.5) / 160))
    squares = (squares - squares.mean())[None, :, None]
    error = squares.reshape(40, 4).mean(axis=1).std(ddof=1) / np.sqrt(40)
    found = mean_is_zero(squares - 2.5 * error, ["a"])
    assert found.batches == 40 and found.statistic == pytest.approx(2.5**2)
    assert found.p_value > 1.3 * stats.f.sf(2.5**2, 1, 39)


def test_hotelling_s_test_is_that_of_the_textbook():
    values = np.random.default_rng(0).normal(size=(1, 200, 2)) @ np.array([[1.0, 0.5], [0.0, 2.0]])
    for shift in (0.0, 0.12, 1.0):
        found = mean_is_zero(values + shift, ["a", "b"])
        x = (values + shift)[0].reshape(50, 4, 2).mean(axis=1)  # independent draws: batches are doubled twice
        statistic = 50 * x.mean(axis=0) @ np.linalg.solve(np.cov(x.T), x.mean(axis=0))
        textbook = stats.f.sf(statistic * 48 / (2 * 49), 2, 48)
        assert found.batches == 50 and found.statistic == pytest.approx(statistic)
        # Resamples of normal vectors have nearly the F distribution; where none of them reaches, it is taken itself.
        assert found.p_value == pytest.approx(textbook, rel=1e-9 if shift == 1.0 else 0.25, abs=0)


def test_resampled_statistics_are_those_of_the_textbook():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 3))
    centred = values - values.mean(axis=0)
    rows = np.random.default_rng(0).integers(12, size=(batches.RESAMPLES, 12))[:5]
    exact = [12 * x.mean(axis=0) @ np.linalg.solve(np.cov(x.T), x.mean(axis=0)) for x in centred[rows]]
    np.testing.assert_allclose(batches._resampled(centred)[:5], exact, rtol=1e-8)


def test_dependent_draws_make_longer_batches():
    white = np.random.default_rng(1).normal(size=(2, 4096, 1))
    slow = np.repeat(white[:, :256], 16, axis=1)
    assert mean_is_zero(white, ["a"]).batches > 3 * mean_is_zero(slow, ["a"]).batches
    plain, repeated = mean_is_zero(white[:, :256], ["a"]), mean_is_zero(slow, ["a"])
    assert repeated.statistic == pytest.approx(plain.statistic, rel=0.5)
    # A correlation of 0.4 is seen as well: batches of one draw, doubled twice anyway, would be 2,048.
    weak = signal.lfilter([1.0], [1, -0.4], white, axis=1)
    assert mean_is_zero(weak, ["a"]).batches <= 512


def test_what_cannot_be_tested_is_refused():
    def check(draws=None, log_prior=None, model=NORMAL, **options):
        run = run_of(normal_draws(0) if draws is None else draws)
        return ls.check.curvature(run, log_prior, model, DATA, **options)

    with pytest.raises(ValueError, match="too few or too dependent"):
        check(normal_draws(0, draws=2))
    with pytest.raises(ValueError, match="no more than 64 batches of them are independent, where 101 are needed"):
        mean_is_zero(autoregressions(np.random.default_rng(0), 2, 512, 1), ["mean"])
    with pytest.raises(ValueError, match="the same at all draws"):
        mean_is_zero(np.ones((2, 100, 1)), ["mean"])
    with pytest.raises(ValueError, match="singular"):
        mean_is_zero(np.repeat(np.random.default_rng(0).normal(size=(2, 100, 1)), 2, axis=2), ["a", "b"])
    with pytest.raises(ValueError, match="not finite for mean"):
        check(log_prior=lambda theta: jnp.where(theta["mean"] < 1e9, 0.0, jnp.sqrt(-1 - theta["mean"] ** 2)))
    with pytest.raises(ValueError, match=r"log_prior is NaN near 100\.0% of the draws"):
        check(log_prior=lambda theta: jnp.where(theta["mean"] < 1e9, jnp.nan, theta["mean"]))
    with pytest.raises(ValueError, match="does not vanish at the border"):
        check(log_prior=lambda theta: jnp.where(theta["mean"] > 0.2, 0.0, -jnp.inf))
    with pytest.raises(TypeError, match="functions log_likelihood"):
        check(model=SimpleNamespace(log_likelihood=NORMAL.log_likelihood))
    with pytest.raises(TypeError, match="black box, which cannot be differentiated"):
        check(model=SimpleNamespace(log_likelihood=ls.blackbox(lambda t, x: 0.0), simulate=NORMAL.simulate))
    with pytest.raises(TypeError, match=r"model is array.*curvature\(run, log_prior, model, data\)"):
        ls.check.curvature(run_of(normal_draws(0)), NORMAL, DATA, log_prior)
    with pytest.raises(ValueError, match="simulations is 1"):
        check(simulations=1)
    with pytest.raises(ValueError, match="level is 2"):
        check(level=2)
    discrete = SimpleNamespace(positions=np.zeros((2, 50), int), info=None)
    with pytest.raises(TypeError, match="floating-point"):
        ls.check.curvature(discrete, None, NORMAL, DATA)


def test_runs_with_inner_chains_say_how_to_test_them(tmp_path):
    def log_likelihood(theta, x):
        return -0.5 * jnp.sum((x - theta) ** 2)

    def simulate(key, theta, x):
        return theta + 0.6 * (x - theta) + 0.8 * jr.normal(key, (4,))

    kernel = ls.exchange(lambda t: -(t**2), log_likelihood, simulate, DATA, ls.RandomWalk(0.3), inner=2)
    run = ls.sample(kernel, 0.2, draws=200, chains=2)
    assert any("ls.check.curvature(run, log_prior, model, data)" in told for told in run.summary().findings)
    assert "ls.check.curvature(run, log_prior, model, data)" in run.report(tmp_path / "page.html").read_text("utf-8")
    exact = ls.exchange(
        lambda t: -(t**2), log_likelihood, lambda key, t: t + jr.normal(key, (4,)), DATA, ls.RandomWalk(0.3)
    )
    assert exact.error is None


def test_positions_of_any_structure():
    theta = {"b": np.zeros((2, 3)), "a": np.array(1.0)}
    vector, _ = ravel_pytree(theta)
    assert len(vector) == 7
    rng = np.random.default_rng(0)
    run = SimpleNamespace(positions={"a": rng.normal(size=(4, 300)), "b": rng.normal(size=(4, 300, 1))}, info=None)
    model = SimpleNamespace(
        log_likelihood=lambda t, x: t["a"] * x[0] + t["b"][0] * x[1] - 0.5 * jnp.sum(x**2),
        simulate=lambda key, t: jnp.stack([t["a"], t["b"][0]]) + jr.normal(key, (2,)),
    )
    finding = ls.check.curvature(run, None, model, np.zeros(2))
    assert finding and set(finding.values["scores"]) == {"a", "a, b[0]", "b[0]"}
