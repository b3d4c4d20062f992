"""Biases by coupled chains, and the maximal coupling of random walks that makes them precise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import noise_laws
import numpy as np
import pytest
from scipy import stats

import lockstep as ls


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def difference(position, candidate):
    return log_density(candidate) - log_density(position)


def noisy(m):
    return noise_laws.estimator("normal", m, difference, 2.0)


def naive_variance(sigma, step=0.04):
    """E θ² under naive with noise N(0, σ²) and steps of sd 2, whose probability of accepting is integrated by hand."""
    grid = np.arange(-8, 8, step)
    here, there = grid[:, None], grid[None, :]
    ratio = (here**2 - there**2) / 2
    accept = stats.norm.cdf(ratio / sigma) + np.exp(ratio + sigma**2 / 2) * stats.norm.cdf(-ratio / sigma - sigma)
    matrix = step * stats.norm.pdf(there - here, scale=2) * accept
    np.fill_diagonal(matrix, 0)
    return ls.check.stationary(matrix + np.diag(1 - matrix.sum(axis=1))) @ grid**2


def test_bias_of_a_known_size():
    """Naive with normal noise on N(0, 1): the variance that it samples is known from its matrix on a fine grid."""
    kernel = ls.naive(noisy(8), ls.RandomWalk(2.0))
    run = ls.sample(kernel, jnp.zeros(1), draws=8000, chains=4, seed=1)
    truth = naive_variance(sigma=2 / np.sqrt(8)) - 1
    found = ls.separation.bias(run, {"square": lambda theta: theta[0] ** 2})["square"]
    assert truth > 0.05
    assert found.bias == pytest.approx(truth, abs=4 * found.bias_se + 0.02)
    assert found.bias_se < truth / 2
    assert "bias" in str(found) and "Monte Carlo error" in str(found)


@pytest.mark.study
def test_maximal_coupling_makes_it_more_precise_and_keeps_the_margins():
    walk = ls.RandomWalk(jnp.array([[1.5, 0.0], [0.5, 1.0]]))
    first, second = ls.naive(noisy(64), walk), ls.corrected(noisy(256), walk)
    starts = ls.Starts(jnp.zeros((64, 2)))
    coupled, maximal = (
        ls.sample(couple(first, second), starts, draws=2000, chains=64, seed=1, warmup=100)
        for couple in (ls.Coupled, ls.MaximallyCoupled)
    )
    ours, theirs = maximal.positions
    for function in (lambda x: x, np.square):
        together = np.var(np.mean(function(ours) - function(theirs), axis=1))
        apart = sum(np.var(np.mean(function(leg), axis=1)) for leg in (ours, theirs))
        assert together < apart / 2
    equal = maximal.info.is_equal
    assert equal[:, -1000:].mean() > 0.5 and not equal.all()
    np.testing.assert_array_equal(maximal.positions.first[equal], maximal.positions.second[equal])
    # Each chain is its kernel alone, in law.
    for leg in ("first", "second"):
        ends = [getattr(run.positions, leg)[:, ::50].reshape(-1, 2) for run in (coupled, maximal)]
        assert stats.ks_2samp(ends[0][:, 0], ends[1][:, 0]).pvalue > 1e-4


def test_second_proposal_has_the_law_of_the_walk():
    """Increments of the second chain from a fixed pair are normal with the covariance of the walk."""
    factor = np.array([[1.5, 0.0], [0.5, 1.0]])
    always = ls.standard(lambda theta: 0.0 * jnp.sum(theta), ls.RandomWalk(factor))
    pair = ls.MaximallyCoupled(always, always)
    here = ls.Pair(jnp.zeros(2), jnp.array([1.0, -0.7]))
    with jax.enable_x64(True):
        here = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), here)
        moved, _ = jax.jit(jax.vmap(lambda key: pair.step(key, pair.init(here))))(jr.split(jr.key(0), 40_000))
        steps = np.asarray(moved.second.position - here.second)
    z = np.linalg.solve(factor, steps.T)
    for row in z:
        assert stats.kstest(row, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(z)[0, 1]) < 0.03
    met = np.asarray(moved.is_equal)
    apart = np.linalg.norm(np.linalg.solve(factor, np.asarray(here.first - here.second)))
    assert met.mean() == pytest.approx(2 * stats.norm.sf(apart / 2), abs=0.01)


def test_bad_input():
    run = ls.sample(ls.standard(log_density, ls.RandomWalk(1.0)), jnp.zeros(1), draws=100)
    with pytest.raises(TypeError, match="bias needs one such as"):
        ls.separation.bias(run)
    approximate = ls.sample(ls.naive(noisy(4), ls.RandomWalk(1.0)), jnp.zeros(1), draws=100)
    with pytest.raises(TypeError, match="give a function of a position"):
        ls.separation.bias(approximate, functions=3)


def test_bias_of_a_black_box_with_a_random_walk():
    """Interpreted, the maximal coupling gets its noise as plain tuples."""

    def sample(rng, position, candidate, count):
        return -0.5 * (np.sum(candidate**2) - np.sum(position**2)) + 2 * rng.standard_normal(count)

    boxed = ls.estimators.mean(ls.blackbox(sample, vectorized=True), 4)
    run = ls.sample(ls.naive(boxed, ls.RandomWalk(2.0)), np.zeros(1), draws=500, chains=2, seed=1)
    found = ls.separation.bias(run, draws=200)
    assert np.isfinite(found["position[0]"].bias) and found.updates == 400
