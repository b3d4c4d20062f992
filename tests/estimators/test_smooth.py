"""Smooth functions of averages next to black boxes: derivatives in JAX, differences along standard errors elsewhere."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.core.warnings import LockstepWarning
from lockstep.engine.hosted import hosted
from lockstep.estimators.delta import by_derivatives
from lockstep.estimators.differences import by_differences
from lockstep.host.boxes import called_back

M, OBSERVED = 40, 0.3
HERE, THERE = np.array([0.1]), np.array([0.7])
LOCATIONS = [0.0, 25.0, 30.0, 38.0, 100.0]  # of the summary: the answer does not depend on it


def sample_of(xp, location):
    """A summary with standard deviation 1, and its square, at the position and at the candidate."""

    def sample(noise, position, candidate):
        here, there = location + position[0] + noise[0], location + candidate[0] + noise[1]
        return xp.stack([here, here * here, there, there * there])

    return sample


def combine_of(xp, location):
    """The synthetic likelihood."""

    def combine(average, position, candidate):
        def log_synthetic(mean, square, theta):
            variance = square - mean**2
            return -0.5 * xp.sum(theta**2 + xp.log(variance) + (OBSERVED + location - mean) ** 2 / variance)

        return log_synthetic(*average[2:], candidate) - log_synthetic(*average[:2], position)

    return combine


def draw(key, count):
    return jax.random.normal(key, (count, 2), float)


def smooth(location, sample, combine, count=M):
    return ls.estimators.smooth(sample, combine, count, draw=draw)


COMBINES = {
    "JAX": lambda location: combine_of(jnp, location),
    "black box": lambda location: ls.blackbox(combine_of(np, location)),
    "plain NumPy": lambda location: combine_of(np, location),
}
ERRORS = {"JAX": 1e-10, "black box": 1e-6, "plain NumPy": 1e-6}  # of a log ratio


def estimates(estimator, pairs):
    """The estimates of an interpreted kernel, or compiled if there is no black box."""
    with double_precision():
        estimator = canonical(estimator, "estimator")
        noise = [jax.tree.map(np.asarray, estimator.noise(jax.random.key(i), HERE)) for i in range(len(pairs))]
        call = hosted(estimator)
        found = [call(one, *pair) for one, pair in zip(noise, pairs, strict=True)]
    return np.array([[one.value, one.bias, one.variance, one.third] for one in found])


THREE = [(HERE, THERE), (THERE, HERE), (HERE, HERE - 1.0)]


@functools.cache
def compiled_estimates(location):
    return estimates(smooth(location, sample_of(jnp, location), combine_of(jnp, location)), THREE)


@pytest.mark.parametrize("kind", chosen(COMBINES, {"black box"}))
def test_a_black_box_sample_changes_nothing(kind):
    for location in LOCATIONS:
        boxed = smooth(location, ls.blackbox(sample_of(np, location)), COMBINES[kind](location))
        expected, found = compiled_estimates(location), estimates(boxed, THREE)
        np.testing.assert_allclose(found, expected, rtol=0, atol=ERRORS[kind])


def test_a_run_with_a_black_box_sample_is_that_of_compiled_code():
    location, options = 100.0, {"draws": 150, "chains": 2, "seed": 1, "progress": False}
    runs = [
        ls.sample(ls.corrected(smooth(location, sample, combine), ls.RandomWalk(1.0)), np.zeros(1), **options)
        for sample, combine in [
            (sample_of(jnp, location), combine_of(jnp, location)),
            (ls.blackbox(sample_of(np, location)), combine_of(jnp, location)),
            (ls.blackbox(sample_of(np, location)), ls.blackbox(combine_of(np, location))),
        ]
    ]
    sd = runs[0].positions.std()
    for run in runs[1:]:
        assert np.abs(run.positions - runs[0].positions).max() < 1e-6 * sd
        assert run.info.is_valid.all()


def test_a_location_that_costs_most_digits():
    """At 1e4 the average of squares has lost eight digits; derivatives lose no more, differences four."""
    location, pairs = 1e4, [(HERE, THERE)] * 3
    expected = estimates(smooth(location, sample_of(jnp, location), combine_of(jnp, location)), pairs)
    sample = ls.blackbox(sample_of(np, location))
    for kind, error in (("JAX", 1e-6), ("black box", 2e-3)):
        found = estimates(smooth(location, sample, COMBINES[kind](location)), pairs)
        np.testing.assert_allclose(found, expected, rtol=0, atol=error)


def counted(function):
    calls = []

    def count(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return count, calls


PAIRS = np.triu_indices(5)


def five(average):
    """A synthetic likelihood of five summaries, from their means and second moments."""
    mean, second = average[:5], np.zeros((5, 5))
    second[PAIRS] = second[PAIRS[::-1]] = average[5:]
    covariance = second - np.outer(mean, mean)
    return -0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * mean @ np.linalg.solve(covariance, mean)


def test_how_often_a_black_box_is_called():
    rng = np.random.default_rng(0)

    def features():
        summary = 3 + rng.normal(size=5)
        return np.concatenate([summary, np.outer(summary, summary)[PAIRS]])

    samples = np.array([np.concatenate([features(), features()]) for _ in range(100)])
    one, calls = counted(lambda average, position, candidate: five(average[20:]) - five(average[:20]))
    many, batches = counted(lambda averages, position, candidate: np.array([one(a, None, None) for a in averages]))
    found = []
    for box in (ls.blackbox(one), ls.blackbox(many, vectorized=True)):
        estimator = hosted(ls.estimators.smooth(ls.blackbox(lambda rng, a, b: 0.0), box, 100))
        found.append(estimator.delta(samples, HERE, THERE))
        assert len(calls) == 4 * 40 + 5
        calls.clear()
    assert len(batches) == 2
    np.testing.assert_array_equal(found[0], found[1])
    # Without its cumulants, one value is enough; and fewer samples than components span fewer directions.
    naive = hosted(ls.estimators.smooth(ls.blackbox(lambda rng, a, b: 0.0), ls.blackbox(one), 100))
    naive.delta.value(samples, HERE, THERE)
    assert len(calls) == 1


def test_differences_are_those_of_the_law_whatever_the_units():
    rng = np.random.default_rng(1)
    samples = rng.exponential(size=(30, 3)) @ np.array([[1.0, 0.5, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])  # rank 2

    def g(xp, units):
        return lambda average, position, candidate: xp.log(average[0] / units[0]) * xp.sin(average[1] / units[1])

    for units in (np.ones(3), np.array([1e-6, 1e5, 1.0])):
        delta = hosted(ls.estimators.smooth(ls.blackbox(lambda rng, a, b: 0.0), ls.blackbox(g(np, units)), 30)).delta
        with double_precision():
            compiled = ls.estimators.smooth(None, g(jnp, units), 30, draw=draw).delta
            expected = jax.jit(lambda each, compiled=compiled: compiled(each, HERE, THERE)[:4])(samples * units)
            found = delta(samples * units, HERE, THERE)
            np.testing.assert_allclose(found[:4], np.array(expected), rtol=1e-6)


def test_differences_of_numbers_are_derivatives():
    samples = np.random.default_rng(2).exponential(size=30)
    found, along, straight = by_differences(np.log, samples, 30, "combine")
    with double_precision():
        expected, slope, of_line = by_derivatives(jnp.log, jnp.asarray(samples), 30)
        np.testing.assert_allclose(
            [*found[:4], straight, along(np.array(0.3))], np.array([*expected[:4], of_line, slope(0.3)]), rtol=1e-6
        )


@pytest.mark.parametrize(
    "spoil", [lambda x: np.round(x, 3), lambda x: np.float32(1e4) + np.float32(x), lambda x: abs(x - 1.0004)]
)
def test_a_function_that_is_not_smooth_is_told(spoil):
    samples = 1.0 + np.random.default_rng(2).normal(size=40) / 4
    samples += 1.0004 - samples.mean()  # the kink is at the average

    def delta(combine):
        return hosted(ls.estimators.smooth(ls.blackbox(lambda rng, a, b: 0.0), ls.blackbox(combine), 40)).delta

    with pytest.warns(LockstepWarning, match=r"combine of smooth.*steps are halved.*jax\.numpy"):
        delta(lambda average, position, candidate: spoil(average))(samples, HERE, THERE)
    delta(lambda average, position, candidate: np.log(average))(samples, HERE, THERE)


def test_a_function_that_is_not_smooth_is_told_from_compiled_code():
    samples = 1.0 + np.random.default_rng(2).normal(size=40) / 4
    samples += 1.0004 - samples.mean()  # the kink is at the first of two averages

    def values(combine):
        estimator = ls.estimators.smooth(ls.blackbox(lambda rng, a, b: 0.0), ls.blackbox(combine), 40)
        with double_precision():
            both = jax.jit(jax.vmap(lambda each: called_back(estimator).delta(each, HERE, THERE).value))
            return np.asarray(both(jnp.asarray([samples, 1.1 * samples])))

    with pytest.warns(LockstepWarning, match=r"combine of smooth.*steps are halved.*jax\.numpy"):
        found = values(lambda average, position, candidate: abs(average - 1.0004))
    np.testing.assert_allclose(found, [0.0, 0.10004], atol=1e-14)
    found = values(lambda average, position, candidate: np.log(average))
    np.testing.assert_allclose(found, np.log([samples.mean(), (1.1 * samples).mean()]), rtol=1e-14)


def test_a_nan_is_no_variance_of_zero():
    samples = np.full((5, 2), np.nan)
    box = ls.blackbox(lambda average, position, candidate: average.sum())
    estimate = hosted(ls.estimators.smooth(ls.blackbox(lambda rng, a, b: 0.0), box, 5)).delta(samples, HERE, THERE)
    assert np.isnan(estimate.variance) and np.isnan(estimate.bias)
    constant = hosted(ls.estimators.smooth(ls.blackbox(lambda rng, a, b: 0.0), box, 5)).delta(
        np.ones((5, 2)), HERE, THERE
    )
    assert constant[:3] == (2.0, 0.0, 0.0)
