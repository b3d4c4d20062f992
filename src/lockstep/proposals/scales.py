"""Hyperparameters of proposals: numbers, vectors and Cholesky factors, checked."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import real_numbers
from lockstep.core.flat import flatten
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.proposals.layout import by_name


def numbers_like(value: object, name: str) -> Array:
    """Hyperparameters as a float array, flat if they come with the structure of a position that has no names."""
    is_array = jax.tree_util.all_leaves([value]) or isinstance(value, (list, tuple))
    return real_numbers(value if is_array or not jax.tree.leaves(value) else flatten(value, np), name)


def vector_of(value: object, name: str) -> Any:
    """A number, or one for each component, by name if they come in a dict.

    An array of the position's shape is flattened like the position.
    """

    def checked(value: object, name: str) -> Array:
        numbers = numbers_like(value, name)
        return numbers.reshape(-1) if np.ndim(numbers) > 1 else numbers

    return by_name(value, name, checked, numbers_like) if is_concrete(value) else value


def scale_of(value: object, name: str, is_matrix_allowed: bool = True) -> Any:
    """A positive number, a vector of them (by name in a dict), or a lower triangular factor of a covariance matrix."""
    if not is_concrete(value):
        return value
    return by_name(value, name, partial(_scale, is_matrix_allowed), positive_numbers)


def positive_numbers(value: object, name: str) -> Array:
    """A positive number, or an array of them."""
    numbers = numbers_like(value, name)
    if not np.all(numbers > 0):
        raise ValueError(f"{name} is {numbers.tolist()}; it must be positive")
    return numbers


def _scale(is_matrix_allowed: bool, value: object, name: str) -> Array:
    scale = numbers_like(value, name)
    if scale.ndim == 2 and is_matrix_allowed:
        if scale.shape[0] != scale.shape[1] or not np.array_equal(scale, np.tril(scale)):
            raise ValueError(
                f"{name} is a matrix of shape {scale.shape} that is not lower triangular; give the Cholesky factor of "
                f"the covariance, np.linalg.cholesky(covariance)"
            )
        diagonal = np.diag(scale)
    elif scale.ndim > 1:
        remedy = "a number, a vector or a matrix" if is_matrix_allowed else "a number or a vector"
        raise ValueError(f"{name} has shape {scale.shape}; give {remedy}")
    else:
        diagonal = scale
    if not np.all(diagonal > 0):
        what = "has the diagonal" if scale.ndim == 2 else "is"
        raise ValueError(f"{name} {what} {diagonal.tolist()}; it must be positive")
    return scale


def stretch(scale: Array, z: Array) -> Array:
    """Standard normal vectors, scaled or multiplied by a Cholesky factor."""
    return scale * z if np.ndim(scale) < 2 else z @ scale.T


def normal_columns(key: Key, size: int, shape: Shape) -> Array:
    """Standard normal vectors for all elements of ``shape``, a column each.

    With the components first, the innermost loop of what is made of them is long, however few they are.
    """
    return random.normal(key, (size, math.prod(shape)))


def stretched_rows(scale: Array, columns: Array, shape: Shape) -> Array:
    """The same stretched, a row each, with that shape."""
    stretched = scale @ columns if np.ndim(scale) == 2 else jnp.reshape(scale, (-1, 1)) * columns
    return stretched.T.reshape((*shape, len(columns)))


def unstretch(scale: Array, vector: Array) -> Array:
    """The vector that `stretch` would make into this one."""
    if np.ndim(scale) < 2:
        return vector / scale
    if isinstance(vector, np.ndarray):
        return np.linalg.solve(scale, vector)
    # The inverse does not depend on the state: XLA takes it out of the loop, which a solution would stay in.
    return jax.scipy.linalg.solve_triangular(scale, jnp.eye(len(scale), dtype=vector.dtype), lower=True) @ vector


def normal_fit(positions: Position) -> tuple[Array, Array | None]:
    """Mean and covariance factor of positions with leading axes (chains, draws); no factor if they lie in a plane."""
    leaves = jax.tree.leaves(positions)
    count = leaves[0].shape[0] * leaves[0].shape[1]
    vectors = np.concatenate([np.reshape(leaf, (count, -1)) for leaf in leaves], axis=1)
    dimension = vectors.shape[1]
    if count < 2:
        return vectors[0], None
    covariance = np.cov(vectors.T).reshape(dimension, dimension)
    # A little of the diagonal, as long as there are few positions.
    share = dimension / (dimension + count)
    covariance = (1 - share) * covariance + share * np.diag(np.diag(covariance))
    spread = np.sqrt(np.diag(covariance))
    if not np.all(spread > 0) or np.linalg.eigvalsh(covariance / np.outer(spread, spread))[0] < 1e-12:
        return vectors.mean(axis=0), None
    return vectors.mean(axis=0), np.linalg.cholesky(covariance)


def first_of(positions: Position) -> Any:
    """One of positions with leading axes (chains, draws)."""
    return jax.tree.map(lambda leaf: leaf[0, 0], positions)


def as_factor(scale: Array, dimension: int) -> Array:
    """A number, vector or factor as a factor."""
    return scale if np.ndim(scale) == 2 else np.diag(np.broadcast_to(scale, (dimension,)))


def best_walk(dimension: int) -> float:
    """The step of a random walk that suits a normal target in that many dimensions, in standard deviations."""
    return float(2.38 / np.sqrt(dimension))
