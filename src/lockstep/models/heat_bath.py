"""Heat-bath sweeps over a lattice of spins: all sites of one colour at once, since none is next to another."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from numpy.typing import DTypeLike

from lockstep.core import random
from lockstep.core.kernel import Kernel, State
from lockstep.core.parts import part, static
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.models.lattice import colours_of, neighbour_sum

LEVELS = 9  # a spin has at most four neighbours: their sum is -4, ..., 4
CHUNK = 16  # sweeps whose random words are drawn at once


@part
class Site:
    """The law of one spin given the sum of its neighbours: up with probability 1/(1 + e^{-2(θ sum + field)})."""

    theta: Any
    field: Any

    def up(self, total: Any) -> Array:
        """The probability of up."""
        return jax.nn.sigmoid(2 * (self.theta * total + self.field))

    def rule(self, dtype: DTypeLike) -> Any:
        """How to decide with uniform noise: numbers in [0, 1), or 32-bit words against thresholds that are found once.

        The thresholds are 2³² times the probabilities, off by less than 1 in double precision.
        """
        if dtype != np.uint32:
            return lambda noise, total: noise < self.up(total)
        up = [self.up(total) for total in range(-4, 5)]
        most = 2.0**32 * (1 - float(jnp.finfo(up[0].dtype).epsneg))  # the largest number below 2³²
        levels = [jnp.minimum(p * 2.0**32, most).astype(np.uint32) for p in up]

        def is_up(noise: Array, total: Array) -> Array:
            threshold = levels[0]
            for level in range(1, LEVELS):
                threshold = jnp.where(total >= level - 4, levels[level], threshold)
            return noise < threshold

        return is_up


def random_words(key: Key, shape: Shape) -> Array:
    """Random 32-bit words: the hash ``pcg4d`` of a key's two words and a counter, four at a time.

    Several times faster than the generator of the key itself, which would take more than half of the time of a sweep.
    The hash is that of Jarzynski and Olano (2020), Journal of Computer Graphics Techniques 9 (3).
    """
    words = jr.key_data(key).ravel()
    count = math.prod(shape)
    number = jnp.arange(-(-count // 4), dtype=np.uint32)
    v = [number, words[0], words[-1], number ^ words[0]]
    v = [part * np.uint32(1664525) + np.uint32(1013904223) for part in v]
    for is_last in (False, True):
        for target, one, other in ((0, 1, 3), (1, 2, 0), (2, 0, 1), (3, 1, 2)):
            v[target] = v[target] + v[one] * v[other]
        if not is_last:
            v = [part ^ (part >> np.uint32(16)) for part in v]
    return jnp.stack(v).ravel()[:count].reshape(shape)


def visit(is_up: Any, noise: Array, x: Array, is_visited: Any, is_periodic: bool) -> Array:
    """Update the sites of one colour."""
    total = neighbour_sum(x, is_periodic).astype(np.int32)
    one = jnp.ones((), x.dtype)
    return jnp.where(is_visited, jnp.where(is_up(noise, total), one, -one), x)


def there_and_back(is_up: Any, noise: Array, x: Array, is_periodic: bool) -> Array:
    """A palindromic sweep: through the colours and back, so that it is reversible. Noise: one lattice each way."""
    masks = _masks(x.shape, is_periodic)
    for is_visited in masks:
        x = visit(is_up, noise[0], x, is_visited, is_periodic)
    for is_visited in masks[-2::-1]:
        x = visit(is_up, noise[1], x, is_visited, is_periodic)
    return x


@functools.partial(jax.jit, static_argnames=("is_periodic", "count"))
def sweeps(site: Site, key: Key, x: Array, is_periodic: bool, count: int) -> Array:
    """``count`` palindromic sweeps with the random words of a key."""
    is_up, masks = site.rule(np.uint32), _masks(x.shape, is_periodic)
    if len(masks) > 2:
        noise = random_words(key, (count, 2, *x.shape))
        return jax.lax.fori_loop(0, count, lambda i, x: there_and_back(is_up, noise[i], x, is_periodic), x)
    # Two updates of one colour in a row are as good as one: K₀K₁K₀ K₀K₁K₀ … = K₀ K₁K₀ K₁K₀ …
    chunks = -(-count // CHUNK)
    first = random_words(random.fold_in(key, chunks), x.shape)
    x = visit(is_up, first, x, masks[0], is_periodic)

    def pair(noise: Array, x: Array) -> Array:
        for is_visited in masks[::-1]:
            x = visit(is_up, noise, x, is_visited, is_periodic)
        return x

    def chunk(i: Array, x: Array) -> Array:
        noise = jax.lax.optimization_barrier(random_words(random.fold_in(key, i), (CHUNK, *x.shape)))
        used = jnp.minimum(CHUNK, count - i * CHUNK)
        return jax.lax.fori_loop(0, used, lambda j, x: pair(noise[j], x), x)

    return jax.lax.fori_loop(0, chunks, chunk, x)


def _masks(shape: Shape, is_periodic: bool) -> list[np.ndarray]:
    colours = colours_of(shape, is_periodic)
    return [colours == colour for colour in range(colours.max() + 1)]


@part
class HeatBath(Kernel):
    """A kernel on configurations of spins: palindromic heat-bath sweeps. Monotone in the spins for θ >= 0."""

    site: Site
    is_periodic: bool = static()

    is_memory_random = False
    exact_when = "always"

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Array:
        return random.uniform(key, (*shape, 2, *jnp.shape(position)[-2:]))

    def init(self, position: Position, key: Key | None = None) -> State:
        return State(position, ())

    def move(self, state: State, noise: Array) -> tuple[State, Any]:
        return State(there_and_back(self.site.rule(noise.dtype), noise, state.position, self.is_periodic), ()), ()
