"""Separation times from processes of marks whose law is known."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from pairs import INDEPENDENT, WALK, log_density, naive, penalty
from scipy import stats

import lockstep as ls
from lockstep.coupling.infos import ShadowedInfo
from lockstep.separation import first_passage, summary
from lockstep.separation.summary import who
from lockstep.separation.times import geometric_p_value, mean_waiting_time, unequal_spells

passages_module = import_module("lockstep.separation.first_passage")  # the room has a function of that name


def run_of(marks, gaps=None):
    marks = np.atleast_2d(marks)
    info = ShadowedInfo(None, None, marks, np.full(marks.shape, marks.mean()) if gaps is None else gaps)
    return SimpleNamespace(positions=None, kernel=None, info=info, thin=1, chains=len(marks), draws=marks.shape[1])


def markov_marks(rng, chains, draws, rate_quiet, rate_busy, switch):
    """Marks whose rate depends on a hidden state with two values: return times are not geometric."""
    is_busy = rng.random(chains) < 0.5
    marks = np.zeros((chains, draws), bool)
    for t in range(draws):
        marks[:, t] = rng.random(chains) < np.where(is_busy, rate_busy, rate_quiet)
        is_busy ^= rng.random(chains) < switch
    return marks


def test_kernels_are_called_by_their_rules_and_one_that_draws_nothing_is_the_standard_one():
    standard = ls.standard(log_density, WALK)
    random = ls.pseudo_marginal(lambda z, theta: log_density(theta) + z, WALK, draw=jr.normal)
    for pair, told in {
        ls.Shadowed(standard, naive(WALK)): "naive from standard",
        ls.Coupled(penalty(WALK), standard): "standard from penalty",
        ls.Coupled(standard, random): "Carried from standard",
    }.items():
        assert who(SimpleNamespace(kernel=pair, positions=np.zeros((2, 5)))) == told
    assert who(run_of([True, False])) == ""  # loaded from disk


def test_independent_marks():
    rng = np.random.default_rng(0)
    marks = rng.random((8, 50_000)) < 1 / 40
    found = summary(run_of(marks))
    assert found.rho_2 == pytest.approx(40, abs=5 * found.rho_2_se)
    assert found.tau == pytest.approx(40, abs=5 * found.tau_se)
    assert found.rho_2_se == pytest.approx(40 / np.sqrt(marks.sum()), rel=0.2)
    assert found.geometric_p_value > 1e-6
    assert abs(found.bound_slack - (found.rho_2 - 1)) < 10 * found.tau_se
    low, high = found.rho_2_interval
    assert low < 40 < high


def test_clustered_marks_have_a_longer_first_passage_and_a_larger_error():
    """Kac: 2τ = E T²/E T + 1, so that clustering lengthens τ; errors must respect the correlation of marks."""
    rng = np.random.default_rng(1)
    marks = markov_marks(rng, 16, 20_000, 0.002, 0.2, 0.005)
    found = summary(run_of(marks))
    assert found.tau > 2 * found.rho_2
    assert found.geometric_p_value < 1e-6
    assert found.rho_2_se > 2 * found.rho_2 / np.sqrt(marks.sum())
    waits = [np.flatnonzero(chain) for chain in marks]
    direct = np.mean(
        np.concatenate([marked[np.searchsorted(marked, np.arange(10_000))] - np.arange(10_000) + 1 for marked in waits])
    )
    assert found.tau == pytest.approx(direct, rel=0.1)


def test_errors_cover():
    """Over replicates, (estimate - truth)/error is about standard normal."""
    rng = np.random.default_rng(2)
    truth = 1 / ((0.01 + 0.1) / 2)
    scores = []
    for marks in np.split(markov_marks(rng, 60 * 4, 8000, 0.01, 0.1, 0.02), 60):
        found = summary(run_of(marks))
        scores.append((found.rho_2 - truth) / found.rho_2_se)
    assert np.std(scores) == pytest.approx(1, abs=0.45)


def test_too_few_marks_give_an_interval():
    marks = np.zeros((2, 5000), bool)
    marks[0, [100, 3000]] = True
    found = summary(run_of(marks))
    assert np.isnan(found.rho_2) and np.isnan(found.tau)
    low, high = found.rho_2_interval
    assert low < 5000 < high
    assert "too few marks" in repr(found)
    none = summary(run_of(np.zeros((2, 5000), bool), np.zeros((2, 5000))))
    assert none.rho_1 == np.inf and none.rho_2_interval[1] == np.inf
    assert none.rho_2_interval[0] == pytest.approx(10_000 / stats.chi2.ppf(0.975, 2) * 2)


def test_waits_and_spells():
    assert mean_waiting_time(np.array([1, 1, 1])) == 1.0
    assert mean_waiting_time(np.array([5, 5])) == 3.0
    spells = unequal_spells(np.array([[1, 1, 0, 0, 1, 0, 1, 0], [0, 0, 1, 1, 1, 1, 1, 1]], bool))
    assert spells.tolist() == [2, 1]
    # The end of a spell whose beginning was not seen is left out, also before others.
    assert unequal_spells(np.array([[0, 1, 1, 0, 0, 1]], bool)).tolist() == [2]


def test_the_geometric_test_has_its_level():
    rng = np.random.default_rng(3)
    p_values = [geometric_p_value(rng.geometric(1 / 30, 2000)) for _ in range(200)]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-6


def equilibrium(key):
    return jr.normal(key, (2,))


def test_first_passage_agrees_with_the_waits_and_with_brute_force():
    kernel = ls.Shadowed(penalty(WALK), naive(WALK))
    passages = first_passage(kernel, equilibrium, replicates=600, seed=3)
    assert not passages.is_cut.any()
    run = ls.sample(kernel, equilibrium, draws=400, chains=600, seed=3)
    is_marked = run.info.marks.any(axis=1)
    first = np.argmax(run.info.marks, axis=1) + 1
    # The very same noise: the same times, whatever was dropped on the way.
    assert np.array_equal(passages.times[is_marked], first[is_marked])
    assert np.all(passages.times[~is_marked] > 400)
    found = summary(ls.sample(kernel, equilibrium, draws=5000, chains=8, seed=4))
    assert passages.tau == pytest.approx(found.tau, abs=5 * np.hypot(passages.tau_se, found.tau_se))


def test_one_program_serves_first_passages_however_many_are_left(monkeypatch):
    kernel = ls.Shadowed(penalty(WALK), naive(WALK))
    monkeypatch.setattr(passages_module, "LANES", 16)
    compiled = passages_module._until_marked._cache_size()
    whole = first_passage(kernel, equilibrium, replicates=100, seed=3, limit=500)
    rounds = []

    def counted(*arguments, **options):
        rounds.append(int(arguments[3]))
        return until_marked(*arguments, **options)

    until_marked = passages_module._until_marked
    monkeypatch.setattr(passages_module, "_until_marked", counted)
    monkeypatch.setattr(passages_module, "MOST_UPDATES", 1)  # few updates at a time, then those that are left
    again = first_passage(kernel, equilibrium, replicates=100, seed=3, limit=500)
    assert len(rounds) > 1 and rounds[0] == 7 and rounds[-1] < 7
    assert np.array_equal(whole.times, again.times) and np.array_equal(whole.is_cut, again.is_cut)
    assert until_marked._cache_size() == compiled + 1


def test_first_passage_says_when_it_gave_up():
    kernel = ls.Shadowed(naive(INDEPENDENT), naive(INDEPENDENT))
    passages = first_passage(kernel, equilibrium, replicates=64, seed=0, limit=100)
    assert passages.is_cut.all() and np.all(passages.times == 100)
    assert "lower bound" in repr(passages)
    with pytest.raises(TypeError, match="Shadowed"):
        first_passage(naive(WALK), equilibrium)


def clustered(proposal):
    """A naive kernel that is very noisy on one side and hardly on the other: its marks come in clusters."""

    def scale(theta):
        return jnp.where(theta[0] > 0, 1.5, 0.05)

    def sample(noise, position, candidate):
        return -0.5 * (jnp.sum(candidate**2) - jnp.sum(position**2)) + scale(position) * noise

    noisy = ls.estimators.mean(sample, 1, draw=lambda key, count: jr.normal(key, (count,)))
    return ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), proposal), ls.naive(noisy, proposal)


@pytest.mark.study
def test_coupled_walks_tell_the_first_passage_and_not_the_return_time():
    legs = clustered(ls.RandomWalk(0.15))
    shadow = summary(ls.sample(ls.Shadowed(*legs), equilibrium, draws=20_000, chains=64, seed=1))
    pair = summary(ls.sample(ls.Coupled(*legs), equilibrium, draws=2000, chains=400, seed=2))
    assert shadow.tau > 2 * shadow.rho_1
    assert np.isnan(pair.rho_1) and np.isnan(pair.rho_2)
    assert pair.tau == pytest.approx(shadow.tau, abs=5 * np.hypot(pair.tau_se, shadow.tau_se))


def test_of_walks_that_separate_for_good_all_is_told_of_tau_and_nothing_of_rho():
    few = summary(ls.sample(ls.Coupled(penalty(WALK), naive(WALK)), equilibrium, draws=100, chains=4, seed=1))
    assert 0 < few.marks <= 4 and np.isnan(few.rho_1) and np.isnan(few.bound_slack)
    low, high = few.rho_2_interval
    assert f"τ from marks alone   too few marks; between {low:,.4g} and {high:,.4g}" in repr(few)
    assert "τ from the starts" in repr(few) and "never equal again" in repr(few)
    assert "ρ from" not in repr(few) and "equilibrium" not in repr(few) and "nan" not in repr(few)


def test_chains_that_never_differ_are_told_so():
    same = ls.standard(log_density, WALK)
    told = repr(summary(ls.sample(ls.Coupled(same, same), equilibrium, draws=50, chains=2)))
    assert "τ from the starts    infinite, as far as this run tells" in told
    assert "nan" not in told and "again" not in told


def test_the_error_of_the_share_of_identical_states():
    """Of walks that separate for good, over replicates: the reported error is the spread that is seen."""
    kernel = ls.Coupled(penalty(WALK), naive(WALK))
    found = [summary(ls.sample(kernel, equilibrium, draws=300, chains=32, seed=seed)) for seed in range(40)]
    seen = np.std([one.identical_fraction for one in found], ddof=1)
    assert np.mean([one.identical_fraction_se for one in found]) == pytest.approx(seen, rel=0.35)


def test_first_passage_of_a_kernel_without_ratios_is_an_error():
    broken = ls.naive(ls.estimators.mean(lambda key, a, b: jnp.nan, 2), WALK)
    with pytest.raises(FloatingPointError, match="estimator returned value nan"):
        first_passage(ls.Shadowed(penalty(WALK), broken), equilibrium, replicates=64)
