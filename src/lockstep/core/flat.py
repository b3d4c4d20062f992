"""Positions of any structure seen as one flat vector, for proposals that speak of vectors and covariances."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import is_floating
from lockstep.core.types import Array, Position, Shape


def size(position: Position) -> int:
    """The number of components of a position."""
    return sum(math.prod(np.shape(leaf)) for leaf in jax.tree.leaves(position))


def flatten(position: Position, array_module: Any) -> Array:
    """All components of a position as one vector."""
    leaves = [array_module.reshape(leaf, (-1,)) for leaf in jax.tree.leaves(position)]
    return leaves[0] if len(leaves) == 1 else array_module.concatenate(leaves)


def unflatten(vectors: Array, position: Position, shape: Shape = ()) -> Position:
    """Vectors of shape ``(*shape, size)`` with the structure, shapes and dtypes of a position."""
    leaves, structure = jax.tree.flatten(position)
    pieces, start = [], 0
    for leaf in leaves:
        stop = start + math.prod(np.shape(leaf))
        piece = vectors[..., start:stop].reshape((*shape, *np.shape(leaf)))
        pieces.append(piece.astype(jnp.result_type(leaf)))
        start = stop
    return jax.tree.unflatten(structure, pieces)


def require_floating(position: Position, name: str) -> None:
    """Refuse positions with integer or boolean components."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(position)[0]:
        if not is_floating(leaf):
            where = f" at {jax.tree_util.keystr(path)}" if path else ""
            raise TypeError(
                f"{name} moves floating-point positions, but the position{where} has dtype {jnp.result_type(leaf)}; "
                f"write the start with decimal points (0.0 instead of 0), use ls.Finite for states 0..n-1, or "
                f"ls.Component to move one part of a position"
            )


def require_size(parameter: Array, position: Position, name: str, is_matrix_allowed: bool = False) -> None:
    """Refuse a vector or matrix of hyperparameters that does not fit the position."""
    if np.ndim(parameter) and np.shape(parameter)[0] != size(position):
        matrix = f", or a {size(position)} by {size(position)} matrix" if is_matrix_allowed else ""
        raise ValueError(
            f"{name} has shape {np.shape(parameter)}, but the position has {size(position)} components; give a number "
            f"or a vector of {size(position)}{matrix}"
        )
