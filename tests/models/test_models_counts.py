"""Conway–Maxwell–Poisson regression: exact draws, and a posterior with a known answer."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lattices import drawn, frequency_test, probabilities
from scipy import special

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.models.conway_maxwell_poisson import envelope
from lockstep.models.factorials import log_factorial

COUNTS = np.arange(300)
LOG_FACTORIAL = np.vectorize(math.lgamma)(COUNTS + 1.0)


@pytest.mark.parametrize("log_nu", [0.7, 0.0, -0.8])
def test_draws_are_exact(log_nu):
    """Means from below 1 to 20, thinner and wider than Poisson."""
    log_means = np.array([-1.0, 1.2, 3.0])
    model = ls.models.ConwayMaxwellPoisson(log_means[:, None])
    y = drawn(lambda key: model.simulate(key, jnp.array([1.0, log_nu])), 10_000)
    for column, log_mean in zip(y.T, log_means, strict=True):
        expected = probabilities(np.exp(log_nu) * (COUNTS * log_mean - LOG_FACTORIAL))
        assert frequency_test(column, expected) > 1e-5
        wrong = probabilities(np.exp(log_nu + 0.2) * (COUNTS * log_mean - LOG_FACTORIAL))
        assert frequency_test(column, wrong) < 1e-3


def test_the_statistic_makes_the_likelihood():
    model = ls.models.ConwayMaxwellPoisson(np.array([[1.0, 0.5], [1.0, -0.3], [1.0, 2.0]]))
    y, beta, log_nu = np.array([3, 0, 7]), np.array([0.4, 0.2]), 0.3
    expected = np.exp(log_nu) * (y @ (model.design @ beta) - LOG_FACTORIAL[y].sum())
    assert float(model.log_likelihood([*beta, log_nu], y)) == pytest.approx(expected, rel=1e-5)
    assert model.statistic(y).shape == (3,)


@pytest.mark.study
def test_exchange_finds_the_exact_posterior():
    """Thirty counts of one mean: the constant is a sum, the posterior a sum over a grid."""
    model = ls.models.ConwayMaxwellPoisson(np.ones((30, 1)))
    y = np.asarray(drawn(lambda key: model.simulate(key, jnp.array([1.0, 0.4])), 1)[0])
    axes = np.linspace(-1.0, 2.5, 141), np.linspace(-2.5, 2.5, 201)
    a, b = (grid.ravel() for grid in np.meshgrid(*axes, indexing="ij"))
    log_sum = np.logaddexp.reduce(np.exp(b)[:, None] * (COUNTS * a[:, None] - LOG_FACTORIAL), axis=1)
    log_likelihood = np.exp(b) * (y.sum() * a - LOG_FACTORIAL[y].sum()) - 30 * log_sum
    weights = probabilities(log_likelihood - 2 * (a - 1) ** 2 - 2 * b**2)

    def log_prior(theta):
        return -2 * (theta[0] - 1) ** 2 - 2 * theta[1] ** 2

    kernel = ls.exchange(log_prior, model.log_likelihood, model.simulate, y, ls.RandomWalk([0.2, 0.5]))
    run = ls.sample(kernel, np.array([1.0, 0.4]), draws=600, chains=32, warmup=100, seed=0)
    for component, grid in enumerate((a, b)):
        value = run.positions[..., component].mean(axis=1)
        assert abs(value.mean() - weights @ grid) < 3 * value.std(ddof=1) / np.sqrt(len(value))


compiled_envelope = jax.jit(envelope)
log_acceptances = jax.jit(lambda over, counts: jax.vmap(over.log_acceptance)(counts))


def law_of_attempt(over):
    """The probabilities with which an attempt ends in each count, from the envelope's own numbers."""
    y = COUNTS.astype(float)
    low, high, rise, fall = (float(one) for one in (over.low, over.high, over.rise, over.fall))
    total = float(over.below + over.between + over.above)
    between = (y > low) & (y < high)
    left = float(over.below) * np.exp(-np.maximum(low - y, 0.0) * rise) * -np.expm1(-rise) if low >= 0 else 0.0
    right = float(over.above) * np.exp(-np.maximum(y - high, 0.0) * fall) * -np.expm1(-fall)
    proposed = np.where(between, 1.0, np.where(y >= high, right, left)) / total
    return proposed, np.asarray(log_acceptances(over, y))


@pytest.mark.parametrize("log_mean", [-3.0, 0.0, np.log(2.0), 0.69, 2.3, 4.0])
@pytest.mark.parametrize("nu", [0.3, 1.0, 2.5, 40.0])
def test_the_envelope_lies_above_the_law_and_an_attempt_ends_in_it(log_mean, nu):
    """No count is accepted with a probability above 1, and those that are have exactly the law's proportions."""
    with double_precision():
        proposed, log_acceptance = law_of_attempt(compiled_envelope(log_mean, nu))
    assert log_acceptance.max() < 1e-12
    law = probabilities(nu * (COUNTS * log_mean - LOG_FACTORIAL))
    ended = proposed * np.exp(log_acceptance)
    np.testing.assert_allclose(ended / ended.sum(), law, atol=1e-14)
    assert ended.sum() > 0.3  # of the attempts come to an end


def test_proposals_follow_the_envelope():
    """Each part of the uniform number's range leads to its count, and the exponential to its step into the tails."""
    with double_precision():
        over = envelope(jnp.asarray(2.3), jnp.asarray(0.7))
        parts = np.array([over.below, over.between, over.above])
        edges = np.cumsum(parts) / parts.sum()
        flat = (parts[0] + 0.5 + np.arange(int(parts[1]))) / parts.sum()
        found = [int(over.proposed(u, 1.0)) for u in flat]
        assert found == list(range(int(over.low) + 1, int(over.high)))
        for step in (0, 1, 5):
            inside = step + 0.5
            assert int(over.proposed(0.5 * edges[0], inside * over.rise)) == int(over.low) - step
            assert int(over.proposed(0.5 * (edges[1] + 1), inside * over.fall)) == int(over.high) + step
        assert float(over.log_acceptance(jnp.asarray(-1.0))) == -np.inf


def test_thetas_without_a_law_have_no_counts():
    model = ls.models.ConwayMaxwellPoisson(np.ones((2, 1)))
    thetas = jnp.array([[80.0, 0.0], [0.0, 800.0], [0.0, -800.0], [-np.inf, 0.0], [0.0, 0.0]])

    @jax.jit
    def drawn_and_weighed(theta):
        x = model.simulate(jax.random.key(0), theta)
        return x, model.log_likelihood(jnp.zeros(2), x)

    x, log_likelihood = (np.asarray(one) for one in jax.vmap(drawn_and_weighed)(thetas))
    assert np.all(x[:4] == -1) and np.all(log_likelihood[:4] == -np.inf)
    assert np.all(x[4] >= 0) and np.isfinite(log_likelihood[4])


def test_factorials_are_those_of_log_gamma():
    counts = np.concatenate([np.arange(2000), [10_000, 10**6, 2**30]])
    with jax.enable_x64(True):
        found = np.asarray(log_factorial(counts))
        assert np.all(np.asarray(log_factorial(np.array([-1.0, -7.0]))) == 0)
    np.testing.assert_allclose(found, special.gammaln(counts + 1.0), rtol=1e-14)
