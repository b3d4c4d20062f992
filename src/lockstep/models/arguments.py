"""Parameters and data of models, refused with a reason."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import is_array
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Position, Shape


def one_parameter(theta: Position, name: str) -> Any:
    """One real number; where its value is known, a finite one."""
    if not is_array(theta) or np.ndim(theta) or not np.issubdtype(jnp.result_type(theta), np.number):
        raise ValueError(f"theta of {name} is {_shown(theta)}; it must be one real number")
    if is_concrete(theta) and not np.isfinite(theta):
        raise ValueError(f"theta of {name} is {float(theta)}; it must be finite")
    return jnp.asarray(theta, float)


def parameters(theta: Position, count: int, name: str) -> Any:
    """A vector of that many real numbers; where their values are known, finite ones."""
    if not is_array(theta) and not isinstance(theta, (list, tuple)):
        raise ValueError(f"theta of {name} is {theta!r}; it must be a vector of {count} numbers")
    vector = jnp.asarray(theta, float)
    if vector.shape != (count,):
        raise ValueError(f"theta of {name} has shape {vector.shape}; it must be a vector of {count} numbers")
    if is_concrete(vector) and not np.all(np.isfinite(vector)):
        raise ValueError(f"theta of {name} is {np.asarray(vector).tolist()}; it must be finite")
    return vector


def data_like(x: Array, shape: Shape, name: str) -> Array:
    """An array of that shape; where its values are known, of whole numbers."""
    if not is_array(x):
        x = np.asarray(x)
    if np.shape(x) != tuple(shape):
        raise ValueError(f"x of {name} has shape {np.shape(x)}; it must have shape {tuple(shape)}")
    if is_concrete(x) and not np.all(np.asarray(x) == np.round(np.asarray(x))):
        raise ValueError(f"x of {name} has entries that are no whole numbers, or are missing; it must be complete")
    return jnp.asarray(x)


def _shown(theta: Position) -> str:
    return f"of shape {np.shape(theta)}" if is_array(theta) and np.ndim(theta) else repr(theta)
