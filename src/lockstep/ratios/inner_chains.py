"""Auxiliary data that a chain leads to: from the data (double Metropolis–Hastings), or over a bridge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.parts import part, static
from lockstep.core.randomization import Involution, Randomization
from lockstep.core.trees import is_floating
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.draws import draw_each
from lockstep.host.functions import Function, Scalar, simulation
from lockstep.ratios.randomizations import simulated, within


@part
class InnerChain(Randomization):
    """Data x to which ``inner`` transitions at the candidate lead from the data, weighed as if drawn there."""

    log_likelihood: Scalar
    simulate: Function
    data: Any
    draw: Any
    log_prior: Scalar
    inner: int = static()

    @property
    def error(self) -> str:
        return (
            f"geometric in the number of inner updates, {self.inner}: ls.check.curvature(run, log_prior, model, data) "
            f"tests whether they are enough"
        )

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return draw_each(self.draw, key, (*shape, self.inner))

    def sample(self, noise: Tree, position: Position, candidate: Position) -> Any:
        parameter = within(self.log_prior, position, candidate)

        def transition(x: Array, noise: Tree) -> tuple[Any, None]:
            return simulated(self.simulate, (noise, parameter, x), self.data), None

        return jax.lax.scan(transition, as_simulated(transition, self.data, noise), noise)[0]

    def log_weight(self, x: Array, position: Position, candidate: Position) -> Array:
        return self.log_likelihood(position, x) - self.log_likelihood(candidate, x)


@part
class Reversal(Involution):
    """The path of a bridge, walked the other way."""

    def __call__(self, x: Array, position: Position, candidate: Position) -> tuple[Any, Array]:
        return jax.tree.map(lambda leaf: jnp.flip(leaf, axis=0), x), 0.0


@part
class Bridge(Randomization):
    """Data x₀ drawn at the candidate, led by transitions x₁, …, x_K towards the position.

    With θ_k on the straight line from θ₀ = θ' to θ_{K+1} = θ, the transition to x_k is one for L(θ_k, ·), and the
    weight is ``Σ_k log L(θ_{k+1}, x_k) - log L(θ_k, x_k)``.
    """

    log_likelihood: Scalar
    simulate: Function
    transition: Function
    data: Any
    draw: Any
    log_prior: Scalar
    bridges: int = static()

    involution = Reversal()

    @property
    def exact_when(self) -> str | None:
        return simulation(self.simulate).exact_when("transition is reversible with respect to the likelihood")

    @property
    def error(self) -> str | None:
        return simulation(self.simulate).error

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        key_first, key_path = random.split(key)
        return draw_each(self.draw, key_first, shape), draw_each(None, key_path, (*shape, self.bridges))

    def sample(self, noise: Tree, position: Position, candidate: Position) -> Any:
        candidate = within(self.log_prior, position, candidate)
        first = simulated(self.simulate, (noise[0], candidate), self.data)
        along = line(candidate, position, self.bridges)

        def transition(x: Array, step: Any) -> tuple[Any, Any]:
            x = simulated(self.transition, (step[0], step[1], x), self.data)
            return x, x

        between = jax.tree.map(lambda leaf: leaf[1:-1], along)
        start = as_simulated(transition, first, (noise[1], between))
        _, path = jax.lax.scan(transition, start, (noise[1], between))
        return jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), start, path)

    def log_weight(self, x: Array, position: Position, candidate: Position) -> Array:
        along = line(candidate, position, self.bridges)
        here, there = (jax.tree.map(lambda leaf, s=s: leaf[s], along) for s in (slice(0, -1), slice(1, None)))
        return jnp.sum(jax.vmap(lambda a, b, x: self.log_likelihood(b, x) - self.log_likelihood(a, x))(here, there, x))


def line(start: Position, end: Position, between: int) -> Position:
    """Positions on the straight line from one to another, both included."""

    def interpolated(a: Any, b: Any) -> Array:
        if not is_floating(a):
            raise TypeError(
                f"bridged_exchange walks on a straight line between positions, but one has a component of dtype "
                f"{jnp.result_type(a)}; all must be floating-point numbers"
            )
        share = np.linspace(1.0, 0.0, between + 2).reshape(-1, *(1,) * np.ndim(a))
        return share * a + (1 - share) * b

    return jax.tree.map(interpolated, start, end)


def as_simulated(transition: Callable[..., Any], x: Array, steps: Any) -> Any:
    """A data set in the dtypes that a simulator returns."""
    like = jax.eval_shape(lambda x, steps: transition(x, jax.tree.map(lambda leaf: leaf[0], steps))[0], x, steps)
    return jax.tree.map(lambda leaf, new: jnp.asarray(leaf, new.dtype), x, like)
