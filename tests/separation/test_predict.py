"""Separation predicted by replicates, against exact couplings of noise whose law is known."""

from __future__ import annotations

import dataclasses
import functools
import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import noise_laws
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.estimators.samples import Moments, influences, moments, pooled, pooled_moments, taken
from lockstep.separation import resolution, scores
from lockstep.separation.predict import _budget, _size
from lockstep.separation.replicates import draw_replicates
from lockstep.studies.nicholls2012 import model

PAIRS, CALLS = 200_000, 8000
LARGER = ((32, 296, 4506), (128, 1188, 34_900))


def normal_log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def draw_normal(key):
    return jr.normal(key, (1,), float)


TARGETS = {"mixture": (model.log_density, model.draw_target), "normal": (normal_log_density, draw_normal)}
PROPOSALS = {
    "mixture": (ls.RandomWalk(4.0), ls.IndependentNormal(4.5, 2.5), ls.UniformWalk(3.0)),
    "normal": (ls.RandomWalk(2.0), ls.IndependentNormal(0.3, 1.5), ls.UniformWalk(4.0)),
}


def check(target, proposal, family, m, sigma, tolerance):
    log_density, draw = TARGETS[target]
    difference = lambda here, there: log_density(there) - log_density(here)  # noqa: E731
    noisy = noise_laws.estimator(family, m, difference, sigma)
    run = ls.sample(ls.corrected(noisy, proposal), draw, draws=5000, chains=4, seed=1)
    predicted = ls.separation.predict(run, calls=CALLS)
    assert predicted.calls <= CALLS
    with jax.enable_x64(True):
        positions = np.asarray(jax.jit(jax.vmap(draw))(jr.split(jr.key(9), PAIRS)))
    exact = noise_laws.exact_rho(family, m, log_density, proposal, positions, sigma)
    for rule, rho in exact.items():
        found = predicted[rule]
        # A rule that is nearer to the exact one than can be told from so few estimates has a bound, which holds.
        is_right = (
            rho * (1 + tolerance) >= found.at_least
            if found.at_least
            else found.rho == pytest.approx(rho, rel=tolerance)
        )
        assert is_right, (rule, rho, found)


@pytest.mark.study  # of which the suite has the paper's example, and some of the zoo
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize(
    "family, m, sigma, tolerance",
    [
        *((family, m, 1.0, 0.25 if m == 8 else 0.10) for family in noise_laws.FAMILIES for m in (8, 24, 96)),
        *(("lognormal", m, 0.8, 0.25) for m in (32, 128)),
    ],
)
@pytest.mark.filterwarnings(r"ignore:chain \d+ stood in one state")  # of eight samples, where they are too few
@pytest.mark.filterwarnings("ignore:separation is not predicted. .* decides as an exact chain does")
def test_predicted_return_times_everywhere(target, index, family, m, sigma, tolerance):
    check(target, PROPOSALS[target][index], family, m, sigma, tolerance)


@pytest.mark.parametrize(
    "m, naive, least", [(8, 72, 605), *(pytest.param(*row, marks=pytest.mark.study) for row in LARGER)]
)
def test_kernel_discrepancy_of_the_papers_example(m, naive, least):
    """The table of section 3 of the mathematics, random walk with standard deviation 4."""
    noisy = noise_laws.estimator("inverse", m, model.difference)
    run = ls.sample(ls.naive(noisy, model.RANDOM_WALK), model.draw_target, draws=10_000, chains=4, seed=2)
    predicted = ls.separation.predict(run, calls=8 * CALLS)
    assert predicted.rho == pytest.approx(naive, rel=0.1)
    assert predicted.least_rho == pytest.approx(naive, rel=0.1)
    assert predicted["corrected"].least_rho == pytest.approx(least, rel=0.25)
    assert predicted["corrected"].rho < predicted["corrected"].least_rho / 3
    assert predicted.expected_separations == pytest.approx(40_000 / predicted.rho)


def difference_of_squares(position, candidate):
    return -0.5 * (candidate**2 - position**2)


def normals(key, count):
    return jr.normal(key, (count,))


def always_one(here, there):
    return 1.0


def log_normal(theta):
    return -0.5 * theta**2


@functools.cache  # of one estimator all tests share the programs
def noisy_mean(draw, m=16, scale=always_one):
    sample = lambda noise, here, there: difference_of_squares(here, there) + scale(here, there) * noise  # noqa: E731
    return ls.estimators.mean(sample, m, draw)


def naive_run(noisy, draws=2000):
    return ls.sample(ls.naive(noisy, ls.RandomWalk(2.0)), 0.0, draws=draws, chains=4, seed=1)


def student_2(key, count):
    """Student's t with two degrees of freedom."""
    return jr.normal(key, (count,)) / jnp.sqrt(jr.exponential(jr.fold_in(key, 1), (count,)))


def coin(key, count):
    return 2.0 * jr.bernoulli(key, 0.5, (count,)) - 1


def slow_chain(noise, here, there):
    """Consecutive samples of an autoregression that forgets after 40 of them."""
    innovations = np.sqrt(1 - 0.95**2) * noise
    step = lambda before, new: (0.95 * before + new,) * 2  # noqa: E731
    return (
        difference_of_squares(here, there) + jax.lax.scan(step, innovations[0] / np.sqrt(1 - 0.95**2), innovations)[1]
    )


UNTRUSTED = {
    "heavy tails": noisy_mean(student_2, 32),
    "Cauchy": noisy_mean(lambda key, count: jr.cauchy(key, (count,)), 32),
    "few values": noisy_mean(coin, 16),
    "times what its samples say": ls.estimators.batch_means(slow_chain, 128, batches=16, draw=normals),
    "only 2 samples": noisy_mean(normals, 2),
    "differs by direction": noisy_mean(normals, 32, lambda here, there: jnp.sqrt(1 + 0.8 * jnp.tanh(there))),
}


# The others are of the zoo as well.
@pytest.mark.parametrize("name", chosen(UNTRUSTED, {"times what its samples say", "only 2 samples"}))
def test_what_cannot_be_predicted_is_said(name):
    run = naive_run(UNTRUSTED[name], draws=4000)
    words = "heavy tails" if name == "Cauchy" else name
    with pytest.warns(ls.LockstepWarning, match=words):
        predicted = ls.separation.predict(run, calls=CALLS)
    assert np.isnan(predicted.rho) and np.isnan(predicted.discrepancy)
    assert words in predicted.sentence() and words in repr(predicted)
    # Both sides together have the same variance either way: that rule can be judged.
    assert np.isfinite(predicted["two_sided"].rho) == (name == "differs by direction")


@pytest.mark.study
def test_prediction_for_other_kernels():
    noisy = noisy_mean(normals, 16)
    run = naive_run(noisy, draws=10_000)
    alone = ls.separation.predict(run)
    # The same kernel given by hand: the run's own log ratios are then not known to be its own.
    other = ls.separation.predict(run, ls.naive(noisy, ls.RandomWalk(2.0)), pairs=512, replicates=16)
    assert other.rho == pytest.approx(alone.rho, rel=0.2)
    twice = ls.Cycle([ls.naive(noisy, ls.RandomWalk(2.0))] * 2)
    cycle = ls.separation.predict(ls.sample(twice, 0.0, draws=10_000, chains=4, seed=3))
    assert cycle.rho == pytest.approx(alone.rho / 2, rel=0.1)
    with pytest.raises(TypeError, match="nothing to predict"):
        ls.separation.predict(ls.sample(ls.standard(log_normal, ls.RandomWalk(2.0)), 0.0, draws=200))
    with pytest.raises(ValueError, match="too short"):
        ls.separation.predict(naive_run(noisy, draws=100))


def test_a_known_variance_that_is_wrong_is_seen():
    """The prediction looks at the samples, not at the promise."""
    noisy = noisy_mean(normals, 16)
    right, wrong = (ls.penalty(ls.estimators.known_variance(noisy, v), ls.RandomWalk(2.0)) for v in (1 / 16, 1 / 8))
    run = ls.sample(right, 0.0, draws=2000, chains=4, seed=1)
    with pytest.warns(ls.LockstepWarning, match="as far as"):
        surely = ls.separation.predict(run, calls=4000).used.at_least
    assert surely > 10 * ls.separation.predict(run, wrong, calls=4000).rho


@pytest.mark.parametrize("m", [8, *(pytest.param(m, marks=pytest.mark.study) for m in (1, 2, 64))])
def test_an_exact_rule_is_not_given_a_number(m):
    """What is measured is the error of the measurement: the truth is infinite."""
    known = ls.estimators.known_variance(noisy_mean(normals, m), 1 / m)
    run = ls.sample(ls.penalty(known, ls.RandomWalk(2.0)), 0.0, draws=1000, chains=4, seed=1)
    for seed in range(4):
        with pytest.warns(ls.LockstepWarning, match=r"as far as 8,960 estimates can tell: ρ is above"):
            predicted = ls.separation.predict(run, seed=seed, calls=12_000)
        assert np.isnan(predicted.rho) and np.isnan(predicted.discrepancy) and not predicted.is_trusted
        assert predicted.used.at_least == pytest.approx(1 / predicted.discrepancy_interval[1])
        assert "penalty (used)" in repr(predicted) and "above" in repr(predicted)
        # The plug-in rule is far from exact, and that is seen as before.
        assert predicted["naive"].rho < predicted.used.at_least


def test_made_up_noise_is_normal_and_as_large_as_the_noise_that_was_seen():
    noisy = noisy_mean(normals, 8)
    forward, _ = draw_replicates(noisy, ls.RandomWalk(2.0), np.linspace(-2.0, 2.0, 64), 64, 1)
    made_up = resolution._normal(np.random.default_rng(1), forward, noisy)
    noise = np.asarray(made_up.each.value) - forward.halves.difference.mean(axis=0)[:, None]
    assert noise.std() == pytest.approx(8**-0.5, rel=0.05) and abs(noise.mean()) < 0.02
    assert np.mean(noise**4) / np.mean(noise**2) ** 2 == pytest.approx(3, abs=0.3)
    np.testing.assert_allclose(made_up.each.bias, 1 / 8, rtol=0.1)  # the known variance
    for of in (made_up, forward):  # what the samples of a half tell: right, and as uncertain
        assert of.halves.variance.mean() == pytest.approx(1 / 8, rel=0.02)
        assert of.halves.variance.std() == pytest.approx(np.sqrt(2 / 255) / 8, rel=0.25)
        assert of.halves.third.std() == pytest.approx(np.sqrt(6 / 256) / 8**2, rel=0.25)
        assert of.linear.std() == pytest.approx(8**-0.5, rel=0.05)


@pytest.mark.study
def test_more_replicates_see_smaller_differences():
    known = ls.estimators.known_variance(noisy_mean(normals, 8), 1 / 8)
    run = ls.sample(ls.penalty(known, ls.RandomWalk(2.0)), 0.0, draws=1000, chains=4, seed=1)
    with pytest.warns(ls.LockstepWarning, match="as far as"):
        few, many = (ls.separation.predict(run, calls=calls).used.at_least for calls in (2_000, 32_000))
    assert many > 2 * few


def test_a_mixture_separates_as_often_as_it_uses_the_approximate_kernel():
    walk = ls.RandomWalk(2.0)
    noisy = noisy_mean(normals, 16)
    naive, standard = ls.naive(noisy, walk), ls.standard(log_normal, walk)
    run = ls.sample(ls.Mixture([naive, standard], [0.2, 0.8]), 0.0, draws=40_000, chains=4, seed=1)
    mixed, alone = (ls.separation.predict(run, kernel, pairs=400, replicates=32) for kernel in (run.kernel, naive))
    assert mixed.rho == pytest.approx(5 * alone.rho, rel=1e-9)
    assert mixed.expected_separations == pytest.approx(160_000 / mixed.rho)
    assert ls.separation.predict(run).calls <= 0.2 * 160_000  # no more than the run has made


def test_a_compiled_estimator_may_be_called_more_often_where_a_tenth_does_not_tell():
    """As often as the run has called it, in about a minute at the most; what is given as a budget stays one."""
    compiled = ls.naive(noisy_mean(normals, 8), ls.RandomWalk(2.0))
    black = ls.naive(ls.estimators.mean(ls.blackbox(lambda rng, here, there: 0.0), 8), ls.RandomWalk(2.0))
    run = ls.sample(compiled, 0.0, draws=200, chains=4, seed=1)

    def budget(kernel, took, calls=None, seconds=None):
        return _budget(dataclasses.replace(run, seconds=took), kernel, [1.0], calls, seconds)

    assert budget(compiled, 1.0) == (80, 800) and budget(black, 1.0) == (80, 80)
    assert budget(compiled, 240.0) == (80, 200) and budget(compiled, 1e6) == (80, 80)
    assert budget(compiled, 0.0) == (80, 800)
    assert budget(compiled, 1.0, calls=33) == (33, 33)
    assert budget(compiled, 1.0, seconds=0.5) == (400, 400)
    size = _size(run, None, 8, 80, 800)
    assert size.pairs == 10 - -(-size.singles // 16) and size.most_pairs > 9 * size.pairs
    many = ls.sample(compiled, 0.0, draws=20_000, chains=4, seed=1)
    assert _size(many, None, 8, 800, 80_000).most_pairs == 8192
    assert _size(many, None, 8, 160_000, 160_000).most_pairs > 8192  # a budget that is given is used


def test_noise_that_grows_with_the_step_is_told_by_single_estimates():
    noisy = noisy_mean(normals, 8, lambda here, there: there - here)
    run = ls.sample(ls.naive(noisy, ls.RandomWalk(2.0)), 0.0, draws=10_000, chains=4, seed=1)
    predicted = ls.separation.predict(run, calls=8000)
    assert predicted.singles == 2000 and predicted.calls <= 8000 and "2,000 with one" in repr(predicted)
    rng = np.random.default_rng(0)
    here, step = np.tile(run.positions.ravel(), 8), 2 * rng.standard_normal(8 * run.positions.size)
    s = np.abs(step) / np.sqrt(8)
    log_ratio = difference_of_squares(here, here + step) + s * rng.standard_normal(step.size)
    plug_in, exact = (np.exp(np.minimum(log_ratio - penalty, 0)) for penalty in (0, s**2 / 2))
    truth = 1 / np.mean(np.abs(plug_in - exact))
    assert abs(1 / predicted.rho - 1 / truth) < 3 * predicted.rho_se / predicted.rho**2
    assert predicted.rho_se < predicted.rho / 15


def test_two_samples_with_a_known_variance_are_predicted():
    noisy = noisy_mean(normals, 2)
    kernel = ls.naive(ls.estimators.known_variance(noisy, 1 / 2), ls.RandomWalk(2.0))
    run = ls.sample(kernel, 0.0, draws=10_000, chains=4, seed=1)
    predicted = ls.separation.predict(run, calls=CALLS)
    rng = np.random.default_rng(0)
    here = np.tile(run.positions.ravel(), 4)
    log_ratio = difference_of_squares(here, here + 2 * rng.standard_normal(here.size))
    log_ratio += np.sqrt(0.5) * rng.standard_normal(here.size)
    plug_in, exact = (np.exp(np.minimum(log_ratio - penalty, 0)) for penalty in (0, 0.25))
    assert predicted.rho == pytest.approx(1 / np.mean(np.abs(plug_in - exact)), rel=0.1)
    assert "nan" not in predicted.sentence()


def test_no_noise_is_a_sentence():
    exactly = ls.estimators.mean(
        lambda noise, here, there: difference_of_squares(here, there) + 0 * noise,
        7,
        normals,
    )
    run = naive_run(exactly, draws=1000)
    summary = run.summary()
    sentence = "the estimate has no noise: the kernel is `standard`"
    assert sum(finding.endswith(sentence) for finding in summary.findings) == 1
    assert summary.prediction.rho == np.inf and summary.prediction.expected_separations == 0
    assert "nan" not in repr(summary.prediction)
    # A rule that corrects for noise that is not there is off, and by how much is known.
    penalized = ls.penalty(ls.estimators.known_variance(exactly, 0.5), ls.RandomWalk(2.0))
    wrong = ls.separation.predict(run, penalized, calls=60_000)
    here, step = np.random.default_rng(0).standard_normal((2, 200_000))
    log_ratio = difference_of_squares(here, here + 2 * step)
    gaps = np.exp(np.minimum(log_ratio, 0)) - np.exp(np.minimum(log_ratio - 0.25, 0))
    assert wrong.rho == pytest.approx(1 / gaps.mean(), rel=0.2)
    assert not wrong.sentence().startswith("the estimate has no noise")


def test_separation_from_the_standard_chain_is_what_shadowing_measures():
    """Also where there is no normal score: estimates of few values."""
    walk, coins = ls.RandomWalk(2.0), noisy_mean(coin, 16)
    kernel = ls.naive(coins, walk)
    shadowed = ls.Shadowed(ls.standard(log_normal, walk), kernel)
    measured = ls.separation.summary(ls.sample(shadowed, 0.0, draws=10_000, chains=4, seed=2))
    predicted = ls.separation.predict(naive_run(coins, draws=4000), calls=4000, against="standard")
    assert predicted.rho == pytest.approx(measured.rho_1, rel=0.1)
    assert repr(measured).startswith("Separation of naive from standard:")
    with pytest.raises(ValueError, match="against is 'exact'"):
        ls.separation.predict(naive_run(coins, draws=100), against="exact")


def test_the_noise_of_a_nearly_exact_kernel_does_not_put_it_elsewhere():
    """Against the chain without noise it separates often, and still its pairs are where an exact chain would be."""

    def sample(noise, position, candidate):
        return -0.5 * (candidate**2 - position**2) + 2 * jnp.exp(0.25 * (position + candidate)) * noise

    estimator = ls.estimators.mean(sample, count=8, draw=normals)
    found = {}
    for kernel in (ls.penalty, ls.naive):
        run = ls.sample(kernel(estimator, ls.RandomWalk(2.0)), jr.normal, draws=10_000, chains=4, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ls.LockstepWarning)
            found[kernel] = ls.separation.predict(run, against="standard")
    assert 5 < found[ls.penalty].rho < 8 and not found[ls.penalty].problems
    assert np.isnan(found[ls.naive].rho) and "need not be where an exact chain would be" in found[ls.naive].problems[0]


def test_samples_are_taken_once_and_give_the_same_estimates():
    """What replaces the noise of an estimator by its samples changes nothing but who is called."""
    difference = lambda here, there: there - here  # noqa: E731
    with jax.enable_x64(True):
        inner = [noise_laws.estimator(family, 8, difference) for family in ("normal", "inverse", "lognormal")]
        made = [*inner, ls.estimators.two_sided(inner[2]), ls.estimators.difference(inner[0], inner[1])]
        for noisy in [*made, ls.estimators.known_variance(inner[0], 0.1)]:

            @jax.jit
            def both(key, noisy=noisy):
                expected = jax.vmap(noisy, in_axes=(0, None, None))(noisy.noise(key, 0.0, (6,)), 0.0, 1.0)
                known, samples = taken(noisy, key, 0.0, 1.0, 6)
                found = jax.vmap(known, in_axes=(0, None, None))(samples, 0.0, 1.0)
                at_once = pooled(known, samples, 0.0, 1.0).linear
                return expected, found, influences(known, samples, 0.0, 1.0), at_once

            expected, found, single, at_once = both(jr.key(1))
            np.testing.assert_allclose(found.value, expected.value, rtol=1e-10)
            np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-9)
            assert len(single) in (48, 96) and abs(np.sum(single)) < 1e-9
        averages = np.asarray(single).reshape(6, 8).mean(axis=1)  # of the last one
        np.testing.assert_allclose(averages, at_once, atol=1e-12)


def test_summary_tells_the_predicted_separations():
    run = naive_run(noisy_mean(normals, 16), draws=4000)
    summary = run.summary()
    assert "predicted to separate" in repr(summary)
    assert summary.prediction.rho == ls.separation.predict(run).rho
    exact = ls.sample(ls.standard(log_normal, ls.RandomWalk(2.0)), 0.0, draws=200)
    assert "exact kernel" in repr(exact.summary()) and exact.summary().prediction is None


def test_pooled_estimates_are_estimates_from_all_samples():
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(6, 8))
    of = jax.vmap(moments)(jnp.asarray(samples))
    together = pooled_moments(Moments(*map(np.asarray, of)), 8)
    np.testing.assert_allclose(together, moments(samples.ravel()), rtol=1e-5)
    with jax.enable_x64(True):
        difference = lambda here, there: there - here  # noqa: E731
        for family in ("normal", "inverse", "lognormal"):
            noisy = noise_laws.estimator(family, 8, difference)
            noise = noisy.noise(jr.key(1), 0.0, (6,))
            found = pooled(noisy, noise, 0.0, 1.0)
            assert found.linear.shape == (6,) and abs(float(found.linear.sum())) < 1e-12
            if family != "inverse":
                flat = jax.tree.map(lambda leaf: leaf.reshape(-1), noise)
                expected = noisy.with_count(48)(flat, 0.0, 1.0)
                np.testing.assert_allclose(found.estimate[:4], expected[:4], rtol=1e-10)


def test_the_kurtosis_of_averages_is_told_by_their_variances():
    samples = np.random.default_rng(0).uniform(size=(400, 64, 24))
    found = scores.kurtosis_of(samples.var(axis=-1, ddof=1), 24)
    assert found == pytest.approx(-1.2 / 24, abs=0.004)
    assert np.isnan(scores.kurtosis_of(np.ones((3, 4)), 24))  # a variance that is known tells nothing
