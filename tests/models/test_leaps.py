"""Binomial and Poisson numbers by inversion: each outcome has its share of [0, 1), to rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from lockstep.core.precision import double_precision
from lockstep.models import leaps

binomial, poisson = jax.jit(leaps.binomial), jax.jit(leaps.poisson)  # one program for all cases of a shape
CASES = [(763, 0.3), (763, 0.002), (20, 0.5), (20, 0.97), (1, 0.4), (5000, 0.4), (10, 0.05)]


def shares(function, outcomes, grid=200_001):
    """The share of [0, 1) in which each outcome is found, on a grid."""
    with double_precision():
        found = np.asarray(function((np.arange(grid) + 0.5) / grid))
    assert found.min() >= 0
    return np.bincount(found, minlength=len(outcomes))[: len(outcomes)] / grid


@pytest.mark.parametrize(("n", "p"), CASES)
def test_binomial(n, p):
    outcomes = np.arange(n + 1)
    found = shares(lambda u: binomial(u, n, p), outcomes)
    # An outcome's share is an interval: a grid counts it up to one point at each end.
    assert np.abs(found - stats.binom.pmf(outcomes, n, p)).max() < 1.1e-5


@pytest.mark.parametrize("mean", [0.01, 0.7, 3.0, 40.5, 900.0])
def test_poisson(mean):
    outcomes = np.arange(int(mean + 12 * np.sqrt(mean) + 20))
    found = shares(lambda u: poisson(u, mean), outcomes)
    assert np.abs(found - stats.poisson.pmf(outcomes, mean)).max() < 1.1e-5


def test_the_first_cut_is_the_density_of_the_mode():
    """Where the mode's share ends, to rounding."""
    n, p = (np.array(values, float) for values in zip(*CASES, strict=True))
    mode = np.floor((n + 1) * p)
    density = stats.binom.pmf(mode, n, p)
    with double_precision():
        assert np.all(binomial(density * (1 - 1e-10), n, p) == mode)
        assert np.all(binomial(density * (1 + 1e-10), n, p) != mode)
        k = np.arange(400)
        assert np.allclose(leaps.log_factorial(jnp.asarray(k, float)), special.gammaln(k + 1), rtol=1e-14, atol=1e-14)


def test_edges():
    with double_precision():
        u = np.array([0.0, 0.5, 1 - 2.0**-53])
        laws = [(0, 0.5, 0), (9, 0.0, 0), (9, 1.0, 9), (9, np.nan, -1), (9, 1.2, -1), (-1, 0.2, -1)]
        for n, p, expected in laws:
            assert binomial(u, float(n), p).tolist() == [expected] * 3
        for mean, expected in ((0.0, 0), (-1.0, -1), (np.nan, -1)):
            assert poisson(u, mean).tolist() == [expected] * 3
        assert 0 <= binomial(u, 763.0, 0.3)[2] <= 763
        many = jax.jit(jax.vmap(leaps.binomial, in_axes=(0, None, 0)))(u, jnp.int32(30), np.array([0.1, 0.5, 0.9]))
        assert many.dtype == jnp.int32
        assert many.tolist() == binomial(u, 30.0, np.array([0.1, 0.5, 0.9])).tolist()
