"""Rules: from an estimate and its cumulants to a log ratio."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import lockstep as ls
from lockstep.ratios import rules

ALL = [rules.plug_in, rules.penalty, rules.penalty_series, rules.corrected]
READ_VARIANCE = [rule for rule in ALL if rule.needs_variance]


def an_estimate(value=0.7, bias=-0.11, variance=0.3, third=0.05, count=8):
    return ls.Estimate(*(np.float64(x) for x in (value, bias, variance, third)), count)


def identify(rule):
    return rule.name


def test_formulas():
    estimate = an_estimate()
    assert rules.plug_in(estimate) == 0.7
    assert rules.penalty(estimate) == 0.7 - 0.15
    assert rules.corrected(estimate) == pytest.approx(0.7 + 0.11 - 0.15, abs=1e-15)
    series = 0.3 / 2 + 0.3**2 / (4 * 9) + 0.3**3 / (3 * 9 * 11)
    assert rules.penalty_series(estimate) == pytest.approx(0.7 - series, abs=1e-15)


def test_corrected_is_penalty_for_an_unbiased_estimate():
    estimate = an_estimate(bias=0.0)
    assert rules.corrected(estimate) == rules.penalty(estimate)


def test_corrected_is_naive_where_the_bias_cancels_half_the_variance():
    for variance in np.random.default_rng(0).exponential(size=100):
        estimate = an_estimate(bias=-variance / 2, variance=variance)
        assert rules.corrected(estimate) == rules.plug_in(estimate)


@pytest.mark.parametrize("rule", ALL, ids=identify)
def test_no_variance_and_no_bias_leave_the_value(rule):
    assert rule(an_estimate(bias=0.0, variance=0.0)) == 0.7


@pytest.mark.parametrize("rule", READ_VARIANCE, ids=identify)
@pytest.mark.parametrize("variance", [-1e-300, -0.3, -np.inf, np.nan])
def test_a_variance_that_is_none_gives_nan(rule, variance):
    assert np.isnan(rule(an_estimate(variance=variance)))
    with jax.enable_x64(True):
        assert jnp.isnan(jax.jit(rule)(an_estimate(variance=variance)))


def test_the_naive_rule_reads_no_variance():
    assert not rules.plug_in.needs_variance
    assert rules.plug_in(an_estimate(variance=np.nan, bias=np.nan)) == 0.7


@pytest.mark.parametrize("rule", ALL, ids=identify)
def test_numpy_estimates_stay_in_numpy(rule):
    assert isinstance(rule(an_estimate()), np.ndarray | np.generic)


@pytest.mark.parametrize("rule", READ_VARIANCE, ids=identify)
def test_minus_infinity_rejects_whatever_its_cumulants_are(rule):
    for variance in (np.nan, np.inf, -1.0, 0.3):
        assert rule(an_estimate(value=-np.inf, variance=variance)) == -np.inf


@pytest.mark.parametrize("rule", READ_VARIANCE, ids=identify)
def test_an_infinite_variance_rejects_for_certain(rule):
    assert rule(an_estimate(variance=np.inf)) == -np.inf


def whole_series(chi2, n):
    """The penalty whose exponential is unbiased: -log 0F1(; (n-1)/2; -(n-1)χ²/4)."""
    return -np.log(special.hyp0f1((n - 1) / 2, -(n - 1) * chi2 / 4))


def series(chi2, n):
    return -float(rules.penalty_series(an_estimate(value=0.0, variance=chi2, count=n)))


@pytest.mark.parametrize("n", [5, 8, 12, 32])
def test_series_agrees_with_the_hypergeometric_function_to_third_order(n):
    errors = [whole_series(chi2, n) - series(chi2, n) for chi2 in (0.4, 0.2)]
    assert 0 < errors[1] < errors[0] < 1e-4
    # The first term left out is of order χ⁸.
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.25)
    # Each term that is kept is needed: without the last one the order is 3.
    shorter = [whole_series(chi2, n) - chi2 / 2 - chi2**2 / (4 * (n + 1)) for chi2 in (0.4, 0.2)]
    assert np.log2(shorter[0] / shorter[1]) == pytest.approx(3.0, abs=0.25)


def expected_exponential(penalty, sigma2, n):
    """E e^{-u(χ²)}, χ² the estimated variance of the mean of n normal values of variance σ²."""

    def integrand(x):
        return np.exp(-penalty(sigma2 / n * x / (n - 1))) * stats.chi2.pdf(x, n - 1)

    return integrate.quad(integrand, 0, np.inf, epsabs=1e-13, epsrel=1e-12, limit=200)[0]


@pytest.mark.parametrize("n", [5, 8, 32])
@pytest.mark.parametrize("sigma2_over_n", [0.1, 0.5, 1.0])
def test_series_is_less_biased_than_the_plain_penalty(n, sigma2_over_n):
    sigma2, wanted = sigma2_over_n * n, np.exp(-sigma2_over_n / 2)
    plain = abs(expected_exponential(lambda chi2: chi2 / 2, sigma2, n) - wanted)
    with_series = abs(expected_exponential(lambda chi2: series(chi2, n), sigma2, n) - wanted)
    assert with_series < plain / 2


def test_the_whole_series_is_unbiased():
    n, sigma2 = 8, 0.8

    def integrand(x):
        return special.hyp0f1((n - 1) / 2, -(n - 1) * (sigma2 / n * x / (n - 1)) / 4) * stats.chi2.pdf(x, n - 1)

    average = integrate.quad(integrand, 0, np.inf, epsabs=1e-13, limit=200)[0]
    assert average == pytest.approx(np.exp(-sigma2 / n / 2), abs=1e-11)


def test_exactness_is_claimed_for_known_variances_only():
    noisy = ls.estimators.mean(lambda key, position, candidate: jax.random.normal(key), count=4)
    known = ls.estimators.known_variance(noisy, 0.25)
    for rule in ALL:
        assert rule.exact_when(noisy) is None
    assert "normal" in rules.penalty.exact_when(known)
    assert "normal" in rules.corrected.exact_when(known)
    assert rules.plug_in.exact_when(known) is None
    assert rules.penalty_series.exact_when(known) is None
