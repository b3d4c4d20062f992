"""A log ratio of plus infinity decides nothing: its candidate is refused and counted by name, by every engine."""

import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.core.warnings import LockstepWarning

WALK = ls.RandomWalk(1.0)


def overflowing(theta):
    """Standard normal, but +inf above 1 and NaN below -1.5."""
    return jnp.where(theta > 1, jnp.inf, jnp.where(theta < -1.5, jnp.nan, -0.5 * theta**2))


def overflowing_in_python(theta):
    return np.inf if theta > 1 else np.nan if theta < -1.5 else -0.5 * float(theta) ** 2


def difference(noise, position, candidate):
    return overflowing(candidate) - overflowing(position) + 0.1 * noise


NOISY = ls.estimators.mean(difference, 4, draw=lambda key, count: jr.normal(key, (count,)))
KERNELS = {
    "standard": ls.standard(overflowing, WALK),
    "interpreted": ls.standard(ls.blackbox(overflowing_in_python), WALK),
    "naive": ls.naive(NOISY, WALK),
    "penalty": ls.penalty(ls.estimators.known_variance(NOISY, 0.0025), WALK),
    "universal": ls.universal(NOISY, 1.0, WALK),
    "pseudo-marginal": ls.pseudo_marginal(lambda key, theta: overflowing(theta) + 0.1 * jr.normal(key), WALK),
    "cycle": ls.Cycle([ls.standard(overflowing, WALK), ls.naive(NOISY, WALK)]),
    "coupled": ls.Coupled(ls.standard(overflowing, WALK), ls.naive(NOISY, WALK)),
    "shadowed": ls.Shadowed(ls.standard(overflowing, WALK), ls.naive(NOISY, WALK)),
}


def run_of(kernel, **options):
    """A run, and the warnings about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = ls.sample(kernel, 0.0, **{"draws": 100, "chains": 2, "seed": 3, **options})
    assert {w.category for w in caught} <= {LockstepWarning}
    return run, [str(w.message) for w in caught]


@pytest.mark.parametrize("name", chosen(KERNELS, {"interpreted", "universal", "pseudo-marginal", "coupled"}))
def test_infinite_candidates_are_refused_and_chains_go_on(name):
    run, messages = run_of(KERNELS[name])
    assert all(np.max(leaf) <= 1 and np.min(leaf) >= -1.5 for leaf in jax.tree.leaves(run.positions))
    legs = [run.info] if isinstance(run.info, ls.Info) else [leg for leg in run.info if isinstance(leg, ls.Info)]
    for leg in legs:
        is_infinite, is_nan = np.isposinf(leg.log_ratio), np.isnan(leg.log_ratio)
        assert is_infinite.any() and not leg.is_accepted[is_infinite].any()
        assert np.array_equal(leg.is_valid, ~is_infinite & ~is_nan)
        assert np.asarray(leg.is_accepted)[:, -50:].any()
    assert any("plus infinity" in message for message in messages)


@pytest.mark.parametrize("name", ["coupled", "shadowed"])
def test_marks_and_gaps_agree_on_infinite_ratios(name):
    run, _ = run_of(KERNELS[name])
    first, second = (leg for leg in run.info if isinstance(leg, ls.Info))
    alphas = [np.where(leg.is_valid, np.exp(np.minimum(leg.log_ratio, 0.0)), 0.0) for leg in (first, second)]
    was_equal = run.info.was_equal if name == "coupled" else np.ones_like(run.info.marks)
    assert run.info.gaps == pytest.approx(np.abs(alphas[0] - alphas[1]) * was_equal, abs=1e-14)
    assert np.array_equal(run.info.marks, (first.is_accepted != second.is_accepted) & was_equal)
    assert (np.isposinf(first.log_ratio) & was_equal).any()


def test_compiled_and_interpreted_refuse_alike():
    compiled, interpreted = run_of(KERNELS["standard"])[0], run_of(KERNELS["interpreted"])[0]
    assert np.array_equal(compiled.info.is_accepted, interpreted.info.is_accepted)
    assert np.array_equal(compiled.info.is_valid, interpreted.info.is_valid)


def test_nan_and_infinity_are_told_apart():
    run, messages = run_of(KERNELS["standard"])
    nan, infinite = (int(test(run.info.log_ratio).sum()) for test in (np.isnan, np.isposinf))
    assert nan and infinite
    (message,) = messages
    assert message.startswith(f"{nan + infinite} log ratios ({(nan + infinite) / 200:.2%}) were NaN ({nan}) or plus")
    assert f"plus infinity ({infinite})" in message and "would never leave" in message and "returned" in message
    (finding,) = [text for text in run.summary().findings if "log ratios" in text]
    assert f"NaN ({nan}) or plus infinity ({infinite})" in finding

    only = ls.standard(lambda theta: jnp.where(theta > 1, jnp.inf, -0.5 * theta**2), WALK)
    assert "were plus infinity, so that their candidates were refused" in run_of(only)[1][0]
    assert "NaN or plus infinity" in run_of(only, thin=3)[1][0]  # a thinned draw keeps its last log ratio only


def test_nothing_but_infinity_is_an_error():
    kernel = ls.standard(lambda theta: jnp.where(theta == 0, 0.0, jnp.inf), WALK)
    with pytest.raises(
        FloatingPointError, match=r"every log ratio so far was plus infinity.*returned inf at candidate"
    ):
        ls.sample(kernel, 0.0)


@pytest.mark.parametrize(("value", "text"), [(jnp.inf, "inf"), (-jnp.inf, "-inf"), (jnp.nan, "nan")])
def test_a_start_must_have_a_finite_density(value, text):
    kernel = ls.standard(lambda theta: jnp.where(theta == 2, value, -0.5 * theta**2), WALK)
    with pytest.raises(ValueError, match=f"log_density is {text} at the initial position 2.0 of chain 0; start where"):
        ls.sample(kernel, 2.0)


def test_transition_matrices_refuse_infinite_ratios():
    log_density = jnp.array([0.0, jnp.inf, -1.0])
    kernel = ls.standard(lambda state: log_density[state], ls.Finite(np.full((3, 3), 1 / 3)))
    matrix = np.asarray(ls.check.transition_matrix(kernel, np.arange(3)))
    assert matrix[0, 1] == matrix[2, 1] == 0
    assert matrix[0, 2] == pytest.approx(np.exp(-1) / 3)
