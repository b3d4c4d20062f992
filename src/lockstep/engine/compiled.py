"""The compiled engine: a block of noise, drawn at once, and a loop of moves that contains no random number generator.

The two are programs of their own, so that the noise of the next block can be drawn while chains move (`Stock`). One
compiled block serves runs of every length.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params

from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.engine import block as limits
from lockstep.engine.block import CELL, Block, Output, cell_keys, noise_of_cells, take
from lockstep.engine.devices import PROGRAMS, calls_host, laid_over, used
from lockstep.engine.early import stopping_early
from lockstep.engine.interface import Engine, Moving
from lockstep.engine.layout import axes, axes_of_laid_out, chains_first, laid_out, laid_out_steps
from lockstep.engine.stock import Stock
from lockstep.engine.thinning import Thinning, counted
from lockstep.host.callback import raised_here

MOST_ON_HOST = 256  # keys of cells that are derived without a program, which other threads wait for


class CompiledEngine(Engine):
    """All chains at once, in a program that is compiled for the kind of the kernel. What black boxes raise arrives."""

    beginning = "compiling"
    trial_steps = CELL

    def init(self, kernel: Kernel, positions: Position, keys: Key) -> Any:
        with raised_here():
            return jax.block_until_ready(_init(kernel, positions, keys))

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return jnp.zeros(shape, dtype)

    def cells_per_block(self, kernel: Kernel, chain_keys: Key, state: Positioned, steps: int) -> int:
        """A power of two that covers the run or keeps memory bounded."""
        chains = chain_keys.shape[0]
        most = min(limits.MOST_CELLS, limits.MOST_UPDATES // (CELL * chains))
        cells = min(_power_below(most), 2 ** math.ceil(math.log2(math.ceil(steps / CELL))))
        noise_bytes, output_bytes = _bytes_per_cell(kernel, chain_keys, state, cells)
        most = min(limits.MOST_NOISE // max(noise_bytes, 1), limits.MOST_OUTPUT // max(output_bytes, 1))
        return min(cells, _power_below(most))

    def stock(self, kernel: Kernel, chain_keys: Key, state: Positioned, cells: int, end: int) -> Stock:
        def draw(first_cell: int) -> Any:
            return _drawn(kernel, chain_keys, state, first_cell, cells)

        return Stock(draw, end, _is_drawn_ahead(kernel, chain_keys, state, cells), len(chain_keys.devices()) == 1)

    def advance(self, moving: Moving, state: Positioned, block: Block, thinning: Thinning) -> tuple[Any, Output]:
        kernel, chain_keys, cells, stock = moving
        gathering = thinning if thinning.is_on else None  # of draws that are single updates nothing need be gathered
        if gathering is not None and gathering.info is None:
            gathering = gathering._replace(info=self.no_info(kernel, chain_keys, state))
        with raised_here():
            if stock is not None and stock.begin(block):
                # The thread compiles what draws, this one what moves.
                shapes = _traced_noise(kernel, chain_keys, state, cells).out_info
                _advance.lower(kernel, state, shapes, block, gathering, cells=cells).compile()
            noise = self.noise(moving, state, block)
            moved = _advance(kernel, state, noise, block, gathering, cells=cells)
            if stock is not None:
                stock.foresee(block)
            state, output = jax.block_until_ready(moved)
        return state, chains_first(jax.tree.map(np.asarray, output), chain_keys.shape[0], leading=1)

    def noise(self, moving: Moving, state: Positioned, block: Block) -> Any:
        """The noise of a block, laid out after an axis over its steps, from a stock if there is one."""
        if moving.stock is not None:
            return moving.stock.of(block)
        return _drawn(moving.kernel, moving.keys, state, block.start // CELL, moving.cells)

    def no_info(self, kernel: Kernel, chain_keys: Key, state: Positioned) -> list[Any]:
        leaves = jax.tree.leaves(_traced_draw(kernel, chain_keys, state, 1).out_info[1])
        return [np.zeros(leaf.shape, counted(leaf.dtype)) for leaf in leaves]

    def spread(self, kernel: Kernel, chain_keys: Key, state: Positioned, devices: int | None) -> tuple[Key, Any]:
        count = used(devices, chain_keys.shape[0])
        # The host is one for all devices.
        if count == 1 or _does_call_host(kernel, chain_keys, state, 1):
            return chain_keys, state
        return laid_over((chain_keys, state), count)

    def compilations(self) -> int:
        return int(_noise._cache_size() + _advance._cache_size())  # type: ignore[attr-defined]


COMPILED = CompiledEngine()


@jax.jit
def _init(kernel: Kernel, positions: Position, keys: Key) -> Any:
    return jax.vmap(kernel.init)(positions, keys)


def _drawn(kernel: Kernel, chain_keys: Key, state: Positioned, first_cell: int, cells: int) -> Any:
    """The noise of a block, by programs that know of the kernel only what draws: others with the same noise use them.

    To compile noise takes three times as long as to compile the moves of a simple kernel.
    """
    # Few keys are derived on the host; those that lie over devices stay there.
    is_small = len(chain_keys.devices()) == 1 and chain_keys.size * cells <= MOST_ON_HOST
    keys = (cell_keys if is_small else _cell_keys)(chain_keys, first_cell, cells=cells)
    return _noise(kernel.noise_source, keys, state.position)


_cell_keys = jax.jit(cell_keys, static_argnames="cells")


@jax.jit
def _noise(kernel: Kernel, keys: Key, positions: Position) -> Any:
    return laid_out_steps(noise_of_cells(kernel, keys, positions))


@functools.partial(jax.jit, static_argnames="cells")
def _advance(
    kernel: Kernel, state: Positioned, noise: Tree, block: Block, thinning: Thinning | None, *, cells: int
) -> tuple[Any, Output]:
    """The compiled block: its states, and its draws in the first slots of the output, laid out."""
    kernel = stopping_early(kernel)
    offset, chains = block.start % CELL, _chains(state)
    row = _row(noise, chains)
    moved, info = jax.eval_shape(jax.vmap(kernel.move), state, row)
    move = jax.vmap(kernel.move, in_axes=(axes(state), axes(row)), out_axes=(axes(moved), axes(info)))
    state, thinning = laid_out(state), thinning and thinning._replace(info=laid_out(thinning.info))

    def body(i: Array, carry: tuple[Any, Output]) -> tuple[Any, Output]:
        state, output = carry
        state, info = move(state, take(noise, offset + i))
        slot = i
        if thinning is not None:
            slot = thinning.slot(i)
            info = thinning.gather(take(output.info, slot), info, i)
        return state, jax.tree.map(
            lambda buffer, value: jax.lax.dynamic_update_index_in_dim(buffer, value, slot, 0),
            output,
            Output(state.position, info),
        )

    moved, info = jax.eval_shape(move, state, take(noise, 0))
    slots = cells * CELL

    def empty(leaf: Array) -> Array:
        return jnp.zeros((slots, *leaf.shape), leaf.dtype)

    infos = jax.tree.map(empty, info) if thinning is None else thinning.buffers(info, slots)
    output = Output(jax.tree.map(empty, moved.position), infos)
    state, output = jax.lax.fori_loop(0, block.steps, body, (state, output))
    return chains_first(state, chains), output


@jax.jit
def _draw(kernel: Kernel, state: Positioned, row: Tree) -> tuple[Any, Any]:
    """One update of all chains. Never run: its trace tells sizes, and is cached, as is that of the noise."""
    moved, info = jax.vmap(kernel.move)(state, row)
    return moved.position, info


def _traced_noise(kernel: Kernel, chain_keys: Key, state: Positioned, cells: int) -> Any:
    """The trace of the noise of a block; that of its program, which is not traced again."""
    keys = jax.ShapeDtypeStruct((_chains(state), cells, *chain_keys.shape[1:]), chain_keys.dtype)
    return _noise.trace(kernel.noise_source, keys, state.position)


def _traced_draw(kernel: Kernel, chain_keys: Key, state: Positioned, cells: int) -> Any:
    noise = _traced_noise(kernel, chain_keys, state, cells).out_info
    return _draw.trace(kernel, state, _row(noise, _chains(state)))


def _row(noise: Tree, chains: int) -> Any:
    """What the noise of one step looks like, with its chains first."""

    def without_steps(leaf: Array, axis: int) -> Any:
        shape = list(leaf.shape)
        shape.insert(1, shape.pop(axis))
        return jax.ShapeDtypeStruct(shape[1:], leaf.dtype)

    return jax.tree.map(without_steps, noise, axes_of_laid_out(noise, chains, leading=1))


def _chains(state: Positioned) -> int:
    return int(jax.tree.leaves(state)[0].shape[0])


def _does_call_host(kernel: Kernel, chain_keys: Key, state: Positioned, cells: int) -> bool:
    traced = (trace(kernel, chain_keys, state, cells) for trace in (_traced_noise, _traced_draw))
    return any(calls_host(one.jaxpr.jaxpr) for one in traced)


def _is_drawn_ahead(kernel: Kernel, chain_keys: Key, state: Positioned, cells: int) -> bool:
    """Whether the noise of a block may be drawn while the block before it is used.

    Not where it would take much memory a second time, or where the host is called, whose errors belong to who asks.
    """
    if cells * _bytes_per_cell(kernel, chain_keys, state, cells)[0] > limits.MOST_NOISE:
        return False
    return not _does_call_host(kernel, chain_keys, state, cells)


def _bytes_per_cell(kernel: Kernel, chain_keys: Key, state: Positioned, cells: int) -> tuple[int, int]:
    """The noise of a cell, or the largest array on the way to it, and the draws that the cell leaves.

    As they are in a block of so many cells: what belongs to no cell counts as a part of each.
    """
    traced = _traced_noise(kernel, chain_keys, state, cells)
    noise = max(_bytes(traced.out_info), _largest(traced.jaxpr.jaxpr))
    return -(-noise // cells), CELL * _bytes(_traced_draw(kernel, chain_keys, state, cells).out_info)


def _power_below(most: int) -> int:
    """The largest power of two that is no more than a number, or 1."""
    return int(2 ** math.floor(math.log2(max(most, 1))))


def _bytes(tree: Tree) -> int:
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


@functools.lru_cache(maxsize=PROGRAMS)
def _largest(jaxpr: Any) -> int:
    """The largest array that any step of a traced program makes."""
    inner = [inside for equation in jaxpr.eqns for inside in jaxprs_in_params(equation.params)]
    made = [_bytes(out.aval) for equation in jaxpr.eqns for out in equation.outvars]
    return max([0, *made, *(_largest(inside) for inside in inner)])
