"""Normal scores and noise in units: the formulas, against laws and identities without chance."""

import numpy as np
import pytest
from scipy import integrate, stats

from lockstep.core.estimator import Estimate
from lockstep.separation.gaps import _in_units
from lockstep.separation.replicates import Cumulants, Replicates
from lockstep.separation.scores import Shape, first_order


def hermite_coefficient(law, degree):
    """E[e He_j(z)]/j! of a law's quantile function, by quadrature."""
    polynomial = {1: lambda z: z, 2: lambda z: z**2 - 1}[degree]

    def integrand(z):
        return law.ppf(stats.norm.cdf(z)) * polynomial(z) * stats.norm.pdf(z)

    return integrate.quad(integrand, -8, 8, epsabs=1e-13, limit=200)[0] / degree


@pytest.mark.parametrize("skewness", [0.05, 0.1])
def test_the_first_order_is_that_of_gamma_laws(skewness):
    """What is left is of the fourth order in the skewness for c₁, and of the third for c₂."""
    law = stats.pearson3(skewness)  # a gamma law with mean 0 and variance 1
    expected = first_order(Shape(bias=0.0, skewness=skewness, straight=skewness, samples=64.0))
    assert abs(hermite_coefficient(law, 1) - expected[1]) < 0.1 * skewness**4
    assert abs(hermite_coefficient(law, 2) - expected[2]) < 0.1 * skewness**3
    assert np.all(expected[3:] == 0)


def test_noise_is_stretched_by_the_power_of_its_order():
    """An estimate that is a quadratic function of its linear part stays that function of the stretched one."""
    pairs, half, curvature, scale = 3, 4, 0.7, np.array([0.5, 1.0, 2.0])
    line = np.random.default_rng(0).normal(size=(pairs, 2 * half))
    value = 0.3 + scale[:, None] * (line + curvature * line**2)
    zero, ones = np.zeros((2, pairs)), np.ones((pairs, 2 * half))
    replicates = Replicates(
        np.zeros(pairs),
        Estimate(value, 0 * ones, ones, 0 * ones, 8.0 * ones),
        scale[:, None] * line,
        Cumulants(np.full((2, pairs), 0.3), zero, np.ones((2, pairs)), zero, zero),
        np.zeros((pairs, 1)),
        np.ones(pairs, bool),
    )
    noise, linear, cumulants = _in_units(replicates, np.arange(pairs), scale, slice(None))
    np.testing.assert_allclose(linear, np.sqrt(half / (half - 1)) * line, rtol=1e-12)
    np.testing.assert_allclose(noise, linear + curvature * linear**2, rtol=1e-12)
    np.testing.assert_allclose(cumulants.variance, 1 / scale[:, None] ** 2 * ones, rtol=1e-12)
