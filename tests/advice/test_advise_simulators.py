"""How many simulations? An answer in plain words and in minutes, for synthetic likelihoods and ABC."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen
from scipy import stats

import lockstep as ls

PARAMETERS = ls.Parameters(mean=stats.norm(0, 2), scale=stats.gamma(4, scale=0.3))
SEEN = np.array([0.9, 1.3, 0.4])
WALK = ls.RandomWalk(0.6)
START = {"mean": 0.8, "scale": 1.0}


def simulate(noise, mean, scale):
    return mean + scale * noise


def on_numpy(mean, scale, rng):
    return rng.normal(mean, scale, size=3)


def draw(key, count):
    return jr.normal(key, (count, 3))


SYNTHETIC = {
    "compiled": lambda: ls.synthetic_likelihood(simulate, None, SEEN, 24, draw=draw),
    "black box": lambda: ls.synthetic_likelihood(ls.blackbox(on_numpy), None, SEEN, 24),
}


@pytest.mark.parametrize("kind", chosen(SYNTHETIC, {"compiled"}))
def test_synthetic_likelihoods_are_advised(kind):
    """No fewer simulations than a covariance needs are looked at, however many separations are tolerable."""
    estimator = PARAMETERS.posterior(SYNTHETIC[kind]())
    assert estimator.fewest == 5
    advice = ls.advise(estimator, WALK, START, updates=1000, separations=200, calls=4000, progress=False)
    assert advice.count >= 5 and all(look.count >= 5 for look in advice.looks)
    assert not any(np.isnan(option.count) for option in advice.options)
    (told,) = (finding for finding in advice.findings if finding.startswith("in plain words"))
    assert f"{advice.rule} with {advice.count:,} simulations at each position" in told
    assert "1,000 effective draws then take about" in told and "on this machine" in told
    run = advice.sample(draws=20)
    assert run.positions["scale"].min() > 0


def distance(data):
    return jnp.abs(data[0] - 0.9)


NEAR = {
    "compiled": lambda: ls.abc(simulate, distance, 0.3, 8, draw=draw),
    "black box": lambda: ls.abc(ls.blackbox(on_numpy), lambda data: abs(data[0] - 0.9), 0.3, 8),
}


@pytest.mark.parametrize("kind", chosen(NEAR, {"black box"}))
def test_abc_is_advised(kind):
    advice = ls.advise(PARAMETERS.posterior(NEAR[kind]()), WALK, START, calls=6000, progress=False)
    (told,) = (finding for finding in advice.findings if finding.startswith("in plain words"))
    simulations = "1 simulation" if advice.count == 1 else f"{advice.count:,} simulations"
    assert f"{simulations} an estimate; 1,000 effective draws then take about" in told
    # E K²/(E K)² - 1 of one simulation where the posterior is, by its formula for normal data.
    run = advice.pilot
    mean, scale = run.positions["mean"].ravel(), run.positions["scale"].ravel()

    def average(epsilon):
        spread = epsilon**2 + scale**2
        return epsilon / np.sqrt(spread) * np.exp(-0.5 * (mean - 0.9) ** 2 / spread)

    exact = np.mean(average(0.3 / np.sqrt(2)) / average(0.3) ** 2 - 1)
    assert advice.variance == pytest.approx(exact, rel=0.5)
    assert advice.count == int(np.ceil(advice.variance / np.expm1(1.7)))
    assert advice.kernel.exact_when and advice.sample(draws=20).positions["scale"].min() > 0


def test_a_budget_that_is_too_small_is_told():
    with pytest.warns(ls.LockstepWarning, match="too little for an advice"):
        advice = ls.advise(PARAMETERS.posterior(NEAR["black box"]()), WALK, START, calls=50, progress=False)
    assert advice.count is None
    with pytest.raises(ValueError, match="no number of samples can be advised"):
        advice.sample()
