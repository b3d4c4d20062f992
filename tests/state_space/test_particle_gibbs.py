"""Particle Gibbs on a finite model: by enumeration of all noise it leaves the posterior of paths as it is."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from test_unbiased_filters import DATA, FIRST, LOG_DENSITY, NEXT, POINTS, draw, initial, log_observation

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.state_space.conditional import ConditionalFilter
from lockstep.state_space.particle_gibbs import Conditional
from lockstep.state_space.series import series

STATES, TOLERANCE = 3, 1e-12
OTHER = np.array([[1, 1, 2, 0], [0, 1, 2, 2], [2, 0, 1, 0]])  # the next states under the other parameter
TABLES = np.stack([NEXT, OTHER])
STEP = np.mean(TABLES[..., None] == np.arange(STATES), axis=2)  # (theta, state, next state)
START = np.mean(FIRST[:, None] == np.arange(STATES), axis=0)


def transition(noise, state, theta, t):
    return jnp.asarray(TABLES)[theta, state, noise]


def log_initial(theta, state):
    return jnp.log(jnp.asarray(START))[state]


def log_transition(theta, state, previous, t):
    return jnp.log(jnp.asarray(STEP))[theta, previous, state]


MODEL = ls.models.StateSpace(
    initial, transition, log_observation, draw=draw, log_initial=log_initial, log_transition=log_transition
)
PATHS = np.array(list(itertools.product(range(STATES), repeat=3)))


def log_prior(theta):
    return jnp.log(jnp.array([0.3, 0.7]))[theta]


def posterior(theta: int, data=DATA) -> np.ndarray:
    """The density of each path and the data."""
    density = START[PATHS[:, 0]] * STEP[theta, PATHS[:, 0], PATHS[:, 1]] * STEP[theta, PATHS[:, 1], PATHS[:, 2]]
    return density * np.exp(LOG_DENSITY[PATHS, data].sum(axis=1))


def cells(weights: np.ndarray) -> list[tuple[float, float]]:
    """A uniform number near the end of each particle's share, where other shares would begin, and its probability."""
    cuts = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    return [(a + 0.97 * (b - a), b - a) for a, b in itertools.pairwise(cuts) if b > a]


def matrix(made: ConditionalFilter, theta: int) -> np.ndarray:
    """The probability of each path after each path, from the steps of the filter with all of its noise (N = 2)."""
    with double_precision():

        @jax.jit
        @jax.vmap
        def begin(path, noise):
            return made.begin(noise, theta, path)

        @jax.jit
        @jax.vmap
        def advance(cloud, uniforms, noise, index, path, history):
            moved, history = made.advance(cloud, uniforms, noise, theta, index, path, history)
            return moved, history

        @jax.jit
        @jax.vmap
        def steps(path, index, states):
            return made.log_step(theta, path[index], states, index)

        @jax.jit
        @jax.vmap
        def end(cloud, history, lineage, position, path):
            return made.end(cloud, history, lineage, position, path)

        start = np.array([b for b in range(len(PATHS)) if posterior(theta)[b] > 0 for _ in range(POINTS)])
        noise = np.zeros((len(start), 3, 1), int)
        noise[:, 0, 0] = np.tile(np.arange(POINTS), len(start) // POINTS)
        clouds, history = jax.tree.map(np.asarray, begin(PATHS[start], noise))
        chances = np.full(len(start), 1 / POINTS)
        lineages = [np.tile(np.arange(2), (len(start), 1))]
        for index in (1, 2):
            which = np.full(len(start), index)
            log_steps = np.asarray(steps(PATHS[start], which, clouds.states))
            rows = []
            for branch, weights in enumerate(clouds.weights):
                with np.errstate(divide="ignore"):
                    given = weights * np.exp(log_steps[branch])
                for (u, p), (v, q), point in itertools.product(cells(weights), cells(given), range(POINTS)):
                    rows.append((branch, u, v, point, p * q / POINTS))
            parents, uniforms = np.array([row[0] for row in rows]), np.array([row[1:3] for row in rows])
            noise = np.zeros((len(rows), 3, 1), int)
            noise[:, index, 0] = [row[3] for row in rows]
            chances = chances[parents] * np.array([row[4] for row in rows])
            start = start[parents]
            lineages = [one[parents] for one in lineages]
            before = jax.tree.map(lambda leaf: leaf[parents], (clouds, history))  # noqa: B023
            moved = advance(before[0], uniforms, noise, np.full(len(rows), index), PATHS[start], before[1])
            clouds, history = jax.tree.map(np.asarray, moved)
            lineages.append(clouds.ancestors)
        rows = [(b, u, p) for b, weights in enumerate(clouds.weights) for u, p in cells(weights)]
        parents = np.array([row[0] for row in rows])
        lineage = np.stack(lineages, axis=1)[parents].astype(np.int32)
        clouds, history = jax.tree.map(lambda leaf: leaf[parents], (clouds, history))
        paths = np.asarray(end(clouds, history, lineage, np.array([row[1] for row in rows]), PATHS[start[parents]]))
    found = np.zeros((len(PATHS), len(PATHS)))
    np.add.at(found, (start[parents], paths @ [9, 3, 1]), chances[parents] * np.array([row[2] for row in rows]))
    return found


@pytest.mark.parametrize("theta", [0, pytest.param(1, marks=pytest.mark.study)])
def test_paths_keep_their_posterior(theta):
    kernel = matrix(ConditionalFilter(MODEL, series(DATA), 2), theta)
    law = posterior(theta) / posterior(theta).sum()
    assert np.abs(kernel[law > 0].sum(axis=1) - 1).max() < TOLERANCE
    assert np.abs(law @ kernel - law).max() < TOLERANCE
    # and it moves: from every path to every other, in a few updates
    assert np.all(np.linalg.matrix_power(kernel, 4)[np.ix_(law > 0, law > 0)] > 0)


class Weightless(ConditionalFilter):
    """Ancestors of the given path that do not look at the weights."""

    def log_step(self, theta, state, previous, time):
        return jnp.zeros(self.particles)


class Late(ConditionalFilter):
    """Observations of which every second one is forgotten."""

    def weighed(self, states, chosen, theta, index, path):
        cloud = super().weighed(states, chosen, theta, index, path)
        return cloud._replace(weights=jnp.where(index == 1, 1.0, cloud.weights))


class Tempered(ConditionalFilter):
    """Half of the log density of the transition to the given path."""

    def log_step(self, theta, state, previous, time):
        return super().log_step(theta, state, previous, time) / 2


@pytest.mark.parametrize("broken", [Late, Tempered, pytest.param(Weightless, marks=pytest.mark.study)])
def test_broken_conditional_filters_are_told_from_the_right_one(broken):
    kernel = matrix(broken(MODEL, series(DATA), 2), 0)
    law = posterior(0) / posterior(0).sum()
    assert np.abs(law @ kernel - law).max() > 1e-4


def test_parameters_are_moved_for_the_joint_density():
    kernel = ls.particle_gibbs(log_prior, MODEL, DATA, ls.Finite(np.full((2, 2), 0.5)), particles=2)
    with double_precision():
        for path in range(len(PATHS)):
            given = kernel.given(_conditional(kernel, PATHS[path]))
            found = np.exp([float(given.init(jnp.asarray(theta)).memory) for theta in (0, 1)])
            assert np.allclose(
                found, [posterior(theta)[path] * np.exp(log_prior(theta)) for theta in (0, 1)], rtol=1e-12
            )


def test_the_density_of_parameters_knows_the_times_and_the_support_of_the_prior():
    """Transitions to times 1 and 2 have densities of their own here; where the prior is 0, nothing else counts."""
    timed = dataclasses.replace(MODEL, log_transition=lambda theta, x, old, t: log_transition(theta, x, old, t) - t**2)
    inside = lambda theta: jnp.where(theta == 0, 0.0, -jnp.inf)  # noqa: E731
    path = int(np.argmax(posterior(0)))
    with double_precision():
        kernel = ls.particle_gibbs(inside, timed, DATA, ls.Finite(np.full((2, 2), 0.5)), particles=2)
        found = [float(_conditional(kernel, PATHS[path])(jnp.asarray(theta))) for theta in (0, 1)]
    assert found == [pytest.approx(np.log(posterior(0)[path]) - 5, rel=1e-12), -np.inf]


def _conditional(kernel, path):
    return Conditional(kernel.log_prior, kernel.filter, jnp.asarray(path))


def test_runs_have_paths_and_forecasts():
    kernel = ls.particle_gibbs(log_prior, MODEL, DATA, ls.Finite(np.full((2, 2), 0.5)), particles=3)
    run = ls.sample(kernel, 0, draws=50, chains=2, seed=1)
    assert run.paths.shape == (2, 50, 3)
    assert run.paths.dtype.kind == "i"
    assert run.forecast(4).states.shape == (2, 50, 4)
    assert run.to_datatree()["posterior"]["path"].dims == ("chain", "draw", "time")


@pytest.mark.study
def test_frequencies_of_paths_and_parameters():
    kernel = ls.particle_gibbs(log_prior, MODEL, DATA, ls.Finite(np.full((2, 2), 0.5)), particles=3)
    run = ls.sample(kernel, 0, draws=20_000, chains=10, seed=1)
    joint = np.concatenate([posterior(theta) * np.exp(log_prior(theta)) for theta in (0, 1)])
    joint /= joint.sum()
    place = run.positions * 27 + run.paths @ np.array([9, 3, 1])
    shares = np.stack([np.bincount(chain, minlength=54) / chain.size for chain in place])
    errors = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    assert np.all(np.abs(shares.mean(axis=0) - joint)[joint > 1e-3] < 5 * errors[joint > 1e-3])


def test_errors_name_what_is_missing():
    plain = ls.models.StateSpace(initial, transition, log_observation, draw=draw)
    with pytest.raises(TypeError, match="model has no log_initial"):
        ls.particle_gibbs(log_prior, plain, DATA, ls.RandomWalk(1.0), 2)
    with pytest.raises(ValueError, match="particles is 1"):
        ls.particle_gibbs(log_prior, MODEL, DATA, ls.RandomWalk(1.0), 1)
    kernel = ls.particle_gibbs(log_prior, MODEL, DATA, ls.RandomWalk(1.0), 2)
    with pytest.raises(ValueError, match="init needs a key"):
        kernel.init(0)
    assert kernel.noise(jr.key(0), 0.0).parameters.accept.shape == ()
