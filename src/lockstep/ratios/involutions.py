"""Involutions f(f(x)) = x, with the logarithm of the Jacobian's absolute value.

The two directions of a move share one involution: f(·; θ, θ') must undo f(·; θ', θ).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from lockstep.core.arguments import real_numbers, shapes
from lockstep.core.parts import is_alike, is_concrete, is_floating, namespace, part, set_field, static
from lockstep.core.types import Array, Involution, Position
from lockstep.host.functions import Function, arity, wrapped

__all__ = ["Identity", "Involution", "Mobius", "Reflection", "Transform"]


@part
class Identity(Involution):
    """``f(x) = x``, for x of any kind."""

    computes_on_numpy = True

    def __call__(self, x: Any, position: Position, candidate: Position) -> tuple[Any, Array]:
        return x, 0.0


@part
class Reflection(Involution):
    """``f(x) = total - x``: of a number, or of each component of a vector."""

    total: Any

    computes_on_numpy = True

    def __post_init__(self) -> None:
        if is_concrete(self.total):
            real_numbers(self.total, "total of Reflection")

    def __call__(self, x: Any, position: Position, candidate: Position) -> tuple[Any, Array]:
        return self.total - x, 0.0


@part
class Mobius(Involution):
    """``f(x) = (a x + b)/(c x - a)``, in each component of x; a² + b c must not be 0."""

    a: Any
    b: Any
    c: Any

    computes_on_numpy = True

    def __post_init__(self) -> None:
        if not is_concrete((self.a, self.b, self.c)):
            return
        a, b, c = map(real_numbers, (self.a, self.b, self.c), ("a of Mobius", "b of Mobius", "c of Mobius"))
        if np.any(a**2 + b * c == 0):
            raise ValueError(
                f"Mobius has a={self.a}, b={self.b}, c={self.c}, so that a² + b c = 0 and f is constant; change one of "
                f"them"
            )

    def __call__(self, x: Any, position: Position, candidate: Position) -> tuple[Any, Array]:
        denominator = self.c * x - self.a
        slope = (self.a**2 + self.b * self.c) / denominator**2
        array_module = namespace(slope)
        return (self.a * x + self.b) / denominator, array_module.sum(array_module.log(array_module.abs(slope)))


@part
class Transform(Involution):
    """An involution of your own, ``f(x)`` or ``f(x, position, candidate)``; its Jacobian comes from autodiff.

    A function that returns a pair ``(f(x), log_abs_jacobian)`` keeps its own Jacobian.
    """

    function: Any
    is_of_x_alone: bool = static(default=False)  # found out here

    def __post_init__(self) -> None:
        set_field(self, "function", wrapped(Function, self.function, "involution"))
        set_field(self, "is_of_x_alone", arity(self.function.function) == 1)

    def __call__(self, x: Any, position: Position, candidate: Position) -> tuple[Any, Array]:
        def image(x: Any) -> Any:
            return self.function(x) if self.is_of_x_alone else self.function(x, position, candidate)

        result = image(x)
        if _is_like(result, x):
            return result, log_abs_jacobian(image, x)
        if isinstance(result, tuple) and len(result) == 2 and _is_like(result[0], x):
            return result
        raise ValueError(
            f"involution returned {shapes(result)}; it must return f(x), which must be {shapes(x)} as x is, or the "
            f"pair (f(x), log_abs_jacobian)"
        )


def _is_like(image: Any, x: Any) -> bool:
    return is_alike(image, x) and all(
        np.shape(a) == np.shape(b) for a, b in zip(jax.tree.leaves(image), jax.tree.leaves(x), strict=True)
    )


def log_abs_jacobian(function: Any, x: Any) -> Array:
    """``log |det f'(x)|`` by automatic differentiation; 0 for a discrete x."""
    floating = [is_floating(leaf) for leaf in jax.tree.leaves(x)]
    if not any(floating):
        return 0.0
    if not all(floating):
        raise TypeError("involution of an x that is partly discrete: return the pair (f(x), log_abs_jacobian) yourself")
    vector, restore = ravel_pytree(x)
    jacobian = jax.jacfwd(lambda v: ravel_pytree(function(restore(v)))[0])(vector)
    return jnp.linalg.slogdet(jacobian)[1]


def as_involution(involution: Any) -> Involution:
    """A part stays as it is; a plain function becomes a `Transform`."""
    if not callable(involution):
        raise TypeError(
            f"involution must be ls.Identity(), ls.Reflection(total), ls.Mobius(a, b, c) or a function f(x), not "
            f"{involution!r}"
        )
    return Transform(involution) if jax.tree_util.all_leaves([involution]) else involution
