"""Particles in the order of their states: by size in one dimension, along a Hilbert curve in more."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import namespace
from lockstep.core.types import Array, Tree

MOST_BITS = 16  # of a coordinate


def order_of(states: Tree) -> Array:
    """The order of all particles, so that neighbours in it have states that are near to one another."""
    leaves = jax.tree.leaves(states)
    xp = namespace(leaves[0])
    rows = xp.concatenate([xp.reshape(leaf, (leaf.shape[0], -1)) * 1.0 for leaf in leaves], axis=1)
    if rows.shape[1] == 1:
        return xp.argsort(rows[:, 0]).astype(np.int32)
    bits = max(1, min(MOST_BITS, 62 // rows.shape[1]))
    return xp.argsort(hilbert_index(_cells(rows, bits), bits)).astype(np.int32)


def _cells(rows: Array, bits: int) -> Array:
    """Coordinates as whole numbers of so many bits: standardized, and pressed into (0, 1) by a logistic function."""
    xp = namespace(rows)
    spread = xp.std(rows, axis=0)
    scores = (rows - xp.mean(rows, axis=0)) / xp.where(spread > 0, spread, 1.0)
    return xp.clip(2.0**bits / (1 + xp.exp(-2 * scores)), 0, 2.0**bits - 1).astype(np.int64)


def hilbert_index(cells: Array, bits: int) -> Array:
    """The place of cells (a row of coordinates each) along a Hilbert curve (Skilling, 2004)."""
    xp = namespace(cells)
    dimensions = cells.shape[1]
    x = [cells[:, i] for i in range(dimensions)]
    level = 1 << (bits - 1)
    while level > 1:
        low = level - 1
        for i in range(dimensions):
            is_set = (x[i] & level) != 0
            swapped = (x[0] ^ x[i]) & low
            first = xp.where(is_set, x[0] ^ low, x[0] ^ swapped)
            x[i] = x[i] if i == 0 else xp.where(is_set, x[i], x[i] ^ swapped)
            x[0] = first
        level >>= 1
    # GRAY CODE
    for i in range(1, dimensions):
        x[i] = x[i] ^ x[i - 1]
    flip = xp.zeros_like(x[0])
    level = 1 << (bits - 1)
    while level > 1:
        flip = xp.where((x[-1] & level) != 0, flip ^ (level - 1), flip)
        level >>= 1
    index = xp.zeros_like(x[0])
    for bit in reversed(range(bits)):
        for i in range(dimensions):
            index = (index << 1) | (((x[i] ^ flip) >> bit) & 1)
    return index if xp is np else jnp.asarray(index)
