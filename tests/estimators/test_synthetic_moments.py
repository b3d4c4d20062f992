"""Cumulants of synthetic likelihoods against derivatives in the weights of the simulations, and ABC by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.estimators.synthetic import _log_constant

COUNT, SIZE = 800, 2
SEEN = np.array([6.0, -1.0])  # some standard deviations away, where all terms count
# Summaries that are not normal, so that no moment vanishes.
SAMPLES = np.random.default_rng(5).gamma(2.0, 1.0, (COUNT, SIZE)) @ np.array([[1.0, 0.3], [0.0, 0.7]])


@pytest.fixture(autouse=True)
def double():
    with double_precision():
        yield


def synthetic(count=COUNT, shrinkage=0.0):
    return ls.synthetic_likelihood(
        lambda noise, theta: noise, None, SEEN, count, shrinkage, draw=lambda key, n: jnp.zeros((n, SIZE))
    ).at_candidate


def log_density(weights, shrinkage, factor=1.0):
    """The log density of SEEN with the moments of weighted simulations, and some times their covariance."""
    weights = weights / weights.sum()
    mean = weights @ SAMPLES
    covariance = factor * (SAMPLES - mean).T @ (weights[:, None] * (SAMPLES - mean))
    covariance = (1 - shrinkage) * covariance + shrinkage * jnp.diag(jnp.diag(covariance))
    apart = SEEN - mean
    return -(jnp.linalg.slogdet(covariance)[1] + apart @ jnp.linalg.solve(covariance, apart)) / 2


@pytest.mark.parametrize("shrinkage", [0.4, pytest.param(0.0, marks=pytest.mark.study)])
def test_cumulants_are_those_of_von_mises_expansion(shrinkage):
    """V(weights) has slopes a_i/m and curvatures B_ij/m²: bias E B_ii/2m, variance E a²/m, third (E a³ + 3 aBa)/m²."""
    found = jax.jit(synthetic(shrinkage=shrinkage))(jnp.asarray(SAMPLES), 0.0, 0.0)
    weights = jnp.full(COUNT, 1 / COUNT)
    factor = COUNT / (COUNT - 1)  # of the unbiased covariance
    slopes = np.asarray(jax.jit(jax.grad(log_density))(weights, shrinkage, factor))
    curvatures = np.asarray(jax.jit(jax.hessian(log_density))(weights, shrinkage, factor))
    evaluate = jax.jit(log_density)
    unbiased = evaluate(weights, shrinkage, factor)
    bias = np.trace(curvatures) / (2 * COUNT**2) + float(unbiased - evaluate(weights, shrinkage, 1.0))
    third = (np.mean(slopes**3) + 3 * slopes @ curvatures @ slopes / COUNT**2) / COUNT**2
    np.testing.assert_allclose(found.value, unbiased, rtol=1e-10)
    # They differ by what dividing by m - 1 instead of m in the moments of slopes makes.
    np.testing.assert_allclose(found.bias, bias, rtol=0.02)
    np.testing.assert_allclose(found.variance, np.mean(slopes**2) / COUNT, rtol=0.02)
    np.testing.assert_allclose(found.third, third, rtol=0.02)


def test_the_covariance_is_the_unbiased_one():
    few = SAMPLES[:8]
    value = jax.jit(synthetic(8))(few, 0.0, 0.0).value
    law = stats.multivariate_normal(few.mean(axis=0), np.cov(few, rowvar=False))
    np.testing.assert_allclose(value, law.logpdf(SEEN) + np.log(2 * np.pi), rtol=1e-12)


def test_pooled_simulations_are_one_larger_set():
    halves = np.reshape(SAMPLES, (2, COUNT // 2, SIZE))
    found = jax.jit(synthetic(COUNT // 2).pooled)(halves, 0.0, 0.0)
    whole = jax.jit(synthetic())(SAMPLES, 0.0, 0.0)
    np.testing.assert_allclose(found.estimate, whole, rtol=1e-10)
    slopes = np.reshape(jax.jit(jax.grad(log_density))(np.full(COUNT, 1 / COUNT), 0.0), (2, -1))
    np.testing.assert_allclose(found.linear, slopes.mean(axis=1), rtol=0.02)


def test_the_unbiased_density_is_that_of_ghurye_and_olkin():
    """In one dimension, by an integral over the mean and the variance of few simulations."""
    count = 7
    unbiased = ls.synthetic_likelihood(
        lambda noise, theta: noise, None, np.array([0.4]), count, draw=lambda key, n: jnp.zeros((n, 1))
    ).at_candidate.evaluation
    mean_nodes, mean_weights = np.polynomial.hermite_e.hermegauss(60)
    mean_weights = mean_weights / mean_weights.sum()
    # Scatter from a χ² law of m - 1 degrees, by quantiles in the middle of equal shares.
    shares = (np.arange(4000) + 0.5) / 4000
    scatters = stats.chi2(count - 1).ppf(shares)
    pattern = np.linspace(-1, 1, count)
    pattern = pattern / np.sqrt(pattern @ pattern)

    def of(mean, scatter):
        return jnp.exp(unbiased((mean / np.sqrt(count) + jnp.sqrt(scatter) * pattern)[:, None], 0.0))

    values = jax.jit(jax.vmap(jax.vmap(of, (None, 0)), (0, None)))(jnp.asarray(mean_nodes), jnp.asarray(scatters))
    np.testing.assert_allclose(mean_weights @ np.asarray(values).mean(axis=1), stats.norm.pdf(0.4), rtol=2e-3)


def test_the_constant_of_the_unbiased_density_of_two_summaries():
    """By the duplication formula of the gamma function it is (m - 3)/(2π(1 - 1/m))."""
    for count in (6, 7, 60):
        np.testing.assert_allclose(
            _log_constant(count, 2), np.log((count - 3) / (2 * np.pi * (1 - 1 / count))), rtol=1e-12
        )


def distance(data):
    return jnp.abs(data)


@pytest.mark.parametrize(
    ("weight", "kernel"),
    [("normal", lambda far: np.exp(-(far**2) / 2)), ("uniform", lambda far: (far <= 1) * 1.0)],
)
def test_abc_is_the_average_of_its_kernel(weight, kernel):
    noise = np.array([0.1, -0.5, 0.3, 0.9, -0.45])
    near = ls.abc(
        lambda noise, theta: theta + noise, distance, 0.5, 5, weight, draw=lambda key, n: jr.normal(key, (n,))
    )
    found = near(jnp.asarray(noise), jnp.asarray(0.05))
    np.testing.assert_allclose(found, np.log(np.mean(kernel(np.abs(noise + 0.05) / 0.5))), rtol=1e-12)
    # FAR away the logarithm of a normal weight is a number still, and that of a uniform one is none.
    far = float(near(jnp.asarray(noise), jnp.asarray(100.0)))
    exact = np.max(-(((noise + 100.0) / 0.5) ** 2) / 2) - np.log(5)
    assert far == -np.inf if weight == "uniform" else far == pytest.approx(exact, rel=1e-9)
    assert np.isnan(near(jnp.asarray([0.1, np.nan, 0.3, 0.9, -0.45]), jnp.asarray(0.05)))
    # At the very edge data are within the distance.
    assert weight == "normal" or float(near(jnp.full(5, 0.5), jnp.asarray(0.0))) == 0.0
    assert near.with_count(3).noise(jr.key(0), 0.0).shape == (3,)
