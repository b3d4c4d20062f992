"""Sums over all rows, block by block: the log likelihood, its gradient and its Hessian."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.flat import unflatten
from lockstep.core.types import Array, Position, Tree
from lockstep.subsampling.rows import Rows, widened

MOST_NUMBERS = 2**22  # in the largest array of one block
MOST_ROWS = 2**15  # of one block: a search on so many rows and one on all of them share a program
PIECE_NUMBERS = 2**15  # in the largest array that is worked on at once: it stays in the processor's cache
LEAST_ROWS = 64
FEW = 4  # positions


class Sums(NamedTuple):
    """A sum over rows at one position, as a function of the flat position: value, gradient, Hessian."""

    value: Array
    gradient: Array
    hessian: Array

    def __add__(self, other: Any) -> Sums:
        return Sums(*(first + second for first, second in zip(self, other, strict=True)))

    def __mul__(self, factor: Any) -> Sums:
        return Sums(*(factor * number for number in self))

    def quadratic(self, steps: Array) -> Array:
        """The quadratic with these derivatives, at several steps from where they were taken."""
        return self.value + steps @ self.gradient + 0.5 * np.sum((steps @ self.hessian) * steps, axis=1)


def block_length(rows: Rows, dimension: int) -> int:
    """How many rows at once: bounded memory, one compiled program for all blocks."""
    numbers = max(dimension, rows.bytes_per_row // 8, 1)
    return min(rows.size, MOST_ROWS, max(LEAST_ROWS, MOST_NUMBERS // numbers))


def derivatives(function: Callable[..., Any], vector: Array, like: Position) -> Sums:
    """Value, gradient and Hessian of a function of a position, at a flat position."""

    def of_vector(v: Array) -> Array:
        return function(unflatten(v, like))

    # Linearized once, the gradient is computed once for all columns of the Hessian.
    (value, gradient), along = jax.linearize(jax.value_and_grad(of_vector), vector)
    return Sums(value, gradient, jax.vmap(lambda direction: along(direction)[1])(jnp.eye(len(vector))))


@jax.jit
def block_derivatives(
    log_likelihood: Callable[..., Any], block: Any, skipped: int, vector: Array, like: Position
) -> Sums:
    """The sum over a block without its first rows, with its derivatives."""

    def of_piece(rows: Tree, is_counted: Array) -> Sums:
        def total(position: Position) -> Array:
            return _sum(jax.vmap(log_likelihood, in_axes=(None, 0))(position, rows), is_counted)

        return derivatives(total, vector, like)

    return _over_pieces(of_piece, block, skipped, len(vector))


def all_derivatives(log_likelihood: Callable[..., Any], rows: Rows, vector: Array, like: Position) -> Sums:
    """The sum over all rows, with its derivatives."""
    found = [
        block_derivatives(log_likelihood, block, skipped, vector, like)
        for _, skipped, block in rows.blocks(block_length(rows, len(vector)))
    ]
    return jax.tree.map(lambda *parts: np.sum(parts, axis=0), *found)


@jax.jit
def block_values(
    log_likelihood: Callable[..., Any], block: Any, skipped: int, vectors: Array, count: int, like: Position
) -> Array:
    """The sum over a block without its first rows, at the first ``count`` of several flat positions, and zeros."""

    def of_piece(rows: Tree, is_counted: Array) -> Array:
        def fill(i: Array, totals: Array) -> Array:
            values = jax.vmap(log_likelihood, in_axes=(None, 0))(unflatten(vectors[i], like), rows)
            return totals.at[i].set(_sum(values, is_counted))

        return jax.lax.fori_loop(0, count, fill, jnp.zeros(len(vectors)))

    return _over_pieces(of_piece, block, skipped, 1)


def _over_pieces(function: Callable[..., Any], block: Any, skipped: int, dimension: int) -> Any:
    """The sum of ``function(rows, is_counted)`` over pieces of a block, the rows in double precision.

    The last piece begins earlier than where the one before it ended, as the last block does.
    """
    leaves = jax.tree.leaves(block)
    length = len(leaves[0])
    width = max(dimension, sum(math.prod(leaf.shape[1:]) for leaf in leaves), 1)
    piece = min(length, max(LEAST_ROWS, PIECE_NUMBERS // width))

    def of_piece(start: Array) -> Any:
        first = jnp.minimum(start, length - piece)
        rows = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, piece), block)
        return function(widened(rows), first + jnp.arange(piece) >= jnp.maximum(start, skipped))

    def add(total: Any, start: Array) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, of_piece(start)), None

    zero = jax.tree.map(lambda one: jnp.zeros(one.shape, one.dtype), jax.eval_shape(of_piece, jnp.zeros((), int)))
    return jax.lax.scan(add, zero, jnp.arange(0, length, piece))[0]


def _sum(values: Array, is_counted: Array) -> Array:
    return jnp.sum(jnp.where(is_counted, values, 0.0))


def all_values(log_likelihood: Callable[..., Any], rows: Rows, vectors: Array, like: Position) -> np.ndarray:
    """The log likelihood of all rows at several flat positions, in one pass."""
    count = len(vectors)
    # One program for whatever is few: the places between which it is compiled anew are powers of two.
    padded = jnp.pad(vectors, ((0, max(FEW, 1 << (count - 1).bit_length()) - count), (0, 0)))
    total = np.zeros(len(padded))
    for _, skipped, block in rows.blocks(block_length(rows, vectors.shape[1])):
        total += np.asarray(block_values(log_likelihood, block, skipped, padded, count, like))
    return total[:count]


@jax.jit
def prior_values(log_prior: Callable[..., Any], vectors: Array, like: Position) -> Array:
    """A log prior at several flat positions."""
    return jax.vmap(lambda vector: log_prior(unflatten(vector, like)))(vectors)


def require_row_values(
    log_likelihood: Callable[..., Any], start: int, block: Any, vector: Array, like: Position
) -> None:
    """Find the row whose log likelihood is no number, and say so."""
    values = np.asarray(row_values(log_likelihood, block, vector, like))
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        where = unflatten(np.asarray(vector), like)
        raise ValueError(
            f"log_likelihood returned {values[row]} for row {start + row:,} of the data at {where!r}; it must be "
            f"finite there: begin the search elsewhere with initial=..., or look at that row"
        )


@jax.jit
def row_values(log_likelihood: Callable[..., Any], block: Any, vector: Array, like: Position) -> Array:
    """The log likelihood of each row of a block at one flat position."""
    position = unflatten(vector, like)
    return jax.vmap(log_likelihood, in_axes=(None, 0))(position, widened(block))
