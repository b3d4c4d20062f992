"""The compiled driver: a block of noise, drawn at once, and a loop of moves that contains no random number generator.

The noise of step ``t`` of chain ``c`` is a pure function of (seed, c, t): row ``t % CELL`` of the cell ``t // CELL``,
whose key is ``fold_in(chain_key, cell)``. A block may begin and end at any step; whole cells are drawn, and the rows
that belong to the block are used. One compiled block serves runs of every length.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.extend.core import jaxprs_in_params

from lockstep.core.parts import key_of
from lockstep.core.types import Array, Key, Position
from lockstep.host.callback import raised_here

CELL = 64
MOST_UPDATES = 2**18  # of all chains together in one block
MOST_CELLS = 1024
MOST_NOISE = 2**24  # bytes of noise, and of what it is made of, in one block (but always at least one cell a chain)
MOST_OUTPUT = 2**26  # bytes of draws in one block
ARRAYS = jnp  # states are arrays of this kind
BEGINNING = "compiling"  # what the first block begins with, for those who wait for it
TRIAL_STEPS = CELL  # of each chain: after these a run without one valid ratio is given up


class Block(NamedTuple):
    """Where a block lies in a run: its first step, how many steps it takes, and how far into a draw it begins."""

    start: int
    steps: int
    thin: int
    phase: int


class Output(NamedTuple):
    """What a block leaves: draws with leading axes (draws, chains)."""

    positions: Position
    info: Any


def advance(
    kernel: Any, chain_keys: Key, state: Any, block: Block, past: Any = None, *, cells: int, is_thinned: bool
) -> tuple[Any, Output]:
    """Take the steps of a block with all chains; return their states, and the draws in the first slots of the output.

    With ``is_thinned`` the info is gathered over the interval of each draw. ``past`` holds the leaves of the info of a
    draw that the last block began and this one continues (`no_info` if there is none): sums are then taken in one
    order, wherever blocks end.

    What a batched black box raises arrives as itself.
    """
    with raised_here():
        return jax.block_until_ready(
            _advance(kernel, chain_keys, state, block, past, cells=cells, is_thinned=is_thinned)
        )


def compilations() -> int:
    """How many programs there are so far: a block that added one tells nothing about the speed of the next."""
    return int(_advance._cache_size())  # type: ignore[attr-defined]


def init(kernel: Any, positions: Position, keys: Key) -> Any:
    """The states of all chains at their positions."""
    with raised_here():
        return jax.block_until_ready(_init(kernel, positions, keys))


@jax.jit
def _init(kernel: Any, positions: Position, keys: Key) -> Any:
    return jax.vmap(kernel.init)(positions, keys)


@functools.partial(jax.jit, static_argnames=("cells", "is_thinned"))
def _advance(
    kernel: Any, chain_keys: Key, state: Any, block: Block, past: Any, *, cells: int, is_thinned: bool
) -> tuple[Any, Output]:
    """The compiled block."""
    noise = block_noise(kernel, chain_keys, state, block.start // CELL, cells)
    offset = block.start % CELL
    move = jax.vmap(kernel.move)

    def record(state: Any, info: Any) -> Output:
        return Output(state.position, _counted(info) if is_thinned else info)

    def body(i: Array, carry: tuple[Any, Output]) -> tuple[Any, Output]:
        state, output = carry
        state, info = move(state, take(noise, offset + i))
        slot = (block.phase + i) // block.thin if is_thinned else i
        now = record(state, info)
        if is_thinned:
            is_first = (block.phase + i) % block.thin == 0
            now = Output(now.positions, gather(take(output.info, slot), now.info, is_first))
        return state, jax.tree.map(
            lambda buffer, value: jax.lax.dynamic_update_index_in_dim(buffer, value, slot, 0), output, now
        )

    shapes = jax.eval_shape(lambda s, n: record(*move(s, n)), state, take(noise, 0))
    slots = cells * CELL
    output = jax.tree.map(lambda leaf: jnp.zeros((slots, *leaf.shape), leaf.dtype), shapes)
    if is_thinned and past is not None:
        begun = jax.tree.unflatten(jax.tree.structure(output.info), past)
        output = Output(output.positions, jax.tree.map(lambda leaf, old: leaf.at[0].set(old), output.info, begun))
    return jax.lax.fori_loop(0, block.steps, body, (state, output))


def no_info(kernel: Any, chain_keys: Key, state: Any) -> Any:
    """The leaves of the info of a draw that has not begun, for blocks of a thinned run."""
    leaves = jax.tree.leaves(_one_cell.trace(kernel, chain_keys, state).out_info[1][1])
    return [np.zeros(leaf.shape, np.int32 if leaf.dtype == np.dtype(bool) else leaf.dtype) for leaf in leaves]


def _counted(info: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype(np.int32) if leaf.dtype == bool else leaf, info)


def take(tree: Any, i: Array) -> Any:
    """One entry along the first axis of every leaf."""
    return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, i, keepdims=False), tree)


def gather(past: Any, now: Any, is_first: Array) -> Any:
    """Info over an interval: flags are counted, what its type lists as ``summed`` is added, the rest is the last."""
    summed = getattr(now, "summed", ())

    def combine(path: Any, old: Array, new: Array) -> Array:
        is_sum = new.dtype == np.int32 or key_of(path[0]) in summed
        return jnp.where(is_first, new, old + new) if is_sum else new

    return jax.tree_util.tree_map_with_path(combine, past, now)


def block_noise(kernel: Any, chain_keys: Key, state: Any, first_cell: Array, cells: int) -> Any:
    """The noise of whole cells, with leading axes (steps, chains)."""

    def of_cell(chain_key: Key, position: Position, cell: Array) -> Any:
        return kernel.noise(jr.fold_in(chain_key, cell), position, (CELL,))

    over_cells = jax.vmap(of_cell, in_axes=(None, None, 0))
    noise = jax.vmap(over_cells, in_axes=(0, 0, None))(chain_keys, state.position, first_cell + jnp.arange(cells))

    def steps_first(leaf: Array) -> Array:
        return jnp.moveaxis(leaf.reshape((leaf.shape[0], cells * CELL, *leaf.shape[3:])), 1, 0)

    # The barrier keeps XLA from fusing the noise into the loop, where it would be computed anew at each step.
    return jax.lax.optimization_barrier(jax.tree.map(steps_first, noise))


def cells_per_block(kernel: Any, chain_keys: Key, state: Any, steps: int) -> int:
    """How many cells a block should have: a power of two that covers the run or keeps memory bounded."""
    noise_bytes, output_bytes = _bytes_per_cell(kernel, chain_keys, state)
    most = min(
        MOST_CELLS,
        MOST_UPDATES // (CELL * chain_keys.shape[0]),
        MOST_NOISE // max(noise_bytes, 1),
        MOST_OUTPUT // max(output_bytes, 1),
    )
    needed = math.ceil(steps / CELL)
    return int(2 ** min(math.floor(math.log2(max(most, 1))), math.ceil(math.log2(needed))))


@jax.jit
def _one_cell(kernel: Any, chain_keys: Key, state: Any) -> tuple[Any, Any]:
    """The noise of one cell, and a draw made with its first row. Never run: its trace tells sizes, and is cached."""
    noise = block_noise(kernel, chain_keys, state, 0, 1)
    moved, info = jax.vmap(kernel.move)(state, take(noise, 0))
    return noise, (moved.position, info)


def _bytes_per_cell(kernel: Any, chain_keys: Key, state: Any) -> tuple[int, int]:
    """The noise of a cell, or the largest array on the way to it, and the draws that the cell leaves."""
    traced = _one_cell.trace(kernel, chain_keys, state)
    noise, draw = traced.out_info
    return max(_bytes(noise), _largest(traced.jaxpr.jaxpr)), CELL * _bytes(draw)


def _bytes(tree: Any) -> int:
    return sum(math.prod(leaf.shape) * getattr(leaf.dtype, "itemsize", 8) for leaf in jax.tree.leaves(tree))


def _largest(jaxpr: Any) -> int:
    """The largest array that any step of a traced program makes."""
    inner = [inside for equation in jaxpr.eqns for inside in jaxprs_in_params(equation.params)]
    made = [_bytes(out.aval) for equation in jaxpr.eqns for out in equation.outvars]
    return max([0, *made, *(_largest(inside) for inside in inner)])
