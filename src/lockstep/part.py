"""Immutable parts: frozen dataclasses that are pytrees, and the one switch between two outcomes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

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
    cls = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
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
    if "__repr__" not in vars(cls):
        cls.__repr__ = _repr  # type: ignore[method-assign]
    return cls


def _repr(self: Any) -> str:
    shown = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
    return f"{type(self).__name__}({', '.join(f'{name}={_show(value)}' for name, value in shown if value is not None)})"


def _show(value: Any) -> str:
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
    return not is_key(leaf) and np.issubdtype(np.result_type(leaf), np.floating)


def is_concrete(tree: Any) -> bool:
    """Whether the values of a tree can be looked at (none is being traced)."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def choose(flag: Any, first: T, second: T) -> T:
    """``first`` where ``flag`` holds, else ``second``: a Python branch for NumPy flags, `where` for JAX ones."""
    if isinstance(flag, (bool, np.bool_)):
        return first if flag else second
    return jax.tree.map(lambda a, b: _where(flag, a, b), first, second)


def _where(flag: Any, first: Any, second: Any) -> Any:
    return jax.lax.select(flag, first, second) if is_key(first) else jnp.where(flag, first, second)


def is_alike(first: Any, second: Any) -> bool:
    """Whether two trees have one structure."""
    return bool(jax.tree.structure(first) == jax.tree.structure(second))  # type: ignore[operator]


def namespace(array: Any) -> Any:
    """NumPy for NumPy arrays (interpreted), else `jax.numpy` (compiled). Ask it of noise, never of a user's values."""
    return np if isinstance(array, (np.ndarray, np.generic)) else jnp


def vectorize(function: Any, dimensions: int) -> Any:
    """Map a function over that many leading axes."""
    for _ in range(dimensions):
        function = jax.vmap(function)
    return function


def positive(value: Any, name: str) -> Any:
    """One positive number, or an error that names it."""
    if not is_concrete(value):
        return value
    if np.ndim(value) or not np.issubdtype(np.result_type(value), np.number) or not 0 < value < np.inf:
        raise ValueError(f"{name} is {value!r}; it must be one positive number")
    return float(value)


def whole(value: Any, name: str, least: int) -> int:
    """A whole number that is large enough, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number, at least {least}")
    return int(value)


def call_checked(function: Callable[..., Any], name: str, arguments: tuple[Any, ...]) -> Any:
    """Call a user's function; a tracing failure becomes an error that names the function and the remedy."""
    try:
        return function(*arguments)
    except jax.errors.JAXTypeError as error:
        reason = str(error).split("\n", 1)[0]
        raise TypeError(
            f"{name} is not a JAX function: it needs the values of its arguments, which are not known while it is "
            f"being compiled. Write it with jax.numpy and jax.random instead of numpy, math or `if`. ({reason})"
        ) from error


def arity(function: Any) -> int:
    """How many positional arguments a function takes without being given defaults; 0 if that cannot be seen."""
    if isinstance(function, jax.tree_util.Partial):
        return arity(function.func) - len(function.args)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def as_function(function: Any, name: str) -> Any:
    """Wrap a user's callable once, so that it is a pytree node whose data are leaves; parts stay as they are."""
    if not callable(function):
        raise TypeError(f"{name} must be a function, not {function!r}")
    if jax.tree_util.all_leaves([function]):
        return jax.tree_util.Partial(function)
    return function


def wrapped(kind: type[T], function: Any, name: str) -> T:
    """A user's function as a `Function` or a `Scalar`, wrapped once."""
    return function if isinstance(function, kind) else kind(function, name)  # type: ignore[call-arg]


@part
class Function:
    """A user's function of any result, checked where it is called."""

    function: Any
    name: str = static()

    def __post_init__(self) -> None:
        set_field(self, "function", as_function(self.function, self.name))

    def __call__(self, *arguments: Any) -> Any:
        return call_checked(self.function, self.name, arguments)

    def __repr__(self) -> str:
        return _show(self.function)


@part
class Scalar:
    """A user's function that must return one real number; whatever its dtype, the result is a float."""

    function: Any
    name: str = static()

    def __post_init__(self) -> None:
        set_field(self, "function", as_function(self.function, self.name))

    def __call__(self, *arguments: Any) -> Any:
        return as_scalar(call_checked(self.function, self.name, arguments), self.name)

    def __repr__(self) -> str:
        return _show(self.function)


def as_scalar(result: Any, name: str) -> Any:
    """The result of a user's function as one float, or an error that says what it returned instead."""
    if isinstance(result, (float, np.floating)):
        return np.float64(result)
    if result is None:
        raise TypeError(f"{name} returned None; it must return one real number (is a `return` missing?)")
    if not jax.tree_util.all_leaves([result]):
        raise TypeError(f"{name} returned a {type(result).__name__}; it must return one real number")
    if is_key(result) or not np.issubdtype(np.result_type(result), np.number):
        raise TypeError(f"{name} returned {np.result_type(result)}; it must return one real number")
    if np.issubdtype(np.result_type(result), np.complexfloating):
        raise TypeError(f"{name} returned a complex number; it must return a real one (take .real if it is meant)")
    if np.ndim(result):
        raise ValueError(
            f"{name} returned an array of shape {np.shape(result)}; it must return one number (sum over the "
            f"components, for example with jnp.sum)"
        )
    return jnp.asarray(result, float) if isinstance(result, jax.Array) else np.float64(result)
