"""Immutable parts: frozen dataclasses that are pytrees, and the one switch between two outcomes."""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

T = TypeVar("T")
FLAG = np.bool_


def static(**options: Any) -> Any:
    """A field that is part of the structure (hashable, compiled in) rather than a leaf."""
    return dataclasses.field(metadata={"static": True}, **options)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static, dataclasses.field))
def part(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen dataclass whose fields are pytree children, except those marked `static`.

    Hyperparameters are therefore leaves: they can be mapped over and changed without recompiling. The checks in a
    part's ``__post_init__`` run when a user builds it, not when JAX rebuilds it from its leaves.

    >>> @part
    ... class Scaled:
    ...     scale: float
    ...     def __call__(self, x):
    ...         return self.scale * x
    >>> jax.tree.map(lambda leaf: 2 * leaf, Scaled(3.0))(1.0)
    6.0
    """
    for name in vars(cls).get("__annotations__", ()):
        if name not in vars(cls):  # else what a base declares under that name would be the field's default
            setattr(cls, name, dataclasses.field())
    cls = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    # A field may be the method that a base asks for: a user's function.
    cls.__abstractmethods__ = vars(cls).get("__abstractmethods__", frozenset()) - {f.name for f in fields}  # type: ignore[attr-defined]
    leaves = tuple(f.name for f in fields if not f.metadata.get("static"))
    metas = tuple(f.name for f in fields if f.metadata.get("static"))

    def flatten_with_keys(self: Any) -> Any:
        children = tuple((jax.tree_util.GetAttrKey(name), getattr(self, name)) for name in leaves)
        return children, tuple(getattr(self, name) for name in metas)

    def flatten(self: Any) -> Any:
        return tuple(getattr(self, name) for name in leaves), tuple(getattr(self, name) for name in metas)

    def unflatten(meta: Any, children: Any) -> Any:
        self = object.__new__(cls)
        for name, value in (*zip(leaves, children, strict=True), *zip(metas, meta, strict=True)):
            object.__setattr__(self, name, value)
        return self

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    if cls.__repr__ is object.__repr__:
        cls.__repr__ = _repr  # type: ignore[method-assign]
    return cls


def _repr(self: Any) -> str:
    shown = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
    return f"{type(self).__name__}({', '.join(f'{name}={show(value)}' for name, value in shown if value is not None)})"


def show(value: Any) -> str:
    """A short text of a field of a part."""
    if isinstance(value, (np.ndarray, jax.Array)):
        if value.size > 4 or isinstance(value, jax.core.Tracer):
            return f"array{value.shape}"
        return str(np.asarray(value).tolist()) if not is_key(value) else "key"
    if isinstance(value, jax.tree_util.Partial):
        data = f", {len(value.args) + len(value.keywords)} data" if value.args or value.keywords else ""
        return getattr(value.func, "__name__", repr(value.func)) + data
    return repr(value)


def set_field(self: Any, name: str, value: Any) -> None:
    """Replace a field of a frozen part; only for use in its ``__post_init__``."""
    object.__setattr__(self, name, value)


def is_key(leaf: Any) -> bool:
    """Whether a leaf is an array of typed random keys."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def is_floating(leaf: Any) -> bool:
    """Whether a leaf holds real floating-point numbers."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind == "f"
    return not is_key(leaf) and np.issubdtype(jnp.result_type(leaf), np.floating)


def is_concrete(tree: Any) -> bool:
    """Whether the values of a tree can be looked at (none is being traced)."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def choose(flag: Any, first: T, second: T) -> T:
    """``first`` where ``flag`` holds, else ``second``: a Python branch for a NumPy flag, `where` for arrays of them."""
    kind = type(flag)
    if kind is FLAG or kind is bool:
        return first if flag else second
    return jax.tree.map(lambda a, b: _where(flag, a, b), first, second)


def _where(flag: Any, first: Any, second: Any) -> Any:
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


def is_named(value: Any) -> bool:
    """Whether a value is a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


class Settled:
    """What `canonical` leaves as it is: the rows of large data are neither cast nor copied."""


def is_alike(first: Any, second: Any) -> bool:
    """Whether two trees have one structure."""
    return bool(jax.tree.structure(first) == jax.tree.structure(second))  # type: ignore[operator]


def have_equal_values(first: Any, second: Any) -> Any:
    """Whether two trees hold the same numbers."""

    def is_equal(a: Any, b: Any) -> Any:
        return (jax.random.key_data(a) == jax.random.key_data(b)).all() if is_key(a) else (a == b).all()

    equal = [is_equal(a, b) for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)]
    return functools.reduce(operator.and_, equal, np.True_)


def namespace(array: Any) -> Any:
    """NumPy for NumPy arrays (interpreted), else `jax.numpy` (compiled). Ask it of noise, never of a user's values."""
    return np if isinstance(array, (np.ndarray, np.generic)) else jnp


def vectorize(function: Any, dimensions: int) -> Any:
    """Map a function over that many leading axes."""
    for _ in range(dimensions):
        function = jax.vmap(function)
    return function
