"""The particle filter: clouds of weighted particles, from one observation to the next."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import is_number, whole
from lockstep.core.parts import part, static
from lockstep.core.trees import is_alike, namespace
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.state_space.functions import numbers, require_states
from lockstep.state_space.hilbert import order_of
from lockstep.state_space.resampling import ancestors, normals_of, positions_of, require_scheme
from lockstep.state_space.rows import draw_rows
from lockstep.state_space.series import Series, taken


class FilterNoise(NamedTuple):
    """All noise of a filter: a row for each time, normal numbers for each resampling, and one for a path."""

    states: Any
    resampling: Array
    path: Array


class Cloud(NamedTuple):
    """Weighted particles at an observation, and the log likelihood estimate of all data until then.

    The weights are relative to the largest one; ``ancestors`` are the particles of the observation before.
    """

    states: Any
    weights: Array
    log_likelihood: Array
    increment: Array
    ancestors: Array


@part
class Filter:
    """A particle filter of a series of data.

    *Unbiased*: E exp(log likelihood estimate) is the likelihood, for any number of particles, every scheme of
    resampling, any threshold, any proposal that reaches all of the support, and any look-ahead.
    """

    model: Any
    series: Series
    particles: int = static()
    scheme: str = static(default="systematic")
    threshold: float = static(default=1.0)
    is_sorted: bool = static(default=False)

    # NOISE -----------------------------------------------------------------------------------------------------------

    def noise(self, key: Key) -> FilterNoise:
        """Everything random, drawn at once."""
        key_states, key_resampling, key_path = random.split(key, 3)
        states = draw_rows(self.model.draw, key_states, self.series.length + 1, self.particles)
        shape = (self.series.count, normals_of(self.scheme, self.particles))
        return FilterNoise(states, random.normal(key_resampling, shape), random.normal(key_path, ()))

    def generated(self, rng: np.random.Generator) -> FilterNoise:
        """The same for functions that draw from a generator themselves."""
        shape = (self.series.count, normals_of(self.scheme, self.particles))
        return FilterNoise(rng, np.asarray(rng.standard_normal(shape)), np.float64(rng.standard_normal()))

    # LOOP ------------------------------------------------------------------------------------------------------------

    def __call__(
        self,
        noise: FilterNoise,
        theta: Position,
        look: Callable[[Cloud], Any] = lambda cloud: (),
        is_kept: bool = False,
    ) -> tuple[Cloud, Any, Any]:
        """Run it: the last cloud, what ``look`` sees of each cloud, and the history if it is to be kept.

        The history is the states of all particles at all times, and the ancestors at all observations.
        """
        positions = self.positions(noise)
        xp = namespace(noise.resampling)
        cloud, history = self.begin(noise.states, theta, xp, is_kept)
        if xp is np:
            looks = [(cloud, look(cloud))]
            for index in range(1, self.series.count):
                cloud, history = self.advance(cloud, positions[index], noise.states, theta, index, history)
                looks.append((cloud, look(cloud)))
            seen = jax.tree.map(lambda *leaves: np.stack(leaves), *[seen for _, seen in looks])
            lineage = np.stack([one.ancestors for one, _ in looks])
        else:

            def body(carry: Tree, at: Array) -> Any:
                cloud, history = self.advance(carry[0], at[1], noise.states, theta, at[0], carry[1])
                return (cloud, history), (look(cloud), cloud.ancestors if is_kept else ())

            first = look(cloud), cloud.ancestors if is_kept else ()
            steps = jnp.arange(1, self.series.count), positions[1:]
            (cloud, history), rest = jax.lax.scan(body, (cloud, history), steps)
            seen, lineage = jax.tree.map(lambda one, more: jnp.concatenate([one[None], more]), first, rest)
        return cloud, seen, (history, lineage)

    def positions(self, noise: FilterNoise) -> Array:
        """The positions of all resamplings, whose special functions are computed before the loop."""
        found = positions_of(jnp.asarray(noise.resampling), self.scheme, self.particles)
        return np.asarray(found) if isinstance(noise.resampling, np.ndarray) else found

    def begin(self, noise: Tree, theta: Position, xp: Any, is_kept: bool = False) -> tuple[Cloud, Any]:
        """The cloud at the first observation."""
        model, count, y = self.model, self.particles, self.series.observation(0)
        is_guided = model.propose_initial is not None and self.series.first == 0 and not self.series.is_first_missing
        log_weights: Any = -math.log(count)
        if is_guided:
            states, extra = model.propose_initial(self.row(noise, 0), theta, y)
            log_weights = log_weights + numbers(extra, "propose_initial", count, 0)
        else:
            states = model.initial(self.row(noise, 0), theta, *((count,) if model.initial.is_boxed else ()))
        states = require_states(states, "propose_initial" if is_guided else "initial", count, 0)
        states = self.settled(states, noise, theta)
        history = ()
        if is_kept:
            history = jax.tree.map(lambda leaf: xp.zeros((self.series.length + 1, *leaf.shape), leaf.dtype), states)
            history = kept(history, states, 0)
        states, extra, history = self.moved(states, noise, theta, 0, history)
        whole_cloud = Cloud(
            states, xp.ones(count), xp.zeros(())[()], xp.zeros(())[()], xp.arange(count, dtype=np.int32)
        )
        return self.weighed(whole_cloud, log_weights + extra, theta, 0), history

    def advance(
        self, cloud: Cloud, positions: Array, noise: Tree, theta: Position, index: Array, history: Tree = ()
    ) -> tuple[Cloud, Any]:
        """The cloud at the next observation, number ``index``."""
        chosen, log_weights = self.resampled(cloud, positions, theta, index)
        states = offspring(cloud.states, chosen)
        states, extra, history = self.moved(states, noise, theta, index, history)
        return self.weighed(cloud._replace(states=states, ancestors=chosen), log_weights + extra, theta, index), history

    # STEPS -----------------------------------------------------------------------------------------------------------

    def resampled(self, cloud: Cloud, positions: Array, theta: Position, index: Array) -> tuple[Array, Any]:
        """The ancestor of each particle, and the log weights that are left to them."""
        xp, count = namespace(cloud.weights), self.particles
        weights, order, ahead = self.chances(cloud, theta, index)
        chosen = ancestors(positions, weights)
        chosen = chosen if order is None else order[chosen]
        log_left: Any = -math.log(count)
        if ahead is not None:
            # What was looked ahead is taken back; without a chance for any particle, none has a weight.
            log_left = xp.where(xp.isnan(ahead), -np.inf, log_left - ahead)[chosen]
        if self.threshold < 1:
            is_needed = effective(weights) < self.threshold * count
            chosen = xp.where(is_needed, chosen, xp.arange(count, dtype=np.int32))
            log_left = xp.where(is_needed, log_left, xp.log(cloud.weights / xp.sum(cloud.weights)))
        return chosen, log_left

    def chances(self, cloud: Cloud, theta: Position, index: Array) -> tuple[Array, Array | None, Array | None]:
        """The weights by which ancestors are chosen, their order if it is another, and the log of the look ahead.

        That is relative to its mean over the cloud, so that the weights after it are those of an unbiased estimate; NaN
        if no particle has a chance.
        """
        xp, weights = namespace(cloud.weights), cloud.weights
        ahead = self.ahead(cloud, theta, index)
        if ahead is not None:
            highest = xp.max(xp.where(weights > 0, ahead, -np.inf))
            highest = xp.where(highest == -np.inf, 0.0, highest)
            weights = weights * xp.exp(xp.minimum(ahead - highest, 0.0))
            share = xp.sum(weights) / xp.sum(cloud.weights)
            ahead = xp.where(share > 0, ahead - highest - xp.log(share), np.nan)
            weights = xp.where(share > 0, weights, 1.0)
        if not self.is_sorted:
            return weights, None, ahead
        order = order_of(cloud.states)
        return weights[order], order, ahead

    def ahead(self, cloud: Cloud, theta: Position, index: Array) -> Array | None:
        """The guess of the next observation's log density at each particle."""
        if self.model.look_ahead is None:
            return None
        y, at = self.series.observation(index), self.series.at(self.series.time(index))
        found = numbers(self.model.look_ahead(theta, cloud.states, y, *at), "look_ahead", self.particles, at[0])
        return self.unless_missing(found, index)

    def moved(self, states: Tree, noise: Tree, theta: Position, index: Array, history: Tree) -> tuple[Any, Any, Any]:
        """Particles moved to an observation, with the log weights of a guided filter."""
        series = self.series

        def move(time: Array, carry: Tree) -> Any:
            states, extra, history = carry
            states, more = self.transition(self.row(noise, time), states, theta, time, index)
            return states, extra + more, kept(history, states, time)

        if is_first(index) and series.first == 0:
            return states, 0.0, history
        if series.is_every_step:
            return move(index, (states, 0.0, history))
        start, end = series.time(index - 1) + 1 if not is_first(index) else 1, series.time(index) + 1
        is_guided = self.model.propose is not None
        carry = (states, jnp.zeros(self.particles) if is_guided else 0.0, history)
        if isinstance(index, jax.core.Tracer) or not self.model.is_boxed:
            return jax.lax.fori_loop(start, end, move, carry)
        for time in range(int(start), int(end)):
            carry = move(time, carry)
        return carry

    def transition(self, noise: Tree, states: Tree, theta: Position, time: Array, index: Array) -> tuple[Any, Any]:
        """Particles one time later, with the log weights of a guided filter."""
        model, at = self.model, self.series.at(time)
        if model.propose is None:
            moved = model.transition(noise, states, theta, *at)
            return require_states(moved, "transition", self.particles, time, states), 0.0
        y = self.series.observation(index)
        moved, extra = model.propose(noise, states, theta, y, *at)
        require_states(moved, "propose", self.particles, time, states)
        extra = numbers(extra, "propose", self.particles, time)
        if not self.series.has_missing:
            return moved, extra
        # Nothing guides to an observation that is missing.
        xp, is_missing = namespace(extra), self.series.missing(index)
        plain = require_states(model.transition(noise, states, theta, *at), "transition", self.particles, time, states)
        moved = jax.tree.map(lambda one, other: xp.where(is_missing, one, other), plain, moved)
        return moved, xp.where(is_missing, 0.0, extra)

    def weighed(self, cloud: Cloud, log_weights: Array, theta: Position, index: Array) -> Cloud:
        """The cloud with its observation: weights, and the increment of the log likelihood estimate.

        Where no particle has a weight the estimate of the likelihood is 0, whatever comes later.
        """
        y, at = self.series.observation(index), self.series.at(self.series.time(index))
        density = self.model.log_observation(theta, cloud.states, y, *at)
        density = numbers(density, "log_observation", self.particles, at[0])
        log_weights = log_weights + self.unless_missing(density, index)
        xp = namespace(cloud.weights)
        highest = xp.max(log_weights)
        is_nothing = highest == -np.inf
        weights = xp.exp(log_weights - xp.where(is_nothing, 0.0, highest))
        increment = xp.log(xp.sum(weights)) + xp.where(is_nothing, 0.0, highest)
        weights = xp.where(is_nothing, 1.0, weights)
        return cloud._replace(weights=weights, increment=increment, log_likelihood=cloud.log_likelihood + increment)

    # DETAILS ---------------------------------------------------------------------------------------------------------

    def unless_missing(self, values: Array, index: Array) -> Array:
        """Values at an observation, 0 if it is missing."""
        if not self.series.has_missing:
            return values
        return namespace(values).where(self.series.missing(index), 0.0, values)

    def row(self, noise: Tree, time: Array) -> Any:
        """The noise of one time; a generator serves all."""
        return noise if isinstance(noise, np.random.Generator) else taken(noise, time)

    def settled(self, states: Tree, noise: Tree, theta: Position) -> Any:
        """Initial states with the dtypes that transitions give them, so that 0 may stand for 0.0."""
        if self.model.is_boxed or not self.series.length:
            return states
        at = self.series.at(jnp.asarray(1))
        moved = jax.eval_shape(lambda: self.model.transition(self.row(noise, 1), states, theta, *at))

        def settle(old: Array, new: Any) -> Array:
            is_safe = old.shape == new.shape and np.can_cast(old.dtype, new.dtype)
            return jnp.asarray(old, new.dtype) if is_safe else old

        return jax.tree.map(settle, states, moved) if is_alike(moved, states) else states


def effective(weights: Array) -> Array:
    """The effective sample size of weights."""
    xp = namespace(weights)
    return xp.sum(weights) ** 2 / xp.sum(weights**2)


def offspring(states: Tree, chosen: Array) -> Any:
    """The states of the chosen particles, all of which there are."""
    if isinstance(chosen, np.ndarray):
        return jax.tree.map(lambda leaf: leaf[chosen], states)
    sure: Any = {"mode": "promise_in_bounds", "wrap_negative_indices": False}
    return jax.tree.map(lambda leaf: leaf.at[chosen].get(**sure), states)


def kept(history: Tree, states: Tree, time: Array) -> Any:
    """The history with the states of one more time; none if it is not kept."""
    if not jax.tree.leaves(history):
        return history

    def put(buffer: Array, value: Array) -> Array:
        if isinstance(buffer, np.ndarray):
            buffer[int(time)] = value
            return buffer
        return jax.lax.dynamic_update_index_in_dim(buffer, value, time, 0)

    return jax.tree.map(put, history, states)


def is_first(index: Array) -> bool:
    """Whether an observation is the first one."""
    return not isinstance(index, jax.core.Tracer) and int(index) == 0


def require_filter(
    model: object, plan: Series, particles: object, scheme: Any, threshold: Any, is_sorted: bool
) -> Filter:
    """A filter of arguments that are checked."""
    particles, scheme = whole(particles, "particles", 1), require_scheme(scheme)
    if not is_number(threshold) or not 0 < threshold <= 1:
        raise ValueError(f"threshold is {threshold!r}; it must be a share of the particles, above 0 and at most 1")
    return Filter(model, plan, particles, scheme, float(threshold), bool(is_sorted))
