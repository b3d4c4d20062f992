"""Involutions f(f(x)) = x, with the logarithm of the Jacobian's absolute value.

The two directions of a move share one involution: f(·; θ, θ') must undo f(·; θ', θ).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from lockstep.core.adopt import adopted
from lockstep.core.arguments import real_numbers, shapes
from lockstep.core.parts import part, set_field, static
from lockstep.core.randomization import Involution
from lockstep.core.trees import describe, is_alike, is_concrete, is_floating, namespace, one_of
from lockstep.core.types import Array, Position
from lockstep.host.boxes import boxes
from lockstep.host.functions import Function, arity, wrapped

__all__ = ["Identity", "Involution", "Mobius", "Reflection", "Transform"]


@part
class Identity(Involution):
    """``f(x) = x``, for x of any kind."""

    computes_on_numpy = True
    is_proven = True  # by algebra: that it undoes itself is looked at when a run starts, and not at every update

    def __call__(self, x: Array, position: Position, candidate: Position) -> tuple[Any, Array]:
        return x, 0.0


@part
class Reflection(Involution):
    """``f(x) = total - x``: of a number, or of each component of a vector."""

    total: Any

    computes_on_numpy = True
    is_proven = True

    def __post_init__(self) -> None:
        if is_concrete(self.total):
            real_numbers(self.total, "total of Reflection")

    def __call__(self, x: Array, position: Position, candidate: Position) -> tuple[Any, Array]:
        return self.total - x, 0.0


@part
class Mobius(Involution):
    """``f(x) = (a x + b)/(c x - a)``, in each component of x; a² + b c must not be 0."""

    a: Any
    b: Any
    c: Any

    computes_on_numpy = True
    is_proven = True

    def __post_init__(self) -> None:
        if not is_concrete((self.a, self.b, self.c)):
            return
        a, b, c = map(real_numbers, (self.a, self.b, self.c), ("a of Mobius", "b of Mobius", "c of Mobius"))
        if np.any(a**2 + b * c == 0):
            raise ValueError(
                f"Mobius has a={self.a}, b={self.b}, c={self.c}, so that a² + b c = 0 and f is constant; change one of "
                f"them"
            )

    def __call__(self, x: Array, position: Position, candidate: Position) -> tuple[Any, Array]:
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

    def __call__(self, x: Array, position: Position, candidate: Position) -> tuple[Any, Array]:
        def image(x: Array) -> Any:
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


def _is_like(image: Any, x: Array) -> bool:
    return is_alike(image, x) and all(
        np.shape(a) == np.shape(b) for a, b in zip(jax.tree.leaves(image), jax.tree.leaves(x), strict=True)
    )


def log_abs_jacobian(function: Callable[..., Any], x: Array) -> Array:
    """``log |det f'(x)|`` by automatic differentiation; 0 for a discrete x."""
    floating = [is_floating(leaf) for leaf in jax.tree.leaves(x)]
    if not any(floating):
        return 0.0
    if not all(floating):
        raise TypeError("involution of an x that is partly discrete: return the pair (f(x), log_abs_jacobian) yourself")
    vector, restore = ravel_pytree(x)
    jacobian = jax.jacfwd(lambda v: ravel_pytree(function(restore(v)))[0])(vector)
    return jnp.linalg.slogdet(jacobian)[1]


def is_undone(involution: Involution, x: Array, position: Position, candidate: Position) -> Array:
    """Whether f(f(x)) = x and the two log Jacobians cancel, up to rounding; an infinite f(x) is not judged."""
    image, log_jacobian = involution(x, position, candidate)
    back, log_jacobian_back = involution(image, candidate, position)
    xp = np if is_concrete((x, image, back, log_jacobian, log_jacobian_back)) else jnp
    is_finite, is_near, rounding = xp.isfinite(log_jacobian), True, _rounding(xp.asarray(0.0, float))
    for a, b, c in zip(*map(jax.tree.leaves, (x, image, back)), strict=True):
        size = xp.max(xp.maximum(xp.abs(xp.asarray(a, float)), xp.abs(xp.asarray(b, float))), initial=0.0)
        apart = xp.max(xp.abs(xp.asarray(c, float) - xp.asarray(a, float)), initial=0.0)
        is_finite, is_near = is_finite & xp.isfinite(size), is_near & (apart <= rounding * size)
    is_opposite = xp.abs(log_jacobian + log_jacobian_back) <= rounding * (1 + xp.abs(log_jacobian))
    return ~is_finite | (is_near & is_opposite)


def _rounding(number: Any) -> float:
    """How far a round trip may be off, relatively: it may lose more than half of the digits."""
    return float(np.finfo(number.dtype).eps) ** 0.4


def require_involution(involution: Involution, x: Array, position: Position, candidates: Position) -> None:
    """Refuse what does not undo itself, or has another Jacobian than autodiff finds, at some x for as many candidates.

    The Jacobian of an x that is discrete, or of a black box, must be believed.
    """
    is_smooth = all(map(is_floating, jax.tree.leaves(x))) and not boxes(involution)

    def of_one(x: Array, candidate: Position) -> tuple[Any, Array, Array]:
        image, stated = involution(x, position, candidate)
        back, _ = involution(image, candidate, position)
        found = log_abs_jacobian(lambda x: involution(x, position, candidate)[0], x) if is_smooth else stated
        is_right = ~jnp.isfinite(stated + found) | (
            jnp.abs(stated - found) <= _rounding(jnp.zeros((), float)) * (1 + jnp.abs(found))
        )
        return (image, back, stated, found), is_undone(involution, x, position, candidate), is_right

    first = jax.tree.map(lambda leaf: leaf[0], (x, candidates))
    image = jax.eval_shape(lambda x, candidate: involution(x, position, candidate)[0], *first)
    if not _is_like(image, first[0]):
        raise ValueError(
            f"involution makes {shapes(image)} of an x that is {shapes(first[0])}; f(x) must be like x, so that it can "
            f"undo itself"
        )
    found, is_undone_there, is_right = jax.vmap(of_one)(x, candidates)
    for is_good, sentence in (
        (
            is_right,
            "involution states a log Jacobian of {3} at x = {0}, but autodiff finds {4}; return log |det f'(x)| with "
            "f(x), or f(x) alone",
        ),
        (
            is_undone_there,
            "involution is none: at x = {0} it gives {1}, and from there {2}; f(f(x)) must be x, and the log "
            "Jacobians of the two must cancel",
        ),
    ):
        if not np.all(is_good):
            worst = int(np.argmin(np.asarray(is_good)))
            places = (describe(one_of(tree, worst)) for tree in (x, *found))
            raise ValueError(sentence.format(*places) + "; ls.check.involution looks at any x")


def as_involution(involution: Any) -> Involution:
    """A part stays as it is; a plain function becomes a `Transform`."""
    if callable(involution) and jax.tree_util.all_leaves([involution]):
        return Transform(involution)
    remedy = "ls.Identity(), ls.Reflection(total), ls.Mobius(a, b, c) or a function f(x)"
    return adopted(involution, Involution, "involution", remedy)
