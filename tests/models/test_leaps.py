"""Binomial and Poisson numbers by inversion: each outcome has its share of [0, 1), to 1e-12."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from lockstep.core.precision import double_precision
from lockstep.models import leaps
from lockstep.models.factorials import log_factorial
from lockstep.models.poisson_quantile import LARGE, expanded, guessed, settled

binomial, poisson = jax.jit(leaps.binomial), jax.jit(leaps.poisson)  # one program for all cases of a shape
FEW = [(763, 0.03), (763, 0.002), (20, 0.5), (20, 0.97), (1, 0.4), (280, 0.5), (10, 0.05), (5000, 0.995)]
MANY = [(763, 0.3), (5000, 0.4), (400, 0.5)]
MEANS = [1e-3, 0.7, 3.0, 10.5, 19.99, 20.0, 20.5, 25.3, 40.5, 80.0, 255.0, 900.0, 12_345.6]


def shares(function, outcomes, grid=200_001):
    """The share of [0, 1) in which each outcome is found, on a grid."""
    with double_precision():
        found = np.asarray(function((np.arange(grid) + 0.5) / grid))
    assert found.min() >= 0
    return np.bincount(found, minlength=len(outcomes))[: len(outcomes)] / grid


@pytest.mark.parametrize(("n", "p"), MANY)
def test_binomial_from_the_mode(n, p):
    outcomes = np.arange(n + 1)
    found = shares(lambda u: binomial(u, n, p), outcomes)
    # An outcome's share is an interval: a grid counts it up to one point at each end.
    assert np.abs(found - stats.binom.pmf(outcomes, n, p)).max() < 1.1e-5


def test_the_first_cut_is_the_density_of_the_mode():
    """Where the mode's share ends, to rounding."""
    n, p = (np.array(values, float) for values in zip(*MANY, strict=True))
    mode = np.floor((n + 1) * p)
    density = stats.binom.pmf(mode, n, p)
    with double_precision():
        assert np.all(binomial(density * (1 - 1e-10), n, p) == mode)
        assert np.all(binomial(density * (1 + 1e-10), n, p) != mode)


def around_the_cuts(law):
    """Uniform numbers on both sides of each cut between outcomes, near and less near to it, and the outcomes there."""
    outcomes = np.arange(law.ppf(1e-11), law.isf(1e-11))
    cut, below, above = law.cdf(outcomes), law.pmf(outcomes), law.pmf(outcomes + 1)
    near = [1e-12 + distance * np.minimum(below, above) for distance in (1e-6, 3 / law.mean() ** 3, 0.01, 0.4)]
    near = [np.minimum(distance, 0.4 * np.minimum(below, above)) for distance in near]
    uniforms = np.concatenate([cut + side * distance for distance in near for side in (-1, 1)])
    return uniforms, np.concatenate([outcomes, outcomes + 1] * len(near))


def test_poisson_numbers_change_where_the_distribution_function_says():
    """All cuts up to 1e-11 of the tails: counted from 0, by the expansion, and by sums where that is in doubt."""
    laws = [stats.poisson(mean) for mean in MEANS]
    uniforms, expected = map(np.concatenate, zip(*map(around_the_cuts, laws), strict=True))
    means = np.concatenate([np.full(len(around_the_cuts(law)[0]), law.mean()) for law in laws])
    with double_precision():
        assert np.array_equal(poisson(uniforms, means), expected)
        is_doubtful = guessed(jnp.asarray(uniforms), jnp.asarray(means))[1][means >= LARGE]
    assert 0.1 < np.mean(is_doubtful) < 0.6  # both ways were gone


def test_the_expansion_of_poisson_quantiles():
    """Γ(x, λ)/Γ(x) = u, within the error that doubt begins at."""
    mean = np.array([20.0, 30.0, 50.0, 200.0, 900.0])[:, None]
    normal = np.linspace(-1, 1, 41) * np.minimum(5.0, 0.9 * np.sqrt(mean))
    with double_precision():
        found = np.asarray(expanded(normal / np.sqrt(mean), mean, 1 / mean))
    density = np.exp(special.xlogy(found, mean) - mean - special.gammaln(found + 1))
    error = (special.gammaincc(found, mean) - special.ndtr(normal)) / density
    assert np.all(np.abs(error) < mean**-3.0 / 3 + 1e-14 / density)


def test_doubtful_quantiles_are_found_from_any_guess():
    uniforms, expected = around_the_cuts(stats.poisson(50.0))
    with double_precision():
        u, mean, is_doubtful = jnp.asarray(uniforms), jnp.full(len(uniforms), 50.0), np.full(len(uniforms), True)
        for shift in (-6.0, 6.0):
            assert np.array_equal(jax.jit(settled)(u, mean, expected + shift, is_doubtful), expected)


def test_binomial_numbers_change_where_the_distribution_function_says():
    laws = [stats.binom(n, p if p < 0.5 else 1 - p) for n, p in FEW]
    found = [around_the_cuts(law) for law in laws]
    with double_precision():
        for (n, p), (uniforms, expected) in zip(FEW, found, strict=True):
            # Of successes and failures the fewer are counted.
            numbers = binomial_of_many(uniforms, n, p)
            assert np.array_equal(numbers, expected if p <= 0.5 else n - expected)


def binomial_of_many(uniforms, n, p, width=2000):
    """In one program for all lengths."""
    padded = np.resize(uniforms, width)
    assert len(uniforms) <= width
    return binomial(padded, np.full(width, float(n)), np.full(width, p))[: len(uniforms)]


def test_poisson_numbers_in_the_far_tails():
    with double_precision():
        u, means = np.array([0.0, 1e-300, 1e-17, 0.5, 1 - 2.0**-53]), np.array([1.0, 19.0, 20.0, 100.0, 1e5, 1e8])
        found = np.asarray(poisson(u[None], means[:, None]))
    assert np.all(np.diff(found, axis=1) >= 0)
    assert np.array_equal(found[:, 3], stats.poisson.ppf(0.5, means))
    assert np.all(np.abs(found - means[:, None])[:, 2:] < 9 * np.sqrt(means[:, None]) + 20)
    assert np.all(found >= 0)


def test_factorials():
    with double_precision():
        k = np.arange(2000)
        assert np.allclose(log_factorial(k), special.gammaln(k + 1), rtol=1e-14, atol=1e-14)


def test_edges():
    with double_precision():
        u = np.array([0.0, 0.5, 1 - 2.0**-53])
        laws = [(0, 0.5, 0), (9, 0.0, 0), (9, 1.0, 9), (9, np.nan, -1), (9, 1.2, -1), (-1, 0.2, -1)]
        for n, p, expected in laws:
            assert binomial(u, float(n), p).tolist() == [expected] * 3
        for mean, expected in ((0.0, 0), (-1.0, -1), (np.nan, -1), (np.inf, -1)):
            assert poisson(u, mean).tolist() == [expected] * 3
        assert 0 <= binomial(u, 763.0, 0.3)[2] <= 763
        many = jax.jit(jax.vmap(leaps.binomial, in_axes=(0, None, 0)))(u, jnp.int32(30), np.array([0.1, 0.5, 0.9]))
        assert many.dtype == jnp.int32
        assert many.tolist() == binomial(u, 30.0, np.array([0.1, 0.5, 0.9])).tolist()
