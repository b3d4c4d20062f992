"""Trees of arrays: what their leaves are, and the one switch between two outcomes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Array, Tree

T = TypeVar("T")
FLAG = np.bool_


def is_key(leaf: Array) -> bool:
    """Whether a leaf is an array of typed random keys."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def is_floating(leaf: Array) -> bool:
    """Whether a leaf holds real floating-point numbers."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind == "f"
    return not is_key(leaf) and np.issubdtype(jnp.result_type(leaf), np.floating)


def is_concrete(tree: Tree) -> bool:
    """Whether the values of a tree can be looked at (none is being traced)."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def choose(flag: Array, first: T, second: T) -> T:
    """``first`` where ``flag`` holds, else ``second``: a Python branch for a NumPy flag, `where` for arrays of them."""
    kind = type(flag)
    if kind is FLAG or kind is bool:
        return first if flag else second
    return jax.tree.map(lambda a, b: _where(flag, a, b), first, second)


def _where(flag: Array, first: Tree, second: Tree) -> Any:
    return jax.lax.select(flag, first, second) if is_key(first) else namespace(flag).where(flag, first, second)


def key_of(entry: Any) -> Any:
    """The name, key or index by which a tree holds one of its children, from an entry of its path."""
    match entry:
        case jax.tree_util.GetAttrKey(name=name):
            return name
        case jax.tree_util.DictKey(key=key) | jax.tree_util.FlattenedIndexKey(key=key):
            return key
        case jax.tree_util.SequenceKey(idx=index):
            return index
    return entry


def is_named(value: object) -> bool:
    """Whether a value is a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


class Settled:
    """What `canonical` leaves as it is: the rows of large data are neither cast nor copied."""


def is_alike(first: Tree, second: Tree) -> bool:
    """Whether two trees have one structure."""
    return bool(jax.tree.structure(first) == jax.tree.structure(second))  # type: ignore[operator]


def have_equal_values(first: Tree, second: Tree) -> Any:
    """Whether two trees hold the same numbers."""

    def is_equal(a: Array, b: Array) -> Any:
        return (jax.random.key_data(a) == jax.random.key_data(b)).all() if is_key(a) else (a == b).all()

    equal = [is_equal(a, b) for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)]
    return functools.reduce(operator.and_, equal, np.True_)


def namespace(array: Array) -> Any:
    """NumPy for NumPy arrays (interpreted), else `jax.numpy` (compiled). Ask it of noise, never of a user's values."""
    return np if isinstance(array, (np.ndarray, np.generic)) else jnp


def vectorize(function: Callable[..., Any], dimensions: int) -> Any:
    """Map a function over that many leading axes."""
    for _ in range(dimensions):
        function = jax.vmap(function)
    return function


def one_of(values: object, index: int) -> Any:
    """One entry along the first axis of every leaf, as NumPy arrays."""
    return jax.tree.map(lambda leaf: np.asarray(leaf[index]), values)


def describe(value: object) -> str:
    """A short text of a position for error messages."""

    def show(leaf: Array) -> str:
        return str(np.asarray(leaf).tolist()) if np.size(leaf) <= 6 else f"array of shape {np.shape(leaf)}"

    paths = jax.tree_util.tree_flatten_with_path(value)[0]
    return ", ".join(f"{jax.tree_util.keystr(path)}: {show(leaf)}" if path else show(leaf) for path, leaf in paths)
