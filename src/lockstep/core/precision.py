"""Double precision in a scope of its own, whatever the rest of the program uses."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, cast

import jax
import numpy as np
from numpy.typing import DTypeLike

from lockstep.core.trees import Settled, is_key
from lockstep.core.types import Array, Tree


def double_precision() -> AbstractContextManager[Any]:
    """The scope in which everything is computed; threads do not inherit it."""
    return cast(AbstractContextManager[Any], jax.enable_x64(True))


def on_device(array: Array, dtype: DTypeLike | None = None) -> Array:
    """A copy of a NumPy array as one of JAX, without the program that ``jnp.asarray`` compiles for each shape."""
    return jax.device_put(np.array(array, dtype))  # of the copy: memory that is the user's might be used as it is


def canonical(tree: Tree, name: str) -> Any:
    """Leaves as strongly typed JAX arrays, floats in double precision, so that equal settings compile once.

    What is `Settled` (the rows of large data) stays as it is, and so do arrays of JAX that are such ones already.
    """

    def is_settled(node: object) -> bool:
        return isinstance(node, Settled)

    def convert(path: Any, leaf: Array) -> Any:
        if is_key(leaf) or is_settled(leaf):
            return leaf
        try:
            array = np.asarray(leaf)
        except Exception as error:
            raise TypeError(f"{name}{jax.tree_util.keystr(path)} is {leaf!r}, which is no array") from error
        if array.dtype.kind not in "fiub":
            is_object = array.dtype == object and not array.shape
            raise TypeError(
                f"{name}{jax.tree_util.keystr(path)} is {leaf!r} of dtype {array.dtype}; it must be real numbers, "
                f"integers or booleans"
                + " (an object with methods can be a part of a kernel if its class is decorated with @ls.part)"
                * is_object
            )
        dtype = np.dtype(np.float64) if array.dtype.kind == "f" else array.dtype
        return leaf if _is_free(leaf, dtype) else on_device(array, dtype)

    return jax.tree_util.tree_map_with_path(convert, tree, is_leaf=is_settled)


def _is_free(leaf: Array, dtype: DTypeLike) -> bool:
    """Whether it is an array of JAX that can serve as it is, on whatever device: data may be large."""
    return isinstance(leaf, jax.Array) and leaf.dtype == dtype and not leaf.weak_type and not leaf.committed
