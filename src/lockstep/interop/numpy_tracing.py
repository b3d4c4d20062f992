"""Values that stand in for NumPy arrays while JAX traces a function that was written with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpy.lib.mixins import NDArrayOperatorsMixin

from lockstep.core.types import Array


class Stand(NDArrayOperatorsMixin):
    """An array of JAX that NumPy's functions take: each is JAX's of the same name, and what is no array is refused."""

    def __init__(self, value: Array) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return jnp.shape(self.value)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Any) -> Stand:
        return Stand(self.value[index])

    def __array_ufunc__(self, function: Callable[..., Any], method: str, *arguments: Any, **options: Any) -> Any:
        return _jax_of(function, arguments, options) if method == "__call__" else NotImplemented

    def __array_function__(self, function: Callable[..., Any], types: Any, arguments: Any, options: Any) -> Any:
        return _jax_of(function, arguments, options)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a function makes an array of NumPy, which JAX cannot trace")

    def __bool__(self) -> bool:
        raise TypeError("a function decides by a value, which JAX does not know while it traces")


def _jax_of(function: Callable[..., Any], arguments: Any, options: Any) -> Stand:
    given = jax.tree.map(plain, (tuple(arguments), options))
    made = getattr(jnp, function.__name__, None)
    if made is None:
        raise TypeError(f"JAX has no function {function.__name__}")
    return Stand(made(*given[0], **given[1]))


def plain(value: Array) -> Array:
    """The array that is stood in for; other values as they are."""
    return value.value if isinstance(value, Stand) else value
