"""The interpreted engine: the same kernels, noise and blocks as compiled code, with moves in Python on NumPy arrays.

Chains take their steps of a block one after the other. Everything that the next block needs is in the states and in the
number of its first step.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from numpy.typing import DTypeLike

from lockstep.core.kernel import Kernel, Noise, Positioned
from lockstep.core.trees import is_named
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.engine import block as limits
from lockstep.engine.block import CELL, Block, Output, block_noise
from lockstep.engine.early import stopping_early
from lockstep.engine.hosted import hosted, to_host
from lockstep.engine.interface import Engine, Moving
from lockstep.engine.thinning import Thinning
from lockstep.host.boxes import forgotten
from lockstep.host.generator import RandomKey, seeds_of
from lockstep.host.scope import quiet

MOST_CELLS = 64  # of a block
PIECE = CELL  # updates whose records are objects: were they more, the garbage collector would look through all there is
Walked: TypeAlias = tuple[Any, Output]  # where a chain is after a block, and its updates (a leading axis)


class InterpretedEngine(Engine):
    """One chain after the other, in Python. One call of a black box may take minutes, so that one step is a trial."""

    beginning = "first update"
    trial_steps = 1

    def init(self, kernel: Kernel, positions: Position, keys: Key) -> Any:
        positions = to_host(positions)
        with quiet():
            kernel = hosted(kernel)
            states = [to_host(kernel.init(_one(positions, chain), keys[chain])) for chain in range(len(keys))]
        return _stacked(states)

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        return np.zeros(shape, dtype)

    def cells_per_block(self, kernel: Kernel, chain_keys: Key, state: Positioned, steps: int) -> int:
        noise = _noise.eval_shape(forgotten(kernel), chain_keys, state, 0, cells=1)
        bytes_per_cell = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(noise))
        draw_bytes = CELL * sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(state))
        most = min(MOST_CELLS, limits.MOST_NOISE // max(bytes_per_cell, 1), limits.MOST_OUTPUT // max(draw_bytes, 1))
        return 1 << (min(max(most, 1), -(-steps // CELL)).bit_length() - 1)

    def advance(self, moving: Moving, state: Positioned, block: Block, thinning: Thinning) -> tuple[Any, Output]:
        starts = list(beginnings(moving, state, block))
        with quiet():
            move = walking(moving.kernel).move
            walked = [walk(move, *start, block, chain) for chain, start in enumerate(starts)]
        return gathered(walked, thinning)

    def no_info(self, kernel: Kernel, chain_keys: Key, state: Positioned) -> None:
        return None

    def compilations(self) -> int:
        return int(_noise._cache_size())  # type: ignore[attr-defined]


INTERPRETED = InterpretedEngine()


@functools.partial(jax.jit, static_argnames="cells")
def _noise(kernel: Kernel, chain_keys: Key, state: Positioned, first_cell: Array | int, cells: int) -> Any:
    noise = block_noise(kernel, chain_keys, state, first_cell, cells)
    return jax.tree.map(RandomKey.of, noise)


def beginnings(moving: Moving, state: Positioned, block: Block) -> Iterator[tuple[Any, Iterable[Any]]]:
    """The state of each chain at the beginning of a block, and the noise of its steps."""
    offset = block.start % CELL
    noise = _noise(forgotten(moving.kernel), moving.keys, state, block.start // CELL, cells=moving.cells)
    state = to_host(state)
    for chain in range(len(moving.keys)):
        rows = rows_of(noise, slice(offset, offset + block.steps), chain)
        yield _one(state, chain), itertools.islice(rows, block.steps)


def gathered(walked: Sequence[Walked], thinning: Thinning) -> tuple[Any, Output]:
    """The states of all chains after a block, and its draws, with leading axes (draws, chains)."""
    outputs = [thinning.of_chain(chain).gather_draws(updates) for chain, (_, updates) in enumerate(walked)]
    return _stacked([end for end, _ in walked]), jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *outputs)


def walking(kernel: Kernel) -> Any:
    """The kernel as it moves here."""
    return hosted(stopping_early(kernel))


def walk(move: Callable[..., Any], state: Positioned, rows: Iterable[Any], block: Block, chain: int) -> Walked:
    """The steps of one chain; whatever a user's function raises says where it was raised."""
    updates, rows = list[Output](), iter(rows)
    done, infos = 0, list[Any]()
    try:
        for done in range(0, block.steps, PIECE):
            positions, infos = [], []
            for row in itertools.islice(rows, min(PIECE, block.steps - done)):
                state, info = move(state, row)
                positions.append(state.position)
                infos.append(info)
            updates.append(Output(_stacked(positions), _stacked(infos)))
    except BaseException as error:
        number = block.start + done + len(infos)
        error.add_note(f"This was in update {number} of chain {chain} (both counted from 0).")
        raise
    return state, jax.tree.map(lambda *pieces: np.concatenate(pieces), *updates)


def rows_of(noise: Tree, steps: slice, chain: int) -> Iterable[Any]:
    """The noise of one chain, a tree a step (and no end of them if there is no noise)."""
    if isinstance(noise, RandomKey):
        words = np.asarray(noise.words)[steps, chain]
        return map(RandomKey, words, seeds_of(words))
    if jax.tree_util.all_leaves([noise]):
        return list(np.asarray(noise)[steps, chain])
    if isinstance(noise, tuple) and noise:
        columns = [rows_of(inner, steps, chain) for inner in noise]
        # A kernel takes its noise apart at once: names would only cost time.
        is_plain = isinstance(noise, Noise) or not is_named(noise)
        return zip(*columns, strict=False) if is_plain else map(type(noise), *columns)
    structure: Any
    children, structure = jax.tree.flatten(noise, is_leaf=lambda node: node is not noise)
    if not children:
        return itertools.repeat(noise)
    return map(structure.unflatten, zip(*(rows_of(child, steps, chain) for child in children), strict=False))


def _stacked(trees: Sequence[Any]) -> Any:
    """One tree of arrays with a leading axis over the trees."""
    first = trees[0]
    if isinstance(first, (np.ndarray, np.generic, float)):
        return np.array(trees)
    if first is None:
        return None
    if isinstance(first, tuple):
        columns = map(_stacked, zip(*trees, strict=True))
        return type(first)(*columns) if is_named(first) else tuple(columns)
    return jax.tree.map(lambda *leaves: np.array(leaves), *trees)


def _one(tree: Tree, chain: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[chain], tree)
