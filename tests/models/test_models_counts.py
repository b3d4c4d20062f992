"""Conway–Maxwell–Poisson regression: exact draws, and a posterior with a known answer."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
from lattices import drawn, frequency_test, probabilities

import lockstep as ls

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
