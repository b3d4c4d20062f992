"""Delayed acceptance: what the screen saves, what it leaves as it is, and where it can stand."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls

WALK = ls.RandomWalk(2.0)


def log_density(theta):
    return -0.5 * theta**2 - 0.1 * theta**4


def surrogate(theta):
    return -0.9 * theta**2


def counting(function):
    calls = []

    def counted(*arguments):
        calls.append(1)
        return function(*arguments)

    return ls.blackbox(counted), calls


def test_a_rejected_candidate_is_not_evaluated():
    dear, calls = counting(log_density)
    run = ls.sample(ls.screened(ls.standard(dear, WALK), surrogate), 0.1, draws=300, chains=2, seed=1)
    passed = ~np.isneginf(run.info.log_ratio)
    assert len(calls) == 2 + passed.sum()
    assert 0.2 < passed.mean() < 0.8
    assert np.all(run.info.is_valid)


def test_nothing_is_simulated_for_a_rejected_candidate():
    simulate, calls = counting(lambda rng, theta: theta + rng.normal(size=3))
    data = np.array([0.3, 1.2, -0.4])

    def log_likelihood(theta, x):
        return -0.5 * jnp.sum((x - theta) ** 2)

    base = ls.exchange(lambda theta: -0.5 * theta**2, log_likelihood, simulate, data, WALK)
    run = ls.sample(ls.screened(base, lambda theta: -2 * (theta - 0.3) ** 2), 0.1, draws=200, chains=2, seed=1)
    passed = ~np.isneginf(run.info.log_ratio)
    assert len(calls) == passed.sum() < 250


def test_compiled_and_interpreted_screens_decide_alike():
    compiled, interpreted = (
        ls.sample(ls.screened(ls.standard(density, WALK), surrogate), 0.1, draws=200, chains=2, seed=3)
        for density in (log_density, ls.blackbox(log_density))
    )
    np.testing.assert_allclose(compiled.positions, interpreted.positions, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(compiled.info.log_ratio, interpreted.info.log_ratio, rtol=1e-9, atol=1e-9)


def test_a_flat_screen_leaves_every_decision_as_it_was():
    plain = ls.sample(ls.standard(log_density, WALK), 0.1, draws=200, chains=2, seed=3)
    flat = ls.sample(ls.screened(ls.standard(log_density, WALK), lambda theta: 7.0), 0.1, draws=200, chains=2, seed=3)
    assert np.array_equal(plain.positions, flat.positions)


def test_what_passes_a_perfect_screen_is_accepted():
    run = ls.sample(ls.screened(ls.standard(log_density, WALK), log_density), 0.1, draws=200, chains=2, seed=3)
    passed = ~np.isneginf(run.info.log_ratio)
    assert np.array_equal(passed, run.info.is_accepted)
    np.testing.assert_allclose(run.info.log_ratio[passed], 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ("value", "wrap"),
    [
        pytest.param(np.nan, lambda f: f, id="NaN, compiled"),
        pytest.param(np.inf, ls.blackbox, id="infinity, interpreted"),
        pytest.param(np.inf, lambda f: f, id="infinity, compiled", marks=pytest.mark.study),
        pytest.param(np.nan, ls.blackbox, id="NaN, interpreted", marks=pytest.mark.study),
    ],
)
def test_a_surrogate_that_is_no_number_decides_nothing_and_is_counted(value, wrap):
    kernel = ls.screened(ls.standard(wrap(log_density), WALK), lambda theta: jnp.where(theta > 1, value, -(theta**2)))
    with pytest.warns(ls.LockstepWarning, match="surrogate returned"):
        run = ls.sample(kernel, 0.1, draws=200, chains=2, seed=3)
    assert np.all(run.positions <= 1)
    assert np.any(~run.info.is_valid) and np.all(np.isnan(run.info.log_ratio[~run.info.is_valid]))


def test_a_start_outside_of_the_surrogate_is_refused():
    kernel = ls.screened(ls.standard(log_density, WALK), lambda theta: jnp.where(theta > 0, -theta, -jnp.inf))
    with pytest.raises(ValueError, match="surrogate is -inf at the initial position"):
        ls.sample(kernel, -1.0, draws=10, chains=2)


def test_it_says_what_it_is():
    assert "wherever the target is positive" in ls.screened(ls.standard(log_density, WALK), surrogate).exact_when
    naive = ls.naive(ls.estimators.mean(lambda key, a, b: jr.normal(key), 2), WALK)
    assert ls.screened(naive, surrogate).exact_when is None
    cycle = ls.Cycle([ls.standard(log_density, WALK)] * 2)
    with pytest.raises(TypeError, match="one by one"):
        ls.screened(cycle, surrogate)


def test_it_stands_in_cycles_and_couplings():
    parts = [ls.screened(ls.standard(log_density, ls.RandomWalk(s)), surrogate) for s in (0.5, 3.0)]
    cycle = ls.Cycle(parts)
    assert cycle.is_memory_shared
    assert ls.sample(cycle, 0.1, draws=50, chains=2, seed=0).info.is_accepted.shape == (2, 50, 2)
    coupled = ls.sample(ls.Coupled(parts[0], parts[0]), 0.1, draws=50, chains=2, seed=0)
    assert np.array_equal(coupled.positions.first, coupled.positions.second)
    shadowed = ls.sample(
        ls.Shadowed(ls.standard(log_density, WALK), ls.screened(ls.standard(log_density, WALK), surrogate)),
        0.1,
        draws=300,
        chains=2,
        seed=0,
    )
    assert 0 < shadowed.info.marks.mean() < 0.5
    assert parts[0].cannot_meet is None


def test_all_that_is_remembered_of_ratios_without_a_memory_is_the_surrogate():
    """So that screened kernels of different rules share it in a cycle."""
    estimator = ls.estimators.mean(lambda key, a, b: b - a + jr.normal(key), 4)
    rules = [ls.screened(rule(estimator, WALK), surrogate) for rule in (ls.naive, ls.penalty)]
    assert ls.Cycle(rules).is_memory_shared
    others = [ls.screened(ls.naive(estimator, WALK), one) for one in (surrogate, log_density)]
    assert not ls.Cycle(others).is_memory_shared


def test_a_resumed_run_is_the_same_run(tmp_path):
    def log_estimate(key, theta):
        return log_density(theta) + 0.3 * jr.normal(key) - 0.045

    kernel = ls.screened(ls.pseudo_marginal(log_estimate, WALK), surrogate)
    whole = ls.sample(kernel, 0.1, draws=120, chains=2, seed=5)
    ls.sample(kernel, 0.1, draws=70, chains=2, seed=5, directory=tmp_path / "run")
    resumed = ls.sample(kernel, 0.1, draws=120, chains=2, seed=5, directory=tmp_path / "run")
    assert np.array_equal(whole.positions, resumed.positions)
