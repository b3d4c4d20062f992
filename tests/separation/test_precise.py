"""Whether pairs tell a rate of separation: more of them, or no number."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from lockstep import Estimate
from lockstep.separation.gaps import GRID
from lockstep.separation.precise import AIM, joined, pairs_for, relative_error, too_little_seen, withheld
from lockstep.separation.prediction import Prediction, RulePrediction
from lockstep.separation.rates import Once, Seen, _in_tail, _mean_over_pairs
from lockstep.separation.replicates import Cumulants, Replicates
from lockstep.separation.trust import _lumps, _no_numbers, asymmetry_of, variance_by_replicates


def rule(name, rho, error):
    return RulePrediction(name, rho, error, 1.0, 0.01, (0.0, 0.02), 0.5)


def replicates(values, variance):
    """Estimates (P, K) of D = 0 whose samples tell a variance."""
    pairs, count = values.shape
    halves = values.reshape(pairs, 2, -1)
    linear = (halves - halves.mean(axis=2, keepdims=True)).reshape(pairs, count)
    cumulants = Cumulants(halves.mean(axis=2).T, *(np.full((2, pairs), of) for of in (0.0, variance, 0.0, 0.0)))
    each = Estimate(values, *(np.full(values.shape, of) for of in (0.0, variance, 0.0, 16.0)))
    return Replicates(np.arange(float(pairs)), each, linear, cumulants, np.zeros((pairs, 3)), np.ones(pairs, bool))


def test_numbers_that_pairs_cannot_tell_are_withheld():
    found = {"naive": rule("naive", 100.0, 5.0), "penalty": rule("penalty", 400.0, 100.0)}
    kept, sentence = withheld(found, pairs=125, calls=8000)
    assert kept["naive"] is found["naive"] and np.isnan(kept["penalty"].rho)
    calls = pairs_for(found["penalty"], 8000, AIM)
    assert "gaps of penalty differ" in sentence and "error of 25.0%" in sentence and f"calls={calls}" in sentence
    assert calls == pytest.approx(8000 * (0.25 / AIM) ** 2, rel=0.01)
    assert withheld({"naive": found["naive"]}, 125, 8000) == ({"naive": found["naive"]}, "")
    assert relative_error(rule("exact", np.inf, 0.0)) == 0.0


@pytest.mark.parametrize("error, is_told", [(0.06, True), (0.07, False)])
def test_three_errors_of_a_number_that_is_told_are_within_the_promise(error, is_told):
    kept, _ = withheld({"naive": rule("naive", 100.0, 100.0 * error)}, pairs=125, calls=8000)
    rates = 1 / 100 * (1 + np.array([-3, 3]) * error)
    assert np.isfinite(kept["naive"].rho) == is_told == all(80 <= 1 / rate <= 125 for rate in rates)


def seen_where_the_scale_changes(seed, pairs=96, singles=2000, updates=4000):
    """Gaps s² at pairs whose D has nothing to do with s, told by estimates of s from few samples."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        scale = np.abs(rng.standard_normal((*shape[:2], 1))) + 0.1
        shape = (*shape[:2], shape[2] if len(shape) > 2 else 1)
        return scale, rng.normal(-0.5, 1, shape), scale * np.sqrt(rng.chisquare(15, shape) / 15)

    scale, log_ratio, scales = draw(1, pairs, 32)
    _, once_log_ratio, once_scale = draw(4, singles // 4)
    curve = np.exp(np.minimum(GRID, 0))
    seen = Seen(4, log_ratio[0], draw(4, updates)[1][..., 0])
    values = scale[0, :, 0] ** 2 * np.interp(log_ratio[0], GRID, curve).mean(axis=1)
    more = seen._replace(scales=scales[0], once=Once(once_log_ratio[..., 0], once_scale[..., 0]))
    return [one.average(values, curve) for one in (seen, more)]


def test_single_estimates_tell_how_the_noise_changes_and_their_error_is_honest():
    found = np.array([seen_where_the_scale_changes(seed) for seed in range(60)])
    acceptance = norm.cdf(-0.5) + 0.0  # E min(1, exp(D)) of D with mean -0.5 and variance 1 is twice this
    truth = 2 * acceptance * (1 + 0.2 * np.sqrt(2 / np.pi) + 0.01)
    few, many = (found[:, index] for index in (0, 1))
    assert many[:, 0].mean() == pytest.approx(truth, rel=0.02)
    assert many[:, 1].mean() < 0.5 * few[:, 1].mean()
    assert 0.7 < np.std((many[:, 0] - truth) / many[:, 1]) < 1.3


def test_pairs_of_two_draws_are_joined_chain_by_chain():
    rng = np.random.default_rng(0)
    first, second = (replicates(rng.normal(size=(pairs, 8)), 1.0) for pairs in (6, 4))
    both = joined(first, second, chains=2)
    np.testing.assert_array_equal(both.log_proposal_ratio, [0, 1, 2, 0, 1, 3, 4, 5, 2, 3])
    np.testing.assert_array_equal(both.each.value[3:5], second.each.value[:2])
    np.testing.assert_array_equal(both.halves.difference[:, 5:8], first.halves.difference[:, 3:])


@pytest.mark.parametrize("m, width, is_seen", [(16, 0.05, True), (64, 0.05, True), (16, 1.0, False), (16, 10.0, False)])
def test_lumps_are_seen_and_smooth_laws_are_not(m, width, is_seen):
    rng = np.random.default_rng(1)
    samples = rng.choice([-1.0, 1.0], size=(64, 32, m)) + width * rng.standard_normal((64, 32, m))
    said = _lumps(replicates(samples.mean(axis=2), (1 + width**2) / m))
    assert ("lumps" in said) == is_seen
    if is_seen:
        assert f"about {2 / np.sqrt(m):.2g}"[:9] in said  # the step of an average, 2/m, in its standard deviations


def test_whole_estimates_tell_their_variance():
    values = np.random.default_rng(2).standard_normal((128, 32))
    one = replicates(values, 1.0)
    assert variance_by_replicates(one, one) == 1.0  # nothing that is certain
    short = replicates(values, 0.5)
    assert variance_by_replicates(short, short) == pytest.approx(2.0, rel=0.05)
    assert short.halves.of_variance(2.0).variance == pytest.approx(1.0)


def test_errors_over_pairs_grow_with_a_heavy_tail():
    rng = np.random.default_rng(3)
    assert _in_tail(rng.exponential(size=1000)) < 1.2
    assert _in_tail(rng.pareto(4.0, size=1000)) < 1.2  # its average has the error that the spread says
    assert _in_tail(rng.pareto(1.2, size=1000)) > 2


def test_a_prediction_names_its_exact_chain():
    found = {"naive": rule("naive", 100.0, 5.0)}
    for against, words in (("penalty", "exact penalty chain on the normal score"), ("standard", "standard chain")):
        predicted = Prediction("naive", found, (), 1000, 125, 32, against=against)
        assert words in predicted.sentence() and words in repr(predicted)


def test_estimates_that_are_no_numbers_are_said():
    """One of them spoils its pair: NaN, plus infinity, and minus infinity where other estimates are finite."""
    values = np.random.default_rng(4).standard_normal((100, 32))
    assert _no_numbers(values) == ""
    outside = np.where(np.arange(100)[:, None] < 50, -np.inf, values)
    assert _no_numbers(outside) == ""  # D is minus infinity there
    for bad in (np.nan, np.inf, -np.inf):
        few = values.copy()
        few[:2, 3] = bad
        assert "0.062 % of the estimates are NaN or infinite" in _no_numbers(few)
        few[1, 3] = 0.0
        assert _no_numbers(few) == ""
    assert "estimates are as large as 1e+100" in _no_numbers(np.where(values > 2, 1e100, values))


def test_a_variance_by_direction_is_seen_far_from_ties_and_without_warnings():
    rng = np.random.default_rng(5)
    values = rng.standard_normal((64, 32)) - 1e6  # where a weight exp(-|D|) would vanish
    forward, same, other = (replicates(values, variance) for variance in (1.0, 1.0, 2.0))
    assert asymmetry_of(forward, same) == ""
    assert "by a factor of 2.00" in asymmetry_of(forward, other)


def test_a_run_that_has_hardly_moved_tells_nothing():
    rng = np.random.default_rng(6)

    def seen(positions):
        chains, draws = positions.shape[:2]
        return too_little_seen(SimpleNamespace(chains=chains, draws=draws, thin=1, positions=positions))

    assert seen(rng.standard_normal((4, 500))) == ""
    assert "about 1 effective draws" in seen(rng.standard_normal((4, 3)))
    assert "about 1 effective draws" in seen(np.zeros((4, 500)))
    assert "effective draws" in seen(np.cumsum(rng.standard_normal((2, 100)), axis=1))
    # A component that is constant by intention does not count.
    assert seen(np.stack([rng.standard_normal((4, 500)), np.zeros((4, 500))], axis=-1)) == ""


def test_few_chains_do_not_tell_a_small_error():
    """Chains whose averages happen to be equal: the error is that of pairs far apart."""
    values = np.tile([[0.0, 1.0, 2.0, 5.0]], (4, 1))
    mean, error = _mean_over_pairs(values)
    assert mean == 2.0 and error == pytest.approx(values.std(ddof=1) / 4)
