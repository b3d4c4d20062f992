"""Pairs that share their replicates have noise of one law; what they share in spite of it is an error that is told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep import Estimate
from lockstep.ratios.rules import plug_in
from lockstep.separation.gaps import GRID, Gaps, are_laws_mixed, measure_gaps
from lockstep.separation.groups import FEWEST, common, groups_of, is_one_law, uncertainty_of_variance
from lockstep.separation.rates import Nothing, Seen, judge, of_rule
from lockstep.separation.replicates import Cumulants, Replicates

GAPS = Gaps(np.tile([0.05, 0.15], 4), np.full((2, 8), 0.1), np.ones(8), np.zeros(GRID.size), np.zeros((2, GRID.size)))
M = 16  # samples of an estimate
PLAIN = ls.estimators.mean(lambda noise, here, there: there - here + noise, M)


def shapes(pairs, skewness, spread, seed=0):
    """Log s with this spread, a skewness of either sign, no bias, from two halves."""
    rng = np.random.default_rng(seed)
    log_s, sign = spread * rng.standard_normal(pairs), rng.choice([-1, 1], pairs)
    columns = np.stack([log_s, skewness * sign, 0 * log_s, skewness * sign], axis=-1)
    return columns + 0.02 * rng.standard_normal((2, pairs, 4)), sign


def replicates(pairs, count, seed=0):
    """Averages of exponential samples, turned over at half of the pairs, with scales far apart; D = 0."""
    rng = np.random.default_rng(seed)
    scale = 0.05 * np.exp(0.8 * rng.standard_normal(pairs)) * rng.choice([-1, 1], pairs)
    samples = scale[:, None, None, None] * (rng.exponential(size=(pairs, 2, count // 2, M)) - 1)
    values = samples.mean(axis=-1)
    pooled = samples.reshape(pairs, 2, -1)
    variance, third = pooled.var(axis=2, ddof=1) / M, stats.moment(pooled, 3, axis=2) / M**2
    centre = pooled.mean(axis=2)
    zero = 0 * variance.T
    halves = Cumulants(centre.T, zero, variance.T, third.T, third.T)
    flat = values.reshape(pairs, count)
    each = Estimate(
        flat, 0 * flat, samples.var(axis=-1, ddof=1).reshape(pairs, count) / M, 0 * flat, np.full(flat.shape, 1.0 * M)
    )
    linear = (values - centre[..., None]).reshape(pairs, count)
    made = Replicates(np.zeros(pairs), each, linear, halves, np.full((pairs, 1), np.nan), np.ones(pairs, bool))
    return made, np.abs(scale) / np.sqrt(M)


def true_rate(scales):
    """The average gap of the plug-in rule at D = 0, by the gamma law of an average."""
    u = (np.arange(4000) + 0.5) / 4000
    e, z = (stats.gamma.ppf(u, M) - M) / np.sqrt(M), stats.norm.ppf(u)
    rate = 0.0
    for s in scales:
        for sign in (-1, 1):
            exact = np.exp(np.minimum(s * sign * z - s**2 / 2, 0))
            rate += np.mean(np.abs(np.exp(np.minimum(s * sign * e, 0)) - exact)) / 2 / len(scales)
    return rate


def test_laws_of_other_skewness_are_kept_apart_before_scales():
    """So few pairs allow three splits, which scales far apart would use up."""
    made, sign = shapes(8 * FEWEST - 4, 0.6, 2.0)
    groups = groups_of(made)
    assert sorted(np.concatenate(groups)) == list(range(len(sign)))
    mixed = sum(min(np.sum(sign[group] < 0), np.sum(sign[group] > 0)) for group in groups)
    assert mixed == 0 and len(groups) > 4
    assert all(is_one_law(made[:, group]) for group in groups) and not is_one_law(made)


def test_little_skewness_of_either_sign_is_kept_apart():
    """Averages of 64 Gumbel samples along the step: the corrected rule separates by skewness of ±0.14 alone."""
    made, sign = shapes(8 * FEWEST, 0.14, 0.3)
    assert all(abs(sign[group].sum()) == len(group) for group in groups_of(made))
    assert len(groups_of(shapes(8 * FEWEST, 0.0, 0.0)[0])) == 1  # what is not certain is no reason


def test_scales_far_apart_are_split_as_well():
    made, _ = shapes(8 * FEWEST, 0.0, 2.0)
    assert 4 <= len(groups_of(made)) <= 8 and len(groups_of(made, 4 * FEWEST)) == 2
    assert all(len(group) >= FEWEST for group in groups_of(made))
    assert len(groups_of(shapes(8 * FEWEST, 0.0, 0.0)[0])) == 1


def test_noise_that_is_turned_over_at_some_pairs():
    """As of rows with controls: taken together both signs would seem symmetric, and separate far more seldom."""
    made, scales = replicates(128, 32)
    gaps = measure_gaps(made, {"naive": plug_in})["naive"]
    assert gaps.path.mean() == pytest.approx(true_rate(scales), rel=0.15)
    together = measure_gaps(made, {"naive": plug_in}, fewest=128)["naive"]
    assert together.path.mean() < 0.7 * gaps.path.mean()


def test_what_one_more_split_may_change_is_in_the_error():
    """Too few pairs to keep the laws apart: no number and no bound that is too good."""
    for pairs, are_mixed in ((FEWEST + 8, True), (16 * FEWEST, False)):
        made, scales = replicates(pairs, 32)
        assert are_laws_mixed(made) == are_mixed
        found = judge(PLAIN, made, made, [], Seen(4, made.each.value, None), 1000).rules["naive"]
        if are_mixed:
            assert np.isnan(found.rho) and found.at_least < 1 / true_rate(scales)
        else:
            assert found.rho == pytest.approx(1 / true_rate(scales), rel=0.15) and found.rho_se < 0.1 * found.rho


def test_a_mixture_of_laws_makes_the_error_larger():
    found = [of_rule("naive", GAPS, Nothing(0.0, 0.0), Seen(2, np.zeros((8, 4)), None), 100, off) for off in (0, 0.03)]
    rates = [(1 / one.rho, one.rho_se / one.rho**2) for one in found]
    assert rates[0][0] == rates[1][0] == pytest.approx(0.1)
    assert rates[1][1] == pytest.approx(np.hypot(rates[0][1], 0.03))


def test_a_skewness_that_one_pair_makes_is_none():
    """Samples without a third moment, as Student's t with three degrees of freedom."""
    ones = np.ones((2, 64))
    outlier = 0.01 * np.random.default_rng(7).standard_normal((2, 64))
    outlier[0, 5] = 60.0
    assert abs(common(Cumulants(0 * ones, 0 * ones, ones, outlier, outlier), 64.0)[0].skewness) < 0.1
    found, _ = common(Cumulants(0 * ones, 0 * ones, ones, 0.3 * ones + outlier * (outlier < 1), 0.2 * ones), 64.0)
    assert found.skewness == pytest.approx(0.3, abs=0.01) and found.straight == pytest.approx(0.2)


def test_a_variance_that_few_samples_make_is_uncertain():
    made, _ = replicates(128, 32)
    assert uncertainty_of_variance(made) < 0.02
    variance = made.halves.variance.copy()
    variance[0, 3] *= 40
    assert uncertainty_of_variance(made._replace(halves=made.halves._replace(variance=variance))) > 0.05
