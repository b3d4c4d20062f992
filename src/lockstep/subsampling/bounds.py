"""Bounds on how much the log likelihood of a row can change: what the exact minibatch algorithm needs to know."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import positive
from lockstep.core.flat import flatten
from lockstep.core.parts import part, set_field
from lockstep.core.types import Array, Position, Tree
from lockstep.host.functions import Function, Scalar, Wrapped, wrapped
from lockstep.proposals.scales import unstretch


@runtime_checkable
class RowBound(Protocol):
    """A bound on the change of rows: c_i of a row, and M of two positions, in the coordinates of a factor L."""

    @property
    def distance(self) -> Any: ...
    def at(self, factor: Array) -> Any: ...
    def coefficient(self, row: Tree, is_controlled: bool) -> Array: ...


@part
class Bound:
    """A bound of your own: ``|r_i(θ') - r_i(θ)| ≤ c_i M(θ, θ')`` for what the control leaves of each row.

    Parameters
    ----------
    row
        ``row(row)``: c_i, not negative.
    distance
        ``distance(position, candidate)``: M, the same in both directions.

    Examples
    --------
    Of a logistic regression, whose control is the tangent at 0, the derivative of a remainder is at most ½‖x‖:

    >>> import jax.numpy as jnp, lockstep as ls
    >>> bound = ls.subsampling.Bound(
    ...     row=lambda row: 0.5 * jnp.linalg.norm(row["x"]),
    ...     distance=lambda position, candidate: jnp.linalg.norm(candidate - position),
    ... )
    """

    row: Any
    distance: Any

    def __post_init__(self) -> None:
        set_field(self, "row", wrapped(Scalar, self.row, "row of Bound"))
        set_field(self, "distance", wrapped(WithoutCenter, self.distance, "distance of Bound"))

    def at(self, factor: Array) -> Bound:
        return self

    def coefficient(self, row: Tree, is_controlled: bool) -> Array:
        return self.row(row)


@part
class WithoutCenter(Wrapped):
    """A user's distance, to which it is no matter where an expansion has its center."""

    function: Scalar

    def __init__(self, distance: Any, name: str) -> None:
        set_field(self, "function", wrapped(Scalar, distance, name))

    def __call__(self, position: Position, candidate: Position, center: Array | None = None) -> Array:
        return self.function(position, candidate)

    def __repr__(self) -> str:
        return repr(self.function)


@part
class LinearBound:
    """For a log likelihood that depends on θ through x·θ, with bounded first and third derivatives in x·θ.

    In coordinates u = L⁻¹ (θ - θ*), by the Cauchy–Schwarz inequality: without a control c = K₁ ‖Lᵀx‖ and
    M = ‖u' - u‖; of a second-order remainder c = K₃ ‖Lᵀx‖³ / 2 and M = ‖u' - u‖ (‖u‖² + u·u' + ‖u'‖²) / 3, the average
    of ‖·‖² on the way from u to u'.
    """

    features: Function
    first: Array
    third: Array
    factor: Array = 1.0

    def at(self, factor: Array) -> LinearBound:
        """In the coordinates of a covariance factor L."""
        return LinearBound(self.features, self.first, self.third, factor)

    def coefficient(self, row: Tree, is_controlled: bool) -> Array:
        x = jnp.ravel(self.features(row))
        norm = jnp.linalg.norm(self.factor * x if np.ndim(self.factor) < 2 else self.factor.T @ x)
        return self.third / 2 * norm**3 if is_controlled else self.first * norm

    def distance(self, position: Position, candidate: Position, center: Array | None) -> Array:
        old, new = (flatten(theta, jnp) for theta in (position, candidate))
        length = jnp.linalg.norm(unstretch(self.factor, new - old))
        if center is None:
            return length
        old, new = (unstretch(self.factor, theta - center) for theta in (old, new))
        return length * (old @ old + old @ new + new @ new) / 3


def logistic(features: Any) -> LinearBound:
    """For logistic regression, ``y x·θ - log(1 + e^{x·θ})`` with y in [0, 1].

    Parameters
    ----------
    features
        ``features(row)``: the vector x of a row.

    Notes
    -----
    The first derivative in x·θ is at most 1, the third at most 1/(6√3).
    """
    return LinearBound(wrapped(Function, features, "features of logistic"), 1.0, 1 / (6 * math.sqrt(3)))


def robust(features: Any, degrees: float, scale: float = 1.0) -> LinearBound:
    """For robust regression, y - x·θ from a Student t law with fixed degrees of freedom and scale.

    Parameters
    ----------
    features
        ``features(row)``: the vector x of a row.
    degrees, scale
        Of the t law of the errors.

    Notes
    -----
    With u = (y - x·θ)/(scale √ν) the log density is -(ν+1)/2 log(1 + u²), whose derivatives in u are largest at u = 1
    and u = √2 - 1.
    """
    degrees, scale = positive(degrees, "degrees of robust"), positive(scale, "scale of robust")
    u, unit = math.sqrt(2) - 1, scale * math.sqrt(degrees)
    first = (degrees + 1) / 2 / unit
    third = (degrees + 1) / 2 * 4 * u * (3 - u**2) / (1 + u**2) ** 3 / unit**3
    return LinearBound(wrapped(Function, features, "features of robust"), first, third)
