"""How users' functions get their noise: random keys by default, or whatever a ``draw`` of theirs makes in bulk."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.random as jr
import numpy as np

from lockstep.part import vectorize
from lockstep.types import Key, Shape


def draw_each(draw: Any, key: Key, shape: Shape = ()) -> Any:
    """One ``draw(key)`` for each element of ``shape``; without a draw, the keys themselves."""
    keys = jr.split(key, shape) if shape else key
    return keys if draw is None else vectorize(draw, len(shape))(keys)


def draw_bulk(draw: Any, key: Key, count: int, shape: Shape = ()) -> Any:
    """Noise of ``count`` samples for each element of ``shape``, from one call ``draw(key, number)`` on the key unsplit.

    Without a draw: as many keys, one a sample.
    """
    number = math.prod(shape) * count
    if draw is None:
        return jr.split(key, (*shape, count))
    draws = draw(key, number)
    for leaf in jax.tree.leaves(draws):
        if np.ndim(leaf) == 0 or np.shape(leaf)[0] != number:
            raise ValueError(
                f"draw(key, {number}) returned an array of shape {np.shape(leaf)}; its first axis must have length "
                f"{number}, one row a sample"
            )
    return jax.tree.map(lambda leaf: leaf.reshape((*shape, count, *np.shape(leaf)[1:])), draws)
