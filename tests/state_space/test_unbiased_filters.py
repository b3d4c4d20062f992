"""On a finite hidden Markov model the mean of the likelihood estimate, over all noise, is the likelihood.

The filter's own steps are taken from every cloud with every row of noise, and with a position of resampling from each
interval in which the ancestors are the same: an enumeration, without Monte Carlo.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.state_space.filter import Filter
from lockstep.state_space.series import series

POINTS = 4  # of the law of the noise
ANOTHER = 2  # noise that moves a state, in the rows of other times
FIRST = np.array([0, 2, 1, 1])  # the initial state of each
NEXT = np.array([[0, 1, 2, 0], [1, 1, 0, 2], [2, 0, 2, 2]])  # and the next state from each state
LOG_DENSITY = np.log(np.array([[0.7, 0.2], [0.15, 0.5], [0.4, 0.9]]))  # of each state, for the data 0 and 1
DATA = np.array([1, 0, 1])
N = 2
TOLERANCE = 1e-12


def draw(key, count):
    return jr.randint(key, (count,), 0, POINTS)


def initial(noise, theta):
    return jnp.asarray(FIRST)[noise]


def transition(noise, state, theta, t):
    return jnp.asarray(NEXT)[state, noise]


def log_observation(theta, state, y, t):
    return jnp.asarray(LOG_DENSITY)[state, y]


def log_share(states, chosen):
    return jnp.log(jnp.mean(states == chosen, dtype=float))


def propose(noise, state, theta, y, t):
    """A law of its own, with the weight of what the transition would have given."""
    table = jnp.array([[0, 1, 2, 1], [2, 0, 1, 2], [1, 2, 0, 0]])
    chosen = table[state, (noise + y) % POINTS]
    return chosen, log_share(jnp.asarray(NEXT)[state], chosen) - log_share(table[state], chosen)


def propose_initial(noise, theta, y):
    chosen = jnp.array([0, 1, 2, 2])[noise]
    return chosen, log_share(jnp.asarray(FIRST), chosen) - log_share(jnp.array([0, 1, 2, 2]), chosen)


def look_ahead(theta, state, y, t):
    return jnp.array([[0.3, -0.5], [-1.0, 0.4], [0.1, 0.8]])[state, y]


def model(**more):
    return ls.models.StateSpace(initial, transition, log_observation, draw=draw, **more)


MODELS = {
    "bootstrap": {},
    "guided": {"propose": propose, "propose_initial": propose_initial},
    "auxiliary": {"look_ahead": look_ahead},
    "both": {"propose": propose, "propose_initial": propose_initial, "look_ahead": look_ahead},
}


def exact(data=DATA, times=None, is_missing=()):
    """The forward algorithm."""
    times = np.arange(len(data)) if times is None else times
    step = np.stack([np.mean(NEXT[i][:, None] == np.arange(3), axis=0) for i in range(3)])
    law = np.mean(FIRST[:, None] == np.arange(3), axis=0)
    law = law @ np.linalg.matrix_power(step, times[0])
    for k, y in enumerate(data):
        if k:
            law = law @ np.linalg.matrix_power(step, times[k] - times[k - 1])
        if k not in is_missing:
            law = law * np.exp(LOG_DENSITY[:, y])
    return law.sum()


class Branch(NamedTuple):
    """Clouds with a leading axis, and their probabilities."""

    clouds: Any
    probabilities: np.ndarray


def positions_of(scheme: str, weights: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """Positions of resampling, one for each interval in which the ancestors are the same, and its probability."""
    shares = np.cumsum(weights)[:-1] / np.sum(weights)
    if scheme == "systematic":
        cuts = np.concatenate([[0.0], np.sort((shares * N) % 1.0), [1.0]])
        return [((a + b) / 2, b - a) for a, b in itertools.pairwise(cuts) if b > a]
    cuts = np.concatenate([[0.0], shares, [1.0]])
    cells = [((a + b) / 2, b - a) for a, b in itertools.pairwise(cuts) if b > a]
    return [
        (np.array(sorted(u for u, _ in chosen)), float(np.prod([p for _, p in chosen])))
        for chosen in itertools.product(cells, repeat=N)
    ]


def rows_of(count: int) -> np.ndarray:
    """All noise of that many times, each row with the same probability: (rows, times, particles)."""
    return np.array(list(itertools.product(range(POINTS), repeat=count * N))).reshape(-1, count, N)


CHUNK = 32


def mean_estimate(made: Any, scheme: str) -> float:
    """E exp(log likelihood estimate), over all noise."""
    plan = made.series
    times = np.asarray(plan.times)

    def advance(cloud, position, noise, index):
        return made.advance(cloud, position, noise, 0.0, index)[0]

    over_rows = jax.vmap(advance, in_axes=(None, None, 0, None))
    advance_all = jax.jit(jax.vmap(over_rows, in_axes=(0, 0, None, None)))
    chances = jax.jit(jax.vmap(lambda cloud, index: made.chances(cloud, 0.0, index)[0], in_axes=(0, None)))
    with double_precision():
        first = rows_of(times[0] + 1)
        begin = jax.jit(jax.vmap(lambda noise: made.begin(noise, 0.0, jnp)[0]))
        found = jax.tree.map(np.asarray, begin(first))
        branch = merged(Branch(found, np.full(len(first), 1 / len(first))))
        for index in range(1, plan.count):
            rows = rows_of(times[index] - times[index - 1])
            # The noise of a time stands in its row.
            noise = np.full((len(rows), plan.length + 1, N), ANOTHER)
            noise[:, times[index - 1] + 1 : times[index] + 1] = rows
            weights = chunked(chances, branch.clouds, index=index)
            cuts = [positions_of(scheme, one) for one in weights]
            parents = np.array([b for b, found in enumerate(cuts) for _ in found])
            positions = np.array([position for found in cuts for position, _ in found])
            shares = np.array([share for found in cuts for _, share in found])
            clouds = jax.tree.map(functools.partial(np.take, indices=parents, axis=0), branch.clouds)
            found = chunked(advance_all, clouds, positions, noise=noise, index=index)
            probabilities = np.repeat(branch.probabilities[parents] * shares / len(rows), len(rows))
            flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), found)
            branch = merged(Branch(flat, probabilities))
    assert abs(branch.probabilities.sum() - 1) < TOLERANCE
    return float(branch.probabilities @ np.exp(branch.clouds.log_likelihood))


def chunked(function: Any, *mapped: Any, **others: Any) -> Any:
    """A compiled function of a leading axis, applied to chunks of one size, so that it is compiled once."""
    count = len(jax.tree.leaves(mapped)[0])
    results = []
    for start in range(0, count, CHUNK):
        rows = np.minimum(np.arange(start, start + CHUNK), count - 1)
        part = jax.tree.map(functools.partial(np.take, indices=rows, axis=0), mapped)
        results.append(jax.tree.map(np.asarray, function(*part, *others.values())))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *results)


def merged(branch: Branch) -> Branch:
    """Clouds that are equal, counted once."""
    clouds = branch.clouds._replace(ancestors=np.zeros_like(branch.clouds.ancestors))
    leaves, structure = jax.tree.flatten(clouds)
    table = np.concatenate([np.asarray(leaf, float).reshape(len(branch.probabilities), -1) for leaf in leaves], axis=1)
    _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    probabilities = np.bincount(inverse.ravel(), branch.probabilities)
    return Branch(jax.tree.unflatten(structure, [leaf[first] for leaf in leaves]), probabilities)


HERE = {("bootstrap", "multinomial", 1.0), ("guided", "systematic", 1.0), ("bootstrap", "systematic", 0.8)}
HERE |= {("both", "systematic", 0.8), ("both", "multinomial", 1.0), ("guided", "multinomial", 0.8)}


@pytest.mark.parametrize(
    ("kind", "scheme", "threshold"),
    [
        pytest.param(*case, marks=() if case in HERE else pytest.mark.study)
        for case in itertools.product(["bootstrap", "guided", "both"], ["systematic", "multinomial"], [1.0, 0.8])
    ],
)
def test_estimates_are_unbiased(kind, scheme, threshold):
    made = Filter(model(**MODELS[kind]), series(DATA), N, scheme, threshold)
    assert abs(mean_estimate(made, scheme) / exact() - 1) < TOLERANCE


@pytest.mark.parametrize("kind", ["bootstrap", "auxiliary"])
def test_sorted_particles_are_unbiased(kind):
    made = Filter(model(**MODELS[kind]), series(DATA), N, "systematic", 1.0, True)
    assert abs(mean_estimate(made, "systematic") / exact() - 1) < TOLERANCE


@pytest.mark.parametrize("kind", ["bootstrap", "both"])
def test_several_transitions_between_observations(kind):
    made = Filter(model(**MODELS[kind]), series(np.array([1, 0]), np.array([1, 3])), N)
    assert abs(mean_estimate(made, "systematic") / exact(np.array([1, 0]), [1, 3]) - 1) < TOLERANCE


@pytest.mark.parametrize("kind", ["bootstrap", "both"])
@pytest.mark.parametrize("gone", [0, 1])
def test_missing_observations_have_no_weight(kind, gone):
    data = DATA.astype(float)
    data[gone] = np.nan
    floating = {name: floated(function) for name, function in MODELS[kind].items()}
    made = ls.models.StateSpace(initial, transition, floated(log_observation), draw=draw, **floating)
    found = mean_estimate(Filter(made, series(data), N), "systematic")
    assert abs(found / exact(is_missing=(gone,)) - 1) < TOLERANCE


def floated(function):
    """A function whose data are floating-point numbers; NaN stands for a wrong index, which must not matter."""

    def call(first, second, third, *rest):
        if function in (propose, propose_initial):
            at = 3 if function is propose else 2
            arguments = [first, second, third, *rest]
            is_nan = jnp.isnan(arguments[at])
            arguments[at] = jnp.where(is_nan, 0, arguments[at]).astype(int)
            states, log_weight = function(*arguments)
            return states, jnp.where(is_nan, jnp.nan, log_weight)
        is_nan = jnp.isnan(third)
        value = function(first, second, jnp.where(is_nan, 0, third).astype(int), *rest)
        return jnp.where(is_nan, jnp.nan, value)

    return call


class Unnormalised(Filter):
    """A filter that drops the normalisation of its weights."""

    def weighed(self, cloud, log_weights, theta, index):
        found = super().weighed(cloud, log_weights, theta, index)
        total = cloud.log_likelihood + jnp.log(jnp.mean(found.weights))
        return found._replace(log_likelihood=total)


class Uncorrected(Filter):
    """A filter that looks ahead and does not take it back."""

    def resampled(self, cloud, positions, theta, index):
        chosen, log_weights = super().resampled(cloud, positions, theta, index)
        return chosen, jnp.full_like(log_weights, -np.log(N))


class Reversed(Filter):
    """A filter whose ancestors have one another's places."""

    def resampled(self, cloud, positions, theta, index):
        chosen, log_weights = super().resampled(cloud, positions, theta, index)
        return 1 - chosen, log_weights


class Unguided(Filter):
    """A guided filter that leaves out the weight of its proposal."""

    def transition(self, noise, states, theta, time, index):
        return super().transition(noise, states, theta, time, index)[0], 0.0


BROKEN = {Unnormalised: "bootstrap", Uncorrected: "auxiliary", Reversed: "bootstrap", Unguided: "guided"}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda kind: kind.__name__)
def test_broken_filters_are_told_from_the_right_one(broken):
    made = broken(model(**MODELS[BROKEN[broken]]), series(DATA), N)
    assert abs(mean_estimate(made, "systematic") / exact() - 1) > 1e-3


def test_a_threshold_that_forgets_weights_is_told():
    class Forgetful(Filter):
        def resampled(self, cloud, positions, theta, index):
            chosen, log_weights = super().resampled(cloud, positions, theta, index)
            return chosen, jnp.full(N, -np.log(N)) + 0 * log_weights

    made = Forgetful(model(), series(DATA), N, "systematic", 0.8)
    assert abs(mean_estimate(made, "systematic") / exact() - 1) > 1e-4
