"""Simulated and forecast states and data: each with its time, its state and noise of its own."""

import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.state_space.forecast import Forecaster


def initial(z, theta):
    return theta + z


def transition(z, x, theta, t):
    return theta * x + 10.0 * t + z


def observe(key, x, theta, t):
    return 1000.0 * x + t + jr.uniform(key)


def log_observation(theta, x, y, t):
    return -(y**2)


MODEL = ls.models.StateSpace(
    initial, transition, log_observation, draw=lambda key, count: jr.uniform(key, (count,)), observe=observe
)
THETA = 0.5


def assert_own_noise(noise):
    """Whether all numbers are uniform ones, and no two the same."""
    assert np.all((noise >= 0) & (noise < 1)) and len(np.unique(np.round(noise, 6))) == np.size(noise)


def test_simulated_states_and_data():
    times = np.array([0, 2, 5])
    found = MODEL.simulate(jr.key(1), THETA, times=times)
    assert found.states.shape == (6,) and found.data.shape == (3,)
    steps = found.states[1:] - THETA * found.states[:-1] - 10.0 * np.arange(1, 6)
    assert_own_noise(np.concatenate([[found.states[0] - THETA], steps]))
    assert_own_noise(found.data - 1000.0 * found.states[times] - times)


NUMPY = ls.models.StateSpace(
    ls.blackbox(lambda rng, theta, size: theta + rng.random(size)),
    ls.blackbox(lambda rng, x, theta, t: theta * x + 10.0 * t + rng.random(len(x))),
    ls.blackbox(log_observation),
    observe=ls.blackbox(lambda rng, x, theta, t: 1000.0 * x + t + rng.random(len(x))),
)


@pytest.mark.parametrize("model", [MODEL, NUMPY], ids=["compiled", "NumPy"])
def test_forecasts_go_on_from_the_last_state(model):
    paths = np.arange(16.0).reshape(1, 2, 8)
    found = Forecaster(model, 7)(np.array([[0.5, 0.25]]), paths, 3)
    assert found.states.shape == found.data.shape == (1, 2, 3)
    before = np.concatenate([paths[:, :, -1:], found.states[:, :, :-1]], axis=2)
    times = np.arange(8, 11)
    assert_own_noise(found.states - np.array([0.5, 0.25])[:, None] * before - 10.0 * times)
    assert_own_noise(found.data - 1000.0 * found.states - times)
