"""A block: some steps of all chains, with their noise drawn at once. What both engines share.

The noise of step ``t`` of chain ``c`` is a pure function of (seed, c, t): row ``t % CELL`` of the cell ``t // CELL``,
whose key is ``fold_in(chain_key, cell)``. A block may begin and end at any step; whole cells are drawn, and the rows
that belong to the block are used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.types import Array, Key, Position, Tree

CELL = 64
MOST_UPDATES = 2**17  # of all chains together in one block
MOST_CELLS = 2048
MOST_NOISE = 2**24  # bytes of noise, and of what it is made of, in one block (but always at least one cell a chain)
MOST_OUTPUT = 2**26  # bytes of draws in one block


class Block(NamedTuple):
    """Where a block lies in a run: its first step, and how many steps it takes."""

    start: int
    steps: int


class Output(NamedTuple):
    """What a block leaves: draws with leading axes (draws, chains)."""

    positions: Position
    info: Any


def block_noise(kernel: Kernel, chain_keys: Key, state: Positioned, first_cell: Array, cells: int) -> Any:
    """The noise of whole cells, with leading axes (steps, chains)."""
    noise = noise_of_cells(kernel, cell_keys(chain_keys, first_cell, cells), state.position)
    noise = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), noise)
    # The barrier keeps XLA from fusing the noise into the loop, where it would be computed anew at each step.
    return jax.lax.optimization_barrier(noise)


def cell_keys(chain_keys: Key, first_cell: Array, cells: int) -> Key:
    """The keys of whole cells, with axes (chains, cells)."""
    return random.fold_in(chain_keys, first_cell + np.arange(cells))


def noise_of_cells(kernel: Kernel, keys: Key, positions: Position) -> Any:
    """The noise of cells, of which these are the keys, with leading axes (chains, steps)."""

    def of_cell(key: Key, position: Position) -> Any:
        return kernel.noise(key, position, (CELL,))

    noise = jax.vmap(jax.vmap(of_cell, in_axes=(0, None)))(keys, positions)

    def joined(leaf: Array) -> Array:
        return leaf.reshape((leaf.shape[0], leaf.shape[1] * CELL, *leaf.shape[3:]))

    # Behind a barrier: the loop that makes noise would run over the axes as they are laid out, which takes longer.
    return jax.lax.optimization_barrier(jax.tree.map(joined, noise))


def take(tree: Tree, i: Array) -> Any:
    """One entry along the first axis of every leaf."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, i, keepdims=False), tree)
