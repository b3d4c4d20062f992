"""How many particles: noise that is measured, and what is said of chains that stick."""

import jax.random as jr
import numpy as np
import pytest
from linear_normal import THETA, log_prior, model
from scipy import stats
from test_bad_filters import WALK, Numpy

import lockstep as ls
from lockstep.advice.particles import ParticleOption, _options
from lockstep.state_space.noisiness import deviation, estimates, needed

DATA = model().simulate(jr.key(1), THETA, times=40).data


@pytest.mark.parametrize("paths", [False, pytest.param(True, marks=pytest.mark.study)])
def test_an_advice_measures_noise_and_is_a_kernel(paths):
    kernel = ls.particle_marginal(log_prior, model(), DATA, WALK, particles=10, paths=paths)
    advice = ls.advise(kernel, THETA)
    places = {name: np.array([value]) for name, value in THETA.items()}
    few = deviation(estimates(kernel.ratio.evaluate, places, 200))
    assert 0.5 < advice.deviation * np.sqrt(advice.particles / 10) / few < 2
    assert f"{advice.particles:,} particles" in repr(advice)
    assert "where the posterior is" in advice.findings[0]


@pytest.mark.study
def test_more_particles_make_less_noise():
    evaluate = ls.particle_marginal(log_prior, model(), DATA, WALK, particles=10).ratio.evaluate
    places = {name: np.array([value]) for name, value in THETA.items()}
    few, many = (deviation(estimates(e, places, 200)) for e in (evaluate, evaluate.with_particles(40, False)))
    assert few > 1.4 * many  # half, if there were no error


def test_the_best_number_is_between_the_known_bounds():
    """If particles cost all the time, and noise is independent, σ = 1.68 is best (Doucet et al. 2015)."""
    options = _options(np.sqrt(2 * 1000.0), 0.0, 0.0, 1e-6)
    best = max(options, key=lambda one: one.speed)
    assert isinstance(best, ParticleOption)
    assert 1.5 < best.deviation / np.sqrt(2) < 1.85
    # An overhead that particles do not change asks for more of them.
    assert max(_options(np.sqrt(2 * 1000.0), 0.0, 1.0, 1e-6), key=lambda one: one.speed).particles > best.particles


def test_options_of_particles():
    for one in _options(30.0, 0.0, 0.5, 1e-3, 7.0)[::17]:
        assert one.deviation == pytest.approx(30.0 / np.sqrt(one.particles))
        assert one.acceptance == pytest.approx(2 * stats.norm.cdf(-one.deviation / 2))
        assert one.seconds == pytest.approx(0.5 + 1e-3 * one.particles)
        assert one.speed == pytest.approx(1 / (one.seconds * (10 / one.acceptance + 7.0)))


def test_noise_of_estimates():
    values = np.array([[1.0], [3.0], [2.0]]) * np.array([-1.0, 0.5, 2.0, 0.0, 1.0])
    assert deviation(values) == pytest.approx(values[2].std(ddof=1))
    values[:2, 0] = -np.inf
    assert deviation(values) == np.inf


def test_needed_particles_fall_with_the_variance():
    assert needed(100, 2.4) == 400
    assert needed(100, 12.0) == 10_000


def test_a_chain_that_sticks_is_told_how_many_particles_cure_it():
    kernel = ls.particle_marginal(log_prior, model(), np.resize(DATA, 120), WALK, particles=3)
    with pytest.warns(ls.LockstepWarning, match="particles would cure it"):
        run = ls.sample(kernel, THETA, draws=400, chains=2, seed=1)
    said = "\n".join(run.summary().findings)
    assert "log likelihood estimates are too noisy: their standard deviation is" in said
    assert "particles would cure it" in said
    quiet = ls.particle_marginal(log_prior, model(), DATA[:5], WALK, particles=100)
    said = quiet.cure({name: np.array([value]) for name, value in THETA.items()})
    assert said.startswith("not for want of particles: the standard deviation of its log likelihood estimates is 0.")


def test_black_boxes_are_judged_too():
    kernel = ls.particle_marginal(log_prior, Numpy().model, DATA[:10], WALK, particles=5)
    places = {name: np.array([value] * 2) for name, value in THETA.items()}
    assert 0.1 < deviation(estimates(kernel.ratio.evaluate, places, 30)) < 5


def test_gibbs_is_refused_with_a_reason():
    kernel = ls.particle_gibbs(log_prior, model(), DATA, WALK, particles=5)
    with pytest.raises(TypeError, match="estimates no likelihood"):
        ls.advise(kernel, THETA)
    with pytest.raises(TypeError, match="initial is missing"):
        ls.advise(ls.estimators.mean(lambda n, a, b: 0.0, 2), ls.RandomWalk(1.0))
