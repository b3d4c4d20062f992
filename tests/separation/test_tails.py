"""Heavy tails of samples are told from those that are only long."""

from __future__ import annotations

import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.separation.tails import HEAVY, pareto_shape, tail_of_squares

SEEDS = range(20)
LIGHT = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "weights": lambda rng, shape: np.exp(0.8 * rng.standard_normal(shape)),
    "student 3": lambda rng, shape: rng.standard_t(3, shape),
    "coin": lambda rng, shape: 1.0 * (rng.uniform(size=shape) < 0.5),
    "rare coin": lambda rng, shape: 1.0 * (rng.uniform(size=shape) < 0.05),
    "counts": lambda rng, shape: 1.0 * rng.poisson(1.0, shape),
}
WITHOUT_VARIANCE = {
    "student 2": lambda rng, shape: rng.standard_t(2, shape),
    "Cauchy": lambda rng, shape: rng.standard_cauchy(shape),
}


def alarms(draw, pairs, samples):
    """How many of the seeds look as if there were no variance; scales differ from pair to pair by factors."""
    found = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        scales = np.exp(rng.normal(size=(pairs, 1)))
        found += tail_of_squares(scales * draw(rng, (pairs, samples))) > HEAVY
    return found


@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize("pairs, samples", [(24, 128), (24, 256), (120, 1024)])
def test_long_tails_that_have_a_variance_are_let_pass(name, pairs, samples):
    """What 2 chains of 1,000 draws give with m = 16 and 32, and 2 of 20,000."""
    assert alarms(LIGHT[name], pairs, samples) <= 1


@pytest.mark.parametrize("name", WITHOUT_VARIANCE)
@pytest.mark.parametrize("pairs, samples", [(24, 128), (24, 256), (120, 1024)])
def test_no_variance_is_found(name, pairs, samples):
    assert alarms(WITHOUT_VARIANCE[name], pairs, samples) >= len(SEEDS) - 2


@pytest.mark.parametrize("shape", [-0.3, 0.2, 0.8, 1.5])
def test_the_shape_of_a_pareto_law(shape):
    uniform = np.random.default_rng(0).uniform(size=20_000)
    exceedances = np.sort(((1 - uniform) ** -shape - 1) / shape)
    assert pareto_shape(exceedances) == pytest.approx(shape, abs=0.04)


def test_too_little_tells_nothing():
    rng = np.random.default_rng(0)
    assert tail_of_squares(rng.standard_cauchy((2, 16))) == -np.inf
    assert tail_of_squares(np.zeros((0, 16))) == -np.inf
    assert tail_of_squares(np.full((200, 16), np.nan)) == -np.inf


@pytest.mark.parametrize("degrees", [2.0, pytest.param(1.0, marks=pytest.mark.study)])
def test_short_runs_with_heavy_tails_are_not_predicted(degrees):
    """Two chains of 1,000 draws: the averages of 16 look tame, their samples do not."""

    def draw(key, count):
        return jr.t(key, degrees, (count,))

    noisy = ls.estimators.mean(lambda noise, here, there: -0.5 * (there**2 - here**2) + noise, 16, draw)
    run = ls.sample(ls.naive(noisy, ls.RandomWalk(2.0)), 0.0, draws=1000, chains=2, seed=3)
    with pytest.warns(ls.LockstepWarning, match="heavy tails"):
        predicted = ls.separation.predict(run)
    assert np.isnan(predicted.rho) and not predicted.is_trusted
    assert "exact kernel" in predicted.sentence()  # a remedy
