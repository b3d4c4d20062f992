"""The interpreted driver: the same kernels, noise and blocks as compiled code, with moves in Python on NumPy arrays.

Chains take their steps of a block one after the other. Everything that the next block needs is in the states and in the
number of its first step.
"""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from lockstep.core.parts import is_named, key_of
from lockstep.core.types import Key, Noise, Position
from lockstep.engine import compiled
from lockstep.engine.compiled import CELL, Block, Output
from lockstep.engine.hosted import hosted, to_host
from lockstep.host.boxes import forgotten
from lockstep.host.generator import RandomKey, seeds_of
from lockstep.host.scope import quiet

ARRAYS = np  # states are arrays of this kind
BEGINNING = "first update"
TRIAL_STEPS = 1  # as in the compiled driver: one call of a black box may take minutes
MOST_CELLS = 64  # of a block, whose records are Python objects


@functools.partial(jax.jit, static_argnames="cells")
def _noise(kernel: Any, chain_keys: Key, state: Any, first_cell: Any, cells: int) -> Any:
    noise = compiled.block_noise(kernel, chain_keys, state, first_cell, cells)
    return jax.tree.map(RandomKey.of, noise)


def compilations() -> int:
    """How many programs there are so far: a block that added one tells nothing about the speed of the next."""
    return int(_noise._cache_size())  # type: ignore[attr-defined]


def cells_per_block(kernel: Any, chain_keys: Key, state: Any, steps: int) -> int:
    """How many cells a block may have at the most, so that its noise and its draws stay small."""
    noise = jax.eval_shape(functools.partial(_noise, cells=1), forgotten(kernel), chain_keys, state, 0)
    bytes_per_cell = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(noise))
    draw_bytes = CELL * sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(state))
    most = min(MOST_CELLS, compiled.MOST_NOISE // max(bytes_per_cell, 1), compiled.MOST_OUTPUT // max(draw_bytes, 1))
    return 1 << (min(max(most, 1), -(-steps // CELL)).bit_length() - 1)


def init(kernel: Any, positions: Position, keys: Key) -> Any:
    """The states of all chains at their positions."""
    positions = to_host(positions)
    with quiet():
        kernel = hosted(kernel)
        states = [to_host(kernel.init(_one(positions, chain), keys[chain])) for chain in range(len(keys))]
    return _stacked(states)


def advance(
    kernel: Any, chain_keys: Key, state: Any, block: Block, past: Any = None, *, cells: int, is_thinned: bool
) -> tuple[Any, Output]:
    """Take the steps of a block with all chains: what `compiled.advance` does, in Python."""
    offset = block.start % CELL
    noise = _noise(forgotten(kernel), chain_keys, state, block.start // CELL, cells=cells)
    steps = slice(offset, offset + block.steps)
    state = to_host(state)
    states, outputs = [], []
    with quiet(), _old_objects_set_aside():
        kernel = hosted(kernel)
        for chain in range(len(chain_keys)):
            rows = itertools.islice(rows_of(noise, steps, chain), block.steps)
            end, positions, infos = walk(kernel.move, _one(state, chain), rows, block.start, chain)
            states.append(end)
            begun = None if past is None else [leaf[chain] for leaf in past]
            outputs.append(_output(positions, infos, block, begun, is_thinned))
    return _stacked(states), jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *outputs)


@contextmanager
def _old_objects_set_aside() -> Iterator[None]:
    """A scope in which Python's garbage collector looks through new objects only.

    A block keeps thousands of small ones until its end; for each so many the collector would look through all that JAX
    and the user's program have made before, which can take longer than the block.
    """
    if gc.get_freeze_count():  # set aside by somebody else
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def walk(move: Any, state: Any, rows: Iterable[Any], start: int, chain: int) -> tuple[Any, list[Any], list[Any]]:
    """The steps of one chain; whatever a user's function raises says where it was raised."""
    positions, infos = [], []
    try:
        for row in rows:
            state, info = move(state, row)
            positions.append(state.position)
            infos.append(info)
    except BaseException as error:
        error.add_note(f"This was in update {start + len(infos)} of chain {chain} (both counted from 0).")
        raise
    return state, positions, infos


def rows_of(noise: Any, steps: slice, chain: int) -> Iterable[Any]:
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


def _output(positions: list[Any], infos: list[Any], block: Block, begun: Any, is_thinned: bool) -> Output:
    """Draws with a leading axis; a thinned block gathers its info as compiled code does, going on from ``begun``."""
    if not is_thinned:
        return Output(_stacked(positions), _stacked(infos))
    slots = (block.phase + np.arange(block.steps)) // block.thin
    first = np.flatnonzero(np.diff(slots, prepend=-1))
    last = np.append(first[1:], len(slots)) - 1
    summed = getattr(infos[0], "summed", ())
    info = _stacked(infos)
    old = None if begun is None else jax.tree.unflatten(jax.tree.structure(info), begun)

    def gather(path: Any, leaf: Any, *past: Any) -> Any:
        if leaf.dtype != bool and key_of(path[0]) not in summed:
            return leaf[last]
        leaf = leaf.astype(np.int32) if leaf.dtype == bool else leaf
        whole = np.concatenate([np.asarray(past)[:1].astype(leaf.dtype), leaf]) if past else leaf
        starts = np.append(0, first[1:] + 1) if past else first
        # One after the other: `reduceat` would add in an order that depends on where the block ends.
        parts = np.split(whole, starts[1:])
        return np.array([np.add.accumulate(part, dtype=leaf.dtype)[-1] for part in parts], leaf.dtype)

    trees = (info,) if old is None else (info, old)
    return Output(_stacked([positions[i] for i in last]), jax.tree_util.tree_map_with_path(gather, *trees))


def no_info(kernel: Any, chain_keys: Key, state: Any) -> None:
    """Nothing: a draw that has not begun needs no info here."""


def _stacked(trees: Sequence[Any]) -> Any:
    """One tree of arrays with a leading axis over the trees."""
    first = trees[0]
    if isinstance(first, (np.ndarray, np.generic, float)):
        return np.array(trees)
    if first is None:
        return None
    if is_named(first):
        return type(first)(*map(_stacked, zip(*trees, strict=True)))
    return jax.tree.map(lambda *leaves: np.array(leaves), *trees)


def _one(tree: Any, chain: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[chain], tree)
