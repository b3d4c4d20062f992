"""Heat-bath sweeps over a lattice of spins: all sites of one colour at once, since none is next to another."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.models.lattice import colours_of, neighbour_sum
from lockstep.parts import part, static
from lockstep.types import Array, Key, Position, Shape, State

LEVELS = 9  # a spin has at most four neighbours: their sum is -4, ..., 4
CHUNK = 16  # sweeps whose random words are drawn at once


@part
class Site:
    """The law of one spin given the sum of its neighbours: up with probability 1/(1 + e^{-2(θ sum + field)})."""

    theta: Any
    field: Any

    def is_up(self, noise: Array, total: Array) -> Array:
        """Decide with uniform noise: numbers in [0, 1), or 32-bit words, against thresholds that are found once."""
        if noise.dtype != np.uint32:
            return noise < jax.nn.sigmoid(2 * (self.theta * total + self.field))
        levels = self.thresholds()
        least = levels[0]
        for level in range(1, LEVELS):
            least = jnp.where(total >= level - 4, levels[level], least)
        return noise < least

    def thresholds(self) -> list[Array]:
        """2³² times the probability of up, for each sum of the neighbours; off by less than 2⁻³²."""
        up = (jax.nn.sigmoid(2 * (self.theta * total + self.field)) for total in range(-4, 5))
        return [jnp.minimum(p * 2.0**32, 2.0**32 - 1).astype(np.uint32) for p in up]


def visit(site: Site, noise: Array, x: Array, is_visited: Any, is_periodic: bool) -> Array:
    """Update the sites of one colour."""
    total = neighbour_sum(x, is_periodic).astype(np.int32)
    one = jnp.ones((), x.dtype)
    return jnp.where(is_visited, jnp.where(site.is_up(noise, total), one, -one), x)


def there_and_back(site: Site, noise: Array, x: Array, is_periodic: bool) -> Array:
    """A palindromic sweep: through the colours and back, so that it is reversible. Noise: one lattice each way."""
    masks = _masks(x.shape, is_periodic)
    for is_visited in masks:
        x = visit(site, noise[0], x, is_visited, is_periodic)
    for is_visited in masks[-2::-1]:
        x = visit(site, noise[1], x, is_visited, is_periodic)
    return x


def sweeps(site: Site, key: Key, x: Array, is_periodic: bool, count: int) -> Array:
    """``count`` palindromic sweeps with the random words of a key."""
    if len(_masks(x.shape, is_periodic)) != 2:
        noise = jr.bits(key, (count, 2, *x.shape), np.uint32)
        return jax.lax.fori_loop(0, count, lambda i, x: there_and_back(site, noise[i], x, is_periodic), x)
    # Two updates of one colour in a row are as good as one: K₀K₁K₀ K₀K₁K₀ … = K₀ K₁K₀ K₁K₀ …
    first, second = _masks(x.shape, is_periodic)

    def pair(noise: Array, x: Array) -> Array:
        return visit(site, noise, visit(site, noise, x, second, is_periodic), first, is_periodic)

    def chunk(i: Array, x: Array) -> Array:
        noise = jax.lax.optimization_barrier(jr.bits(jr.fold_in(key, i), (CHUNK, *x.shape), np.uint32))
        used = jnp.minimum(CHUNK, count - i * CHUNK)
        return jax.lax.fori_loop(0, used, lambda j, x: pair(noise[j], x), x)

    chunks = -(-count // CHUNK)
    x = visit(site, jr.bits(jr.fold_in(key, chunks), x.shape, np.uint32), x, first, is_periodic)
    return jax.lax.fori_loop(0, chunks, chunk, x)


def _masks(shape: Shape, is_periodic: bool) -> list[np.ndarray]:
    colours = colours_of(shape, is_periodic)
    return [colours == colour for colour in range(colours.max() + 1)]


@part
class HeatBath:
    """A kernel on configurations of spins: palindromic heat-bath sweeps. Monotone in the spins for θ >= 0."""

    site: Site
    is_periodic: bool = static()

    is_memory_random = False
    exact_when = "always"

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Array:
        return jr.uniform(key, (*shape, 2, *jnp.shape(position)[-2:]), float)

    def init(self, position: Position, key: Key | None = None) -> State:
        return State(position, ())

    def move(self, state: State, noise: Array) -> tuple[State, Any]:
        return State(there_and_back(self.site, noise, state.position, self.is_periodic), ()), ()

    def step(self, rng_key: Key, state: State) -> tuple[State, Any]:
        return self.move(state, self.noise(rng_key, state.position))
