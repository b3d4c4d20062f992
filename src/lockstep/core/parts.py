"""Immutable parts: frozen dataclasses that are pytrees."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np

from lockstep.core.foreign import name_of
from lockstep.core.trees import is_key

T = TypeVar("T")


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


def show(value: object) -> str:
    """A short text of a field of a part."""
    if isinstance(value, (np.ndarray, jax.Array)):
        if value.size > 4 or isinstance(value, jax.core.Tracer):
            return f"array{value.shape}"
        return str(np.asarray(value).tolist()) if not is_key(value) else "key"
    if isinstance(value, jax.tree_util.Partial):
        data = f", {len(value.args) + len(value.keywords)} data" if value.args or value.keywords else ""
        return name_of(value.func) + data
    return repr(value)


def set_field(self: Any, name: str, value: object) -> None:
    """Replace a field of a frozen part; only for use in its ``__post_init__``."""
    object.__setattr__(self, name, value)
