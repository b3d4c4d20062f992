"""Binomial and Poisson numbers by inversion: each outcome has its share of [0, 1), to 1e-12."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from lockstep.core.precision import double_precision
from lockstep.models import binomial_quantile, cornish_fisher, leaps, poisson_quantile
from lockstep.models.cornish_fisher import LARGE
from lockstep.models.factorials import log_factorial, stirling_rest_of_any

# One program for all cases of a shape.
binomial, poisson = jax.jit(leaps.binomial), jax.jit(leaps.poisson)
guessed_binomial, guessed_poisson = jax.jit(binomial_quantile.guessed), jax.jit(poisson_quantile.guessed)
settled_binomial, settled_poisson = jax.jit(binomial_quantile.settled_from), jax.jit(poisson_quantile.settled_from)
FEW = [(763, 0.03), (763, 0.002), (20, 0.5), (20, 0.97), (1, 0.4), (10, 0.05), (3000, 0.995)]
AROUND = [(79, 0.5), (80, 0.5), (81, 0.5), (250, 0.09), (250, 0.9), (2000, 0.0099), (2000, 0.9899), (10**6, 2.1e-5)]
MANY = [(763, 0.3), (400, 0.5), (5000, 0.995), (5000, 0.4), (10**6, 1 - 3e-5), (10**7, 1e-5), (10**5, 0.3)]
HUGE = [(10**9, 0.3), (10**9, 1 - 1e-7), (10**15, 1e-10)]
# Binomial distribution functions beyond SciPy's digits, as integrals of beta densities with 40 of them.
DIGITS = [
    (1e12, 0.5, 499998500000, 0.0013499024634762906),
    (1e12, 0.5, 499999500000, 0.15865549590230255),
    (1e12, 0.5, 500000000000, 0.5000003989422804),
    (1e12, 0.5, 500000250000, 0.6914628133392409),
    (1e12, 0.5, 500001000000, 0.9772499220427603),
    (1e12, 0.123456789, 123455802117, 0.001349883298849315),
    (1e12, 0.123456789, 123456460039, 0.15865547718806483),
    (1e12, 0.123456789, 123456788999, 0.4999995458514406),
    (1e12, 0.123456789, 123456953480, 0.6914626671662758),
    (1e12, 0.123456789, 123457446921, 0.9772497886851927),
]
MEANS = [1e-3, 0.7, 3.0, 10.5, 19.99, 20.0, 20.5, 25.3, 40.5, 80.0, 255.0, 900.0, 12_345.6]


def around_the_cuts(law, most=5000):
    """Uniform numbers on both sides of each cut between outcomes, near and less near to it, and the outcomes there.

    Of many cuts some are taken.
    """
    first, last = law.ppf(1e-11), law.isf(1e-11)
    outcomes = np.unique(np.floor(np.linspace(first, last - 1, int(min(last - first, most)))))
    cut, below, above = law.cdf(outcomes), law.pmf(outcomes), law.pmf(outcomes + 1)
    near = [1e-12 + distance * np.minimum(below, above) for distance in (1e-6, 0.02 / law.var() ** 3, 0.01, 0.4)]
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
        is_doubtful = np.asarray(guessed_poisson(uniforms, means)[1])[means >= LARGE]
    assert 0.05 < np.mean(is_doubtful) < 0.6  # both ways were gone


def binomial_cuts(laws, most=5000):
    uniforms, expected = zip(*[around_the_cuts(stats.binom(n, p), most) for n, p in laws], strict=True)
    n, p = (np.repeat(np.array(values, float), list(map(len, uniforms))) for values in zip(*laws, strict=True))
    return np.concatenate(uniforms), n, p, np.concatenate(expected)


def test_binomial_numbers_change_where_the_distribution_function_says():
    """All cuts up to 1e-11 of the tails, of few and of many, with probabilities near 0 and 1."""
    uniforms, n, p, expected = binomial_cuts(FEW + AROUND + MANY)
    with double_precision():
        assert np.array_equal(binomial(uniforms, n, p), expected)
        is_large = n * p * (1 - p) >= LARGE
        is_doubtful = np.asarray(guessed_binomial(uniforms, n, p)[1])[is_large]
    assert 0.05 < np.mean(is_doubtful) < 0.6  # both ways were gone


def test_binomial_numbers_of_huge_counts():
    uniforms, n, p, expected = binomial_cuts(HUGE, most=300)
    with double_precision():
        assert np.array_equal(binomial(uniforms, n, p), expected)
        n, p, outcomes, cuts = np.array(DIGITS).T
        assert np.array_equal(binomial(cuts - 1e-15, n, p), outcomes)
        assert np.array_equal(binomial(cuts + 1e-15, n, p), outcomes + 1)


@pytest.mark.parametrize(("n", "p"), [(30, 0.97), (79, 0.5), (81, 0.6), (250, 0.9), (763, 0.3)])
def test_binomial_numbers_grow_with_the_uniform_one(n, p):
    with double_precision():
        found = np.asarray(binomial(np.linspace(0, 1 - 2.0**-53, 10_001), np.full(10_001, float(n)), p))
    assert np.all(np.diff(found) >= 0)
    assert 0 <= found[0] < found[-1] <= n


@pytest.mark.parametrize("p", [1e-6, 0.1, 0.3, 0.5, 0.9])
def test_the_expansion_stays_within_its_error(p):
    """P(number < x) = u, between whole numbers an incomplete beta function."""
    variance = np.array([LARGE, 30.0, 100.0, 1000.0])[:, None]
    normal = np.linspace(-1, 1, 61) * np.minimum(6.0, cornish_fisher.STEEPEST * np.sqrt(variance))
    n = variance / (p * (1 - p))
    with double_precision():
        found = n * p + np.asarray(cornish_fisher.expanded(normal / np.sqrt(variance), variance, 1 - 2 * p))
        allowed = np.asarray(cornish_fisher.error(normal / np.sqrt(variance), variance))
    # In the lower tail and in the upper one, each with all its digits.
    lower, upper = special.betainc(n - found + 1, found, 1 - p), special.betaincc(n - found + 1, found, 1 - p)
    logarithm = special.gammaln(n + 1) - special.gammaln(found + 0.5) - special.gammaln(n - found + 1.5)
    density = np.exp(logarithm + (found - 0.5) * np.log(p) + (n - found + 0.5) * np.log1p(-p))
    difference = np.where(normal < 0, lower - special.ndtr(normal), special.ndtr(-normal) - upper)
    digits = 1e-14 * np.minimum(special.ndtr(normal), special.ndtr(-normal)) * n
    assert np.all(np.abs(difference) < density * allowed * 1.2 + digits)


def test_doubt_is_rare():
    u = (np.arange(100_000) + 0.5) / 100_000
    with double_precision():
        for n, p, share in ((80.0, 0.5, 2e-4), (2e5, 1e-4, 2e-4), (763.0, 0.3, 2e-5), (1e6, 0.3, 2e-5)):
            assert np.mean(guessed_binomial(u, n, p)[1]) <= share


def test_doubtful_quantiles_are_found_from_any_guess():
    uniforms, expected = around_the_cuts(stats.poisson(50.0))
    u, n, p, outcomes = binomial_cuts([(200, 0.3), (10**8, 3e-7), (200, 0.85)])
    with double_precision():
        mean, is_doubtful = np.full(len(uniforms), 50.0), np.full(len(uniforms), True)
        for shift in (-6.0, 6.0):
            guess = expected + shift
            assert np.array_equal(settled_poisson(uniforms, mean, guess, is_doubtful), expected)
            found = settled_binomial(u, n, p, outcomes + shift, np.full(len(u), True))
            assert np.array_equal(found, outcomes)


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
        k = np.arange(1.0, 2000.0)
        rests = np.asarray(stirling_rest_of_any(k))
        assert np.allclose(rests[:-1] - rests[1:], ((k + 0.5) * np.log1p(1 / k) - 1)[:-1], rtol=0, atol=5e-15)
        assert np.isclose(rests[0], 1 - 0.5 * np.log(2 * np.pi), rtol=1e-14)


def test_edges():
    with double_precision():
        u = np.array([0.0, 0.5, 1 - 2.0**-53])
        laws = [(0, 0.5, 0), (9, 0.0, 0), (9, 1.0, 9), (9, np.nan, -1), (9, 1.2, -1), (-1, 0.2, -1)]
        for n, p, expected in laws:
            assert binomial(u, float(n), p).tolist() == [expected] * 3
        for mean, expected in ((0.0, 0), (-1.0, -1), (np.nan, -1), (np.inf, -1)):
            assert poisson(u, mean).tolist() == [expected] * 3
        assert 0 <= binomial(u, 763.0, 0.3)[2] <= 763
        assert binomial(u, np.inf, 0.3).tolist() == [-1] * 3
        many = jax.jit(jax.vmap(leaps.binomial, in_axes=(0, None, 0)))(u, jnp.int32(30), np.array([0.1, 0.5, 0.9]))
        assert many.dtype == jnp.int32
        assert many.tolist() == binomial(u, 30.0, np.array([0.1, 0.5, 0.9])).tolist()


def test_batches_of_leaps_are_leaps_of_arrays():
    """Whatever is batched, and at however many levels, also next to axes of their own."""
    with double_precision():
        rng = np.random.default_rng(3)
        u, n, p = rng.uniform(size=(3, 4, 2)), np.array([5.0, 100.0, 2000.0, 7.0]), rng.uniform(size=(4, 2))
        inner = jax.vmap(leaps.binomial, in_axes=(0, 0, 0))
        found = jax.jit(jax.vmap(inner, in_axes=(0, None, None)))(u, n, p)
        assert np.array_equal(found, leaps.binomial(u, n[:, None], p))
        turned = jax.vmap(leaps.binomial, in_axes=(1, 0, None), out_axes=2)(u, n, p[0])
        assert np.array_equal(turned, np.moveaxis(leaps.binomial(u, n[:, None], p[0]), 1, 2))
        means = np.array([3.0, 400.0])
        assert np.array_equal(
            jax.vmap(leaps.poisson, in_axes=(None, 0))(u, means), [leaps.poisson(u, m) for m in means]
        )
