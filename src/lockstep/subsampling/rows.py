"""The rows of a data set: JAX arrays in memory, or memory-mapped files of which only the rows in use are read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

from lockstep.core import random
from lockstep.core.arguments import is_array, shapes
from lockstep.core.parts import part, static
from lockstep.core.precision import double_precision
from lockstep.core.trees import Settled, is_key
from lockstep.core.types import Array, Key, Shape, Tree
from lockstep.host.callback import on_host

BLOCK_BYTES = 2**24
MOST_ROWS = 2**31 - 1  # row numbers have 32 bits


class Files:
    """Memory-mapped arrays, told apart by identity; rows are read on the host, in the order of the file."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays

    def take(self, indices: Array) -> Any:
        """The rows of an array of indices of any shape."""
        indices = np.asarray(indices)
        order = np.argsort(indices, axis=None)

        def read(leaf: Array) -> np.ndarray:
            rows = np.empty((indices.size, *leaf.shape[1:]), leaf.dtype)
            rows[order] = leaf[indices.ravel()[order]]
            return rows.reshape(*indices.shape, *leaf.shape[1:])

        return jax.tree.map(read, self.arrays)

    def fetch(self, indices: Array) -> Any:
        """The rows, from within a compiled program: one call to the host for all of a block."""

        def like(leaf: Array) -> Any:
            return jax.ShapeDtypeStruct((*indices.shape, *leaf.shape[1:]), leaf.dtype)

        return on_host(self.take, jax.tree.map(like, self.arrays), indices)


@part
class Rows(Settled):
    """A pytree of arrays with a common first axis.

    In memory the arrays are leaves, shared by all chains, in the precision in which they came: a row becomes double
    precision when it is taken. On disk (`numpy.memmap`) they are no leaves: the indices of a whole block of updates are
    known before the block runs, and one call to the host reads their rows.
    """

    arrays: Any
    size: int = static()
    files: Files | None = static(default=None)

    def take(self, indices: Array) -> Any:
        """Rows by number in double precision: each leaf gets the shape of the indices, then that of a row."""
        return widened(self.pick(indices))

    def pick(self, indices: Array) -> Any:
        """The same in the precision in which they came."""
        if self.files is not None:
            return self.files.fetch(indices)
        return jax.tree.map(lambda leaf: leaf.at[indices].get(mode="promise_in_bounds"), self.arrays)

    def block(self, start: int, stop: int) -> Any:
        """Consecutive rows, floats in double precision."""
        with double_precision():
            return jax.tree.map(lambda leaf: jnp.asarray(leaf[start:stop], _wide(leaf.dtype)), self._on_host)

    def blocks(self, length: int) -> Iterator[tuple[int, int, Any]]:
        """All rows in blocks of one length: the number of the first row, how many to skip, and the block.

        The last block begins earlier than where the one before it ended, so that one program does for all of them.
        They are in the precision in which they came: whoever sums them widens them piece by piece.
        """
        for start in range(0, self.size, length):
            first = max(0, min(start, self.size - length))
            with double_precision():  # integers of 64 bits stay what they are
                block = jax.tree.map(lambda leaf, at=first: jnp.asarray(leaf[at : at + length]), self._on_host)
            yield first, start - first, block

    def some(self, count: int) -> Rows:
        """So many rows chosen at random, always the same ones; all if there are no more."""
        if self.size <= count and self.files is None:
            return self
        chosen = np.sort(np.random.default_rng(0).choice(self.size, min(count, self.size), replace=False))
        with double_precision():
            return Rows(jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf[chosen])), self._on_host), len(chosen))

    @property
    def _on_host(self) -> Any:
        """As NumPy arrays, without a copy: a part of one is no program to be compiled."""
        return jax.tree.map(np.asarray, self.arrays) if self.files is None else self.files.arrays

    @property
    def bytes_per_row(self) -> int:
        """How much memory a row takes once it is taken."""
        leaves = jax.tree.leaves(self.arrays if self.files is None else self.files.arrays)
        return sum(math.prod(leaf.shape[1:]) * _wide(leaf.dtype).itemsize for leaf in leaves)

    def __repr__(self) -> str:
        return f"{self.size:,} rows" + (" on disk" if self.files is not None else "")


def widened(rows: Tree) -> Any:
    """Rows in double precision."""
    return jax.tree.map(lambda leaf: leaf.astype(_wide(leaf.dtype)), rows)


def as_rows(data: Tree) -> Rows:
    """Check data of a user and hold them as rows."""
    if isinstance(data, Rows):
        return data
    leaves = jax.tree_util.tree_flatten_with_path(data)[0]
    if not leaves:
        raise ValueError(f"data is {data!r}, which holds no array; give arrays with a row for each observation")
    for path, leaf in leaves:
        if not is_array(leaf) or is_key(leaf):
            raise TypeError(f"data{_key(path)} is {leaf!r}; it must be an array with a row for each observation")
        if np.ndim(leaf) == 0:
            raise ValueError(
                f"data{_key(path)} is the single number {leaf!r}; every array of data needs a first axis over the rows "
                f"(settings that all rows share belong into log_likelihood)"
            )
    sizes = {np.shape(leaf)[0] for _, leaf in leaves}
    if len(sizes) > 1:
        lengths = ", ".join(f"data{_key(path)} has {np.shape(leaf)[0]:,}" for path, leaf in leaves)
        raise ValueError(f"data is ragged: {lengths} rows; all of its arrays must have a first axis of one length")
    size = sizes.pop()
    if size == 0:
        raise ValueError(f"data is {shapes(data)}: there is no row in it; give at least one")
    if size > MOST_ROWS:
        raise ValueError(f"data has {size:,} rows; at most {MOST_ROWS:,} can be counted")
    _require_finite(leaves)
    if any(isinstance(leaf, np.memmap) for _, leaf in leaves):
        return Rows((), size, Files(jax.tree.map(np.asanyarray, data)))
    with double_precision():
        return Rows(jax.tree.map(jnp.asarray, data), size)


def draw_indices(key: Key, size: int, cumulative: Array, shape: Shape) -> Array:
    """Row numbers, equally likely or with given cumulative probabilities."""
    if cumulative is None:
        return random.below(key, size, shape)
    found = jnp.searchsorted(cumulative, random.uniform(key, shape) * cumulative[-1], side="right")
    return found.clip(0, size - 1).astype(np.int32)


def _require_finite(leaves: Any) -> None:
    for path, leaf in leaves:
        if np.dtype(leaf.dtype).kind != "f":
            continue
        length = max(1, BLOCK_BYTES // max(1, leaf.nbytes // len(leaf)))
        for start in range(0, len(leaf), length):
            block = np.asarray(leaf[start : start + length])
            if not np.isfinite(block).all():
                row, *_ = np.argwhere(~np.isfinite(block))[0]
                value = block[row][~np.isfinite(block[row])].ravel()[0]
                raise ValueError(
                    f"data{_key(path)} holds {value} in row {start + row:,}; leave such rows out, or code what is "
                    f"missing with a finite number that log_likelihood knows"
                )


def _wide(dtype: DTypeLike) -> np.dtype:
    return np.dtype(np.float64) if np.dtype(dtype).kind == "f" else np.dtype(dtype)


def _key(path: Any) -> str:
    return jax.tree_util.keystr(path)
