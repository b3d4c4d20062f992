"""Estimates from lagged pairs have no bias, whatever the start; pairs are durable, and the same on every executor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest
from registry import LOG_PI, STATES, log_pi
from scipy.stats import binomtest

import lockstep as ls
from lockstep.check import transition_matrix
from lockstep.lagged.average import weights_of
from lockstep.lagged.convergence import Convergence
from lockstep.lagged.start import PairStart

STEPS = ls.Finite(np.diag([0.5, 0, 0, 0, 0.5]) + 0.5 * np.eye(5, k=1) + 0.5 * np.eye(5, k=-1))
KERNEL = ls.standard(log_pi, STEPS)
PI = np.exp(LOG_PI) / np.exp(LOG_PI).sum()
MEAN = float(PI @ STATES)


def at_three(key):
    return jnp.array(3)


@pytest.fixture(scope="module")
def found():
    return ls.unbiased(KERNEL, at_three, pairs=200, seed=1)


def test_an_estimate_with_its_error_bar(found):
    assert abs(found.estimate - MEAN) < 4 * found.standard_error < 0.2
    low, high = found.interval(0.9)
    assert low < found.estimate < high
    wide = found.interval(0.99)
    assert wide[0] < low and high < wide[1]
    assert found.pairs == len(found.meeting_times) == len(found.values) == 200
    assert (found.meeting_times >= found.lag).all()
    assert 0.3 < found.efficiency < 1.5
    assert f"lag {found.lag}" in repr(found) and "pilot" in repr(found) and "efficiency" in repr(found)
    assert found.plot()._repr_png_()[1:4] == b"PNG"
    tree = found.to_datatree()
    assert np.array_equal(tree["unbiased"]["position"].values[0], found.values)
    assert np.array_equal(tree["sample_stats"]["meeting_time"].values[0], found.meeting_times)


def test_other_functions_of_the_same_pairs(found):
    shares = found.of(lambda state: {"is": state == jnp.arange(5)})
    assert np.abs(shares.estimate["is"] - PI).max() < 5 * shares.standard_error["is"].max()
    assert shares.values["is"].shape == (200, 5) and shares.interval()[0]["is"].shape == (5,)
    boxed = found.of(ls.blackbox(lambda state: float(state) ** 2))
    assert np.allclose(boxed.values, found.of(lambda state: 1.0 * state**2).values, rtol=0, atol=1e-12)


def drawn(lag, updates, pairs, seed, initial=at_three):
    """X_0, X_1, … and Y_{t - lag} beside X_t of pairs that `ls.sample` runs, and when they met."""
    run = ls.sample(ls.Lagged(KERNEL, lag), PairStart(initial), draws=updates, chains=pairs, seed=seed, progress=False)
    first, second = (np.concatenate([np.full((pairs, 1), 3), leaf], axis=1) for leaf in run.positions)
    return first, second, np.where(run.info.is_equal[:, -1], run.info.is_equal.argmax(axis=1) + 1, 0)


def test_a_pair_is_what_the_formula_says():
    """H_{k:m} as the average of H_k … H_m, each by its own sum."""
    lag, pairs = 9, 32
    first, second, times = drawn(lag, 400, pairs, seed=1)
    assert times.all() and times.max() > 5 * lag
    for k, m in ((0, 0), (3, 17), (lag + 2, 90)):
        found = ls.unbiased(KERNEL, at_three, pairs=pairs, lag=lag, start=k, end=m, seed=1)
        assert np.array_equal(found.meeting_times, times)
        for pair in range(pairs):
            each = []
            for start in range(k, m + 1):
                later = np.arange(start + lag, times[pair], lag)
                each.append(first[pair, start] + np.sum(first[pair, later] - second[pair, later]))
            assert found.values[pair] == pytest.approx(np.mean(each), abs=1e-12)


def test_weights_count_the_terms():
    for lag, start, end in ((1, 0, 0), (3, 2, 11), (7, 5, 6)):
        times = np.arange(start + lag, 60)
        counts = [sum(start <= t - j * lag <= end for j in range(1, 61)) / (end - start + 1) for t in times]
        assert np.allclose(weights_of(times, lag, start, end), counts, rtol=0, atol=1e-15)


def test_the_bound_lies_above_the_distance(found):
    matrix = transition_matrix(KERNEL, STATES)
    law = np.eye(5)[3]
    pairs = ls.convergence(KERNEL, at_three, pairs=600, seed=2, lag=200)
    times = np.arange(60)
    bound = pairs.total_variation(times)
    assert np.all(bound.low <= bound.bound) and np.all(bound.bound <= bound.high)
    assert np.all(np.diff(bound.bound) <= 0) and bound.high[-1] > 0
    distances, means = [], []
    for _ in times:
        distances.append(np.abs(law - PI).sum() / 2)
        means.append(abs(law @ STATES - MEAN))  # below the Wasserstein distance
        law = law @ matrix
    assert np.all(bound.high >= distances)
    wasserstein = pairs.wasserstein(times)
    assert np.all(np.where(np.isnan(wasserstein.high), np.inf, wasserstein.high) >= means)
    updates = pairs.updates_until(0.01)
    assert pairs.total_variation(updates).bound < 0.01 <= pairs.total_variation(updates - 1).bound
    assert distances[min(updates, 59)] < 0.01 and str(updates) in repr(pairs)
    assert found.convergence.total_variation(0).bound > 0.5


def test_bounds_are_what_the_formulas_say():
    lag = 5
    pairs = ls.convergence(KERNEL, at_three, pairs=64, seed=3, lag=lag)
    chains = list(zip(*drawn(lag, 512, 64, seed=3), strict=True))
    last = int(pairs.meeting_times.max())
    for t in (0, 1, 23, last - 2 * lag - 3, last - lag - 2):
        counts, sums = [], []
        for x, y, meeting in chains:
            counts.append(max(0, int(np.ceil((meeting - lag - t) / lag))))
            later = np.arange(t + lag, meeting, lag)
            sums.append(np.abs(x[later] - y[later]).sum())
        assert pairs.total_variation(t).bound == pytest.approx(min(1, np.mean(counts)), abs=1e-12)
        found, half = pairs.wasserstein(t), 1.959964 * np.std(sums, ddof=1) / np.sqrt(len(sums))
        assert found.bound == pytest.approx(np.mean(sums), abs=1e-12)
        assert found.low == pytest.approx(max(0.0, np.mean(sums) - half), abs=1e-6)
    # No pair is apart any more: of 64 pairs that met, the next may be apart with a probability below this.
    at_end = pairs.total_variation(last)
    assert at_end.bound == 0 and at_end.high == pytest.approx(1 - 0.025 ** (1 / 64))


def test_a_band_reaches_up_to_what_few_pairs_leave_possible():
    """Four of 64 are apart after one update, each by one term: the interval of Clopper and Pearson."""
    pairs = Convergence(5, np.repeat([6, 8], [60, 4]), "", 100)
    found = pairs.total_variation(1)
    assert found.bound == 4 / 64 and found.high == pytest.approx(binomtest(4, 64).proportion_ci(0.95).high)
    assert pairs.total_variation(3).bound == 0


def test_pairs_are_durable_extend_and_do_not_depend_on_the_executor(found, tmp_path):
    call = dict(kernel=KERNEL, initial=at_three, seed=1)
    durable = ls.unbiased(pairs=200, directory=tmp_path / "pairs", **call)
    assert np.array_equal(durable.values, found.values)
    with ThreadPoolExecutor(2) as executor:
        threaded = ls.unbiased(pairs=200, executor=executor, **call)
    assert np.array_equal(threaded.values, found.values) and threaded.lag == found.lag
    assert threaded.efficiency == found.efficiency == durable.efficiency
    for other in (threaded, durable):
        assert np.array_equal(other.meeting_times, found.meeting_times)
        assert np.array_equal(other.convergence.wasserstein(5), found.convergence.wasserstein(5))
    more = ls.unbiased(pairs=300, directory=tmp_path / "pairs", **call)
    assert np.array_equal(more.values[:200], found.values) and more.pairs == 300
    assert np.array_equal(found.more(300).values, more.values)
    # What a killed call has not finished is computed by the next one, in the same groups.
    gone = sorted((tmp_path / "pairs").glob("pairs-0*"))[1]
    for file in gone.iterdir():
        file.unlink()
    gone.rmdir()
    again = ls.unbiased(pairs=300, directory=tmp_path / "pairs", **call)
    assert np.array_equal(again.values, more.values)
    fewer = ls.unbiased(pairs=50, directory=tmp_path / "pairs", **call)
    assert np.array_equal(fewer.values, found.values[:50])
    with pytest.raises(ls.RunDirectoryError, match="lag"):
        ls.unbiased(pairs=300, directory=tmp_path / "pairs", lag=found.lag + 1, **call)
    with pytest.raises(ls.RunDirectoryError, match="seed"):
        ls.unbiased(pairs=300, directory=tmp_path / "pairs", **(call | {"seed": 2}))
    (tmp_path / "pairs" / "pairs.json").write_text("[]")
    with pytest.raises(ls.RunDirectoryError, match=r"pairs\.json"):
        ls.unbiased(pairs=300, directory=tmp_path / "pairs", **call)


def test_pairs_that_have_not_met_are_told_and_nothing_is_estimated():
    with pytest.warns(ls.LockstepWarning, match=r"have not met within most=6 .*most=60"):
        found = ls.unbiased(KERNEL, at_three, pairs=40, lag=2, start=0, end=3, most=6, seed=1)
    assert (found.meeting_times == 0).any() and np.isnan(found.estimate) and np.isnan(found.standard_error)
    assert np.isnan(found.convergence.total_variation(3).bound) and "have not met" in repr(found)
    with pytest.raises(ValueError, match="have not met"):
        found.convergence.updates_until(0.01)
    with pytest.raises(RuntimeError, match="of the pilot have not met"):
        ls.unbiased(KERNEL, at_three, pairs=40, most=3, seed=1)


def test_log_ratios_that_are_no_numbers_are_told_of_pairs():
    def broken(state):
        return jnp.where(state == 4, jnp.nan, log_pi(state))

    with pytest.warns(ls.LockstepWarning, match="were NaN"), ThreadPoolExecutor(1) as executor:
        ls.unbiased(ls.standard(broken, STEPS), at_three, pairs=4, lag=5, start=5, end=20, seed=1, executor=executor)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"initial": ls.Starts(np.zeros(3, int))}, TypeError, "a function of a random key"),
        ({"function": 3}, TypeError, "function is 3"),
        ({"pairs": 1}, ValueError, "pairs is 1"),
        ({"lag": 0}, ValueError, "lag is 0"),
        ({"lag": 5, "start": 5, "end": 3}, ValueError, "before start"),
        ({"kernel": ls.Lagged(KERNEL)}, TypeError, "coupling already"),
        ({"kernel": 3}, TypeError, "kernel must be"),
        ({"executor": "two", "lag": 5, "start": 5, "end": 30}, TypeError, "executor is 'two'"),
    ],
)
def test_bad_arguments(options, error, words):
    with pytest.raises(error, match=words):
        ls.unbiased(**({"kernel": KERNEL, "initial": at_three, "pairs": 4} | options))


# --- studies ----------------------------------------------------------------------------------------------------------
@pytest.mark.study
@pytest.mark.parametrize("start", range(5))
def test_a_hundred_thousand_pairs_from_far_away(start):
    """E H_0 is the expectation, from each start; the plain average of the same length is not."""
    found = ls.unbiased(KERNEL, np.array(start), pairs=100_000, lag=20, start=0, end=0, seed=10 + start)
    assert abs(found.estimate - MEAN) < 4 * found.standard_error
    length = int(np.ceil(found.meeting_times.mean()))
    plain = ls.sample(KERNEL, np.array(start), draws=length, chains=100_000, seed=10 + start).positions.mean(axis=1)
    assert abs(plain.mean() - MEAN) > 4 * plain.std() / np.sqrt(len(plain))
    print(f"\nstart {start}: {found.estimate:.4f} ± {found.standard_error:.4f}, {MEAN:.4f}, plain {plain.mean():.4f}")
