"""Supports of parameters: how real numbers on which a chain walks become values, and the Jacobian of that."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import is_number, whole
from lockstep.core.declared import Part
from lockstep.core.parts import part, static
from lockstep.core.trees import namespace
from lockstep.core.types import Array, Shape


class Support(Part):
    """Where a parameter lies. Called with free real numbers: the value, and log |∂value/∂free|."""

    computes_on_numpy = True
    dimensions: ClassVar[int] = 0  # axes that belong together: 1 for vectors such as those of a simplex
    shape: Shape

    @abstractmethod
    def __call__(self, free: Array) -> tuple[Array, Array]:
        """The value at free real numbers, and the log of the Jacobian."""

    @abstractmethod
    def inverse(self, value: Array) -> Array:
        """The free real numbers of a value."""

    @abstractmethod
    def contains(self, value: Array) -> Array:
        """Whether a value lies strictly inside, as floating-point numbers tell."""

    @property
    def free_shape(self) -> Shape:
        """The shape of the free numbers."""
        return self.shape

    def with_shape(self, *shape: int) -> Any:
        """The same for an array of parameters: ``ls.positive.with_shape(3)`` for three of them."""
        lengths = tuple(whole(length, "shape", 1) for length in shape)
        event = self.shape[len(self.shape) - self.dimensions :]
        return dataclasses.replace(self, shape=(*lengths, *event))  # type: ignore[type-var]

    def stored(self) -> dict[str, Any] | None:
        """As JSON."""
        return {"kind": type(self).__name__, "shape": list(self.shape)}

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}{list(self.shape) if self.shape else ''}"


@part
class Real(Support):
    """All real numbers: ``x = u``."""

    shape: Shape = static(default=())

    def __call__(self, free: Array) -> tuple[Array, Array]:
        return free, np.float64(0.0)

    def inverse(self, value: Array) -> Array:
        return value

    def contains(self, value: Array) -> Array:
        return (abs(value) < np.inf).all()

    __repr__ = Support.__repr__


@part
class HalfLine(Support):
    """Above a bound, ``x = bound + e^u``, or below it, ``x = bound - e^u``; the log of the Jacobian is u."""

    bound: Array
    is_above: bool = static(default=True)
    shape: Shape = static(default=())

    def __call__(self, free: Array) -> tuple[Array, Array]:
        apart = namespace(free).exp(free)
        return (self.bound + apart if self.is_above else self.bound - apart), free.sum()

    def inverse(self, value: Array) -> Array:
        return jnp.log(value - self.bound if self.is_above else self.bound - value)

    def contains(self, value: Array) -> Array:
        apart = value - self.bound if self.is_above else self.bound - value
        return ((apart > 0) & (apart < np.inf)).all()

    def stored(self) -> dict[str, Any]:
        return {**super().stored(), "bound": _listed(self.bound), "is_above": self.is_above}  # type: ignore[dict-item]

    def __repr__(self) -> str:
        return f"{'above' if self.is_above else 'below'} {np.asarray(self.bound).tolist()}"


@part
class Interval(Support):
    """Between two bounds: ``x = lower + (upper - lower)/(1 + e^{-u})``."""

    lower: Array
    upper: Array
    shape: Shape = static(default=())

    def __call__(self, free: Array) -> tuple[Array, Array]:
        xp = namespace(free)
        # 1/(1 + e^{-u}) without overflow, and its logarithm and that of its complement.
        log_share, log_rest = -xp.logaddexp(0.0, -free), -xp.logaddexp(0.0, free)
        width = self.upper - self.lower
        return self.lower + width * xp.exp(log_share), (log_share + log_rest + xp.log(width)).sum()

    def inverse(self, value: Array) -> Array:
        return jnp.log(value - self.lower) - jnp.log(self.upper - value)

    def contains(self, value: Array) -> Array:
        return ((value > self.lower) & (value < self.upper)).all()

    def stored(self) -> dict[str, Any]:
        return {**super().stored(), "lower": _listed(self.lower), "upper": _listed(self.upper)}  # type: ignore[dict-item]

    def __repr__(self) -> str:
        return f"interval({np.asarray(self.lower).tolist()}, {np.asarray(self.upper).tolist()})"


@part
class Simplex(Support):
    """Positive numbers that sum to 1: ``x = softmax(u_1, …, u_{K-1}, 0)``; the Jacobian of all but one is Π x_k."""

    shape: Shape = static()

    dimensions = 1

    @property
    def free_shape(self) -> Shape:
        return (*self.shape[:-1], self.shape[-1] - 1)

    def __call__(self, free: Array) -> tuple[Array, Array]:
        xp = namespace(free)
        whole_free = xp.concatenate([free, xp.zeros_like(free[..., :1])], axis=-1)
        largest = whole_free.max(axis=-1, keepdims=True)
        log_value = whole_free - largest - xp.log(xp.exp(whole_free - largest).sum(axis=-1, keepdims=True))
        return xp.exp(log_value), log_value.sum()

    def inverse(self, value: Array) -> Array:
        return jnp.log(value[..., :-1]) - jnp.log(value[..., -1:])

    def contains(self, value: Array) -> Array:
        return (value > 0).all() & (abs(value.sum(axis=-1) - 1) < 1e-6).all()

    __repr__ = Support.__repr__


@part
class Ordered(Support):
    """Rising numbers: ``x_1 = u_1``, ``x_{k+1} = x_k + e^{u_{k+1}}``."""

    shape: Shape = static()

    dimensions = 1

    def __call__(self, free: Array) -> tuple[Array, Array]:
        xp = namespace(free)
        steps = xp.concatenate([free[..., :1], xp.exp(free[..., 1:])], axis=-1)
        return xp.cumsum(steps, axis=-1), free[..., 1:].sum()

    def inverse(self, value: Array) -> Array:
        return jnp.concatenate([value[..., :1], jnp.log(jnp.diff(value, axis=-1))], axis=-1)

    def contains(self, value: Array) -> Array:
        return (value[..., 1:] > value[..., :-1]).all() & (abs(value) < np.inf).all()

    __repr__ = Support.__repr__


@part
class Foreign(Support):
    """The support of a NumPyro distribution with a transform of NumPyro's own, such as correlation matrices."""

    transform: Any
    shape: Shape = static()
    dimensions: int = static(default=0)  # type: ignore[misc]

    computes_on_numpy = False

    @property
    def free_shape(self) -> Shape:
        return tuple(self.transform.inverse_shape(self.shape))

    def __call__(self, free: Array) -> tuple[Array, Array]:
        value = self.transform(free)
        return value, jnp.sum(self.transform.log_abs_det_jacobian(free, value))

    def inverse(self, value: Array) -> Array:
        return self.transform.inv(value)

    def contains(self, value: Array) -> Array:
        return (abs(value) < np.inf).all()

    def stored(self) -> None:
        return None

    def __repr__(self) -> str:
        return type(self.transform).__name__


def interval(lower: Any, upper: Any) -> Any:
    """The numbers between two bounds, of which one may be infinite.

    >>> interval(0, 1)
    interval(0.0, 1.0)
    """
    for bound, name in ((lower, "lower"), (upper, "upper")):
        if not is_number(bound) or math.isnan(bound):
            raise ValueError(f"{name} of interval is {bound!r}; it must be one number, or plus or minus infinity")
    if not lower < upper:
        raise ValueError(f"interval: lower is {lower!r} and upper {upper!r}; lower must be below upper")
    return between(float(lower), float(upper))


def between(lower: Any, upper: Any, shape: Shape = ()) -> Any:
    """The support between bounds that are numbers, or arrays of them that are all finite or all infinite."""
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    if np.any(has_lower) != np.all(has_lower) or np.any(has_upper) != np.all(has_upper):
        raise ValueError("some entries of a parameter are bounded and others are not; make two parameters of them")
    if np.all(has_lower) and np.all(has_upper):
        return Interval(lower, upper, shape)
    if np.all(has_lower):
        return HalfLine(lower, True, shape)
    return HalfLine(upper, False, shape) if np.all(has_upper) else Real(shape)


def simplex(size: int) -> Any:
    """Vectors of ``size`` positive numbers that sum to 1; densities are those of all components but one.

    >>> simplex(3)
    simplex[3]
    """
    return Simplex((whole(size, "size of simplex", 2),))


def ordered(size: int) -> Any:
    """Vectors of ``size`` rising numbers.

    >>> ordered(2)
    ordered[2]
    """
    return Ordered((whole(size, "size of ordered", 1),))


real = Real()
positive = HalfLine(0.0)


def _listed(bound: Any) -> Any:
    return np.asarray(bound).tolist()


def restored(found: Any) -> Any:
    """A support from what files keep of it; a ValueError, TypeError or KeyError if that is none."""
    kinds = {kind.__name__: kind for kind in (Real, HalfLine, Interval, Simplex, Ordered)}
    options = {name: value for name, value in found.items() if name != "kind"}
    shape = tuple(whole(length, "shape", 1) for length in options.pop("shape"))
    for name in ("bound", "lower", "upper"):
        if name in options:
            options[name] = np.asarray(options[name], float)
            np.broadcast_to(options[name], shape)
    made = kinds[found["kind"]](**options, shape=shape)
    jax.eval_shape(made, jax.ShapeDtypeStruct(made.free_shape, float))
    return made


def set_shape(support: Any, shape: Shape) -> Any:
    """The same support for parameters of a shape."""
    return support if support.shape == shape else dataclasses.replace(support, shape=shape)
