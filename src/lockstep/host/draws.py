"""How users' functions get their noise: random keys by default, or whatever a ``draw`` of theirs makes in bulk."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import shapes
from lockstep.core.trees import is_concrete, vectorize
from lockstep.core.types import Key, Shape, Tree
from lockstep.host.generator import RandomKey


def draw_each(draw: Any, key: Key, shape: Shape = ()) -> Any:
    """One ``draw(key)`` for each element of ``shape``; without a draw, the keys themselves."""
    keys = random.split(key, shape) if shape else key
    if draw is None:
        return keys

    def draw_one(key: Key) -> Any:
        return require_random(draw(key), key, draw)

    return vectorize(draw_one, len(shape))(keys)


def draw_bulk(draw: Any, key: Key, count: int, shape: Shape = ()) -> Any:
    """Noise of ``count`` samples for each element of ``shape``, from one call ``draw(key, number)`` on the key unsplit.

    Without a draw: as many keys, one a sample.
    """
    number = math.prod(shape) * count
    if draw is None:
        return random.split(key, (*shape, count))
    draws = require_random(draw(key, number), key, draw)
    for leaf in jax.tree.leaves(draws):
        if np.ndim(leaf) == 0 or np.shape(leaf)[0] != number:
            raise ValueError(
                f"{draw.name}, called with (key, {number}), returned {shapes(draws)}; the first axis of each array "
                f"must have length {number}, one row a sample"
            )
    return jax.tree.map(lambda leaf: leaf.reshape((*shape, count, *np.shape(leaf)[1:])), draws)


def require_random(draws: Tree, key: Key, function: Any) -> Any:
    """Refuse draws from another generator: compiled, they would be one constant, the same at every update."""
    if isinstance(key, RandomKey):
        return draws
    leaves = jax.tree.leaves(draws)
    if leaves and not is_concrete(key) and not any(isinstance(leaf, jax.Array) for leaf in leaves):
        raise TypeError(
            f"{function.name} returned {shapes(draws)} that does not come from its key: it would be the same at "
            f"every update. Draw it with jax.random, or wrap the function that needs it, ls.blackbox(function)"
        )
    return draws
