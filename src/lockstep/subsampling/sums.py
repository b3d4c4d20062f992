"""Sums over all rows, block by block: the log likelihood, its gradient and its Hessian."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.flat import unflatten
from lockstep.core.types import Array, Position
from lockstep.subsampling.rows import Rows

MOST_NUMBERS = 2**22  # in the largest array of one block


class Sums(NamedTuple):
    """A sum over rows at one position, as a function of the flat position: value, gradient, Hessian."""

    value: Array
    gradient: Array
    hessian: Array

    def __add__(self, other: Any) -> Sums:
        return Sums(*(first + second for first, second in zip(self, other, strict=True)))

    def __mul__(self, factor: Any) -> Sums:
        return Sums(*(factor * number for number in self))


def block_length(rows: Rows, dimension: int) -> int:
    """How many rows at once: bounded memory, one compiled program for all blocks."""
    return min(rows.size, max(64, MOST_NUMBERS // max(dimension, rows.bytes_per_row // 8, 1)))


def derivatives(function: Any, vector: Array, like: Position) -> Sums:
    """Value, gradient and Hessian of a function of a position, at a flat position."""

    def of_vector(v: Array) -> Array:
        return function(unflatten(v, like))

    value, gradient = jax.value_and_grad(of_vector)(vector)
    return Sums(value, gradient, jax.hessian(of_vector)(vector))


@jax.jit
def block_derivatives(log_likelihood: Any, block: Any, skipped: int, vector: Array, like: Position) -> Sums:
    """The sum over a block without its first rows, with its derivatives."""

    def total(position: Position) -> Array:
        return _sum(jax.vmap(log_likelihood, in_axes=(None, 0))(position, block), skipped)

    return derivatives(total, vector, like)


@jax.jit
def block_values(log_likelihood: Any, block: Any, skipped: int, vectors: Array, like: Position) -> Array:
    """The sum over a block without its first rows, at several flat positions."""

    def total(vector: Array) -> Array:
        return _sum(jax.vmap(log_likelihood, in_axes=(None, 0))(unflatten(vector, like), block), skipped)

    return jax.lax.map(total, vectors)


def _sum(values: Array, skipped: int) -> Array:
    return jnp.sum(jnp.where(jnp.arange(len(values)) >= skipped, values, 0.0))


def all_values(log_likelihood: Any, rows: Rows, vectors: Array, like: Position) -> np.ndarray:
    """The log likelihood of all rows at several flat positions, in one pass."""
    total = np.zeros(len(vectors))
    for _, skipped, block in rows.blocks(block_length(rows, vectors.shape[1])):
        total += np.asarray(block_values(log_likelihood, block, skipped, vectors, like))
    return total


def require_row_values(log_likelihood: Any, start: int, block: Any, vector: Array, like: Position) -> None:
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
def row_values(log_likelihood: Any, block: Any, vector: Array, like: Position) -> Array:
    """The log likelihood of each row of a block at one flat position."""
    position = unflatten(vector, like)
    return jax.vmap(log_likelihood, in_axes=(None, 0))(position, block)
