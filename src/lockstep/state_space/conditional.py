"""The conditional particle filter with ancestor sampling: one path of the hidden states, given another."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.parts import part, static
from lockstep.core.trees import choose
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.state_space.filter import Cloud, Filter, offspring
from lockstep.state_space.functions import numbers, require_states
from lockstep.state_space.paths import traced
from lockstep.state_space.resampling import ancestors
from lockstep.state_space.rows import draw_rows
from lockstep.state_space.series import Series, taken


class ConditionalNoise(NamedTuple):
    """All noise of a conditional filter: a row for each time, uniform numbers for each resampling, one for the end."""

    states: Any
    resampling: Array  # of all particles: the last number is for the ancestor of the given path
    last: Array


@part
class ConditionalFilter:
    """A filter one of whose particles is given: a path that it keeps, with an ancestor that is drawn anew.

    Others are drawn as in a bootstrap filter with multinomial resampling. The path of a last particle, drawn with the
    weights, is a draw from a law that leaves the smoothing distribution as it is, for any number of particles.
    """

    model: Any
    series: Series
    particles: int = static()

    @property
    def free(self) -> Filter:
        """The particles that are not given."""
        return Filter(self.model, self.series, self.particles - 1)

    @property
    def whole(self) -> Filter:
        return Filter(self.model, self.series, self.particles)

    def noise(self, key: Key) -> ConditionalNoise:
        key_states, key_resampling, key_last = random.split(key, 3)
        states = draw_rows(self.model.draw, key_states, self.series.length + 1, self.particles - 1)
        uniforms = random.uniform(key_resampling, (self.series.count, self.particles))
        return ConditionalNoise(states, uniforms, random.uniform(key_last, ()))

    def __call__(self, noise: ConditionalNoise, theta: Position, path: Tree) -> tuple[Any, Array]:
        """A path, given another, and whether all weights were numbers: else it is the same path again."""
        cloud, history = self.begin(noise.states, theta, path)

        def body(carry: Tree, at: Array) -> Any:
            cloud, history = self.advance(carry[0], at[1], noise.states, theta, at[0], path, carry[1])
            return (cloud, history), (cloud.ancestors, cloud.increment)

        steps = jnp.arange(1, self.series.count), noise.resampling[1:]
        first = cloud.increment
        (cloud, history), (rest, increments) = jax.lax.scan(body, (cloud, history), steps)
        is_valid = (first < np.inf) & jnp.all(increments < np.inf)
        lineage = jnp.concatenate([jnp.arange(self.particles, dtype=rest.dtype)[None], rest])
        found = self.end(cloud, history, lineage, noise.last, path)
        return choose(is_valid, found, path), is_valid

    def begin(self, noise: Tree, theta: Position, path: Tree) -> tuple[Cloud, Any]:
        """The cloud at the first observation, and the states of free particles at all times, which are yet to come."""
        free, count = self.free, self.particles - 1
        states = require_states(self.model.initial(taken(noise, 0), theta), "initial", count, 0)
        states = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), states, taken(path, 0))
        history = jax.tree.map(lambda leaf: jnp.zeros((leaf.shape[0], count, *leaf.shape[1:]), leaf.dtype), path)
        history = jax.tree.map(lambda buffer, value: buffer.at[0].set(value), history, states)
        states, _, history = free.moved(states, noise, theta, 0, history)
        return self.weighed(states, jnp.arange(self.particles, dtype=jnp.int32), theta, 0, path), history

    def advance(
        self, cloud: Cloud, uniforms: Array, noise: Tree, theta: Position, index: Array, path: Tree, history: Tree
    ) -> tuple[Cloud, Any]:
        """The cloud at the next observation."""
        # RESAMPLE the free particles.
        chosen = ancestors(uniforms[:-1], cloud.weights)
        # ANCESTOR of the given path: a particle from which its next state may have come.
        time = self.series.time(index - 1) + 1
        log_step = self.log_step(theta, taken(path, time), cloud.states, time)
        log_weights = jnp.log(cloud.weights) + log_step
        weights = jnp.exp(log_weights - jnp.max(log_weights))
        given = ancestors(uniforms[-1:], weights)
        states = offspring(cloud.states, chosen)
        states, _, history = self.free.moved(states, noise, theta, index, history)
        return self.weighed(states, jnp.concatenate([chosen, given]), theta, index, path), history

    def log_step(self, theta: Position, state: Tree, previous: Any, time: Array) -> Array:
        """The log density of one state after each of the particles."""
        states = jax.tree.map(lambda one, all_: jnp.broadcast_to(one, all_.shape), state, previous)
        found = self.model.log_transition(theta, states, previous, *self.series.at(time))
        return numbers(found, "log_transition", self.particles, time)

    def weighed(self, states: Tree, chosen: Array, theta: Position, index: Array, path: Tree) -> Cloud:
        """The free particles and the given one, with the weights of an observation."""
        given = taken(path, self.series.time(index))
        states = jax.tree.map(lambda leaf, one: jnp.concatenate([leaf, one[None]]), states, given)
        nothing = jnp.zeros(())
        cloud = Cloud(states, jnp.ones(self.particles), nothing, nothing, chosen)
        return self.whole.weighed(cloud, 0.0, theta, index)

    def end(self, cloud: Cloud, history: Tree, lineage: Array, position: Array, path: Tree) -> Any:
        """The path of a particle that is drawn with the last weights."""
        states = jax.tree.map(lambda leaf, one: jnp.concatenate([leaf, one[:, None]], axis=1), history, path)
        return traced(self.series, states, lineage, ancestors(position[None], cloud.weights)[0])
