"""Surrogates: functions close to the log likelihood of a row whose sum over all rows is cheap."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from lockstep.flat import flatten, unflatten
from lockstep.functions import Scalar, wrapped
from lockstep.parts import part, set_field
from lockstep.types import Array, Position


@part
class Taylor:
    """The second-order Taylor expansion of each row's log likelihood at one position.

    ``q_i(θ) = ℓ_i(θ*) + g_i·δ + δᵀ H_i δ / 2`` with δ = θ - θ*; the sum over all rows costs O(d²). Made by
    `lockstep.estimators.subsample`; the constant is left out.
    """

    center: Array  # θ*, flat
    gradient: Array  # Σ g_i
    hessian: Array  # Σ H_i

    def of_all(self, position: Position) -> Array:
        """The sum of all q_i, without its constant."""
        delta = flatten(position, jnp) - self.center
        return delta @ (self.gradient + 0.5 * (self.hessian @ delta))

    def of_row(self, log_likelihood: Any, position: Position, row: Any) -> Array:
        """q_i, without its constant: derivatives along the line from θ* to the position."""
        delta = flatten(position, jnp) - self.center

        def along(t: Array) -> Array:
            return log_likelihood(unflatten(self.center + t * delta, position), row)

        def slope(t: Array) -> Array:
            return jax.jvp(along, (t,), (jnp.ones_like(t),))[1]

        zero = jnp.zeros((), float)
        first, second = jax.jvp(slope, (zero,), (jnp.ones_like(zero),))
        return first + 0.5 * second


@part
class Surrogate:
    """A surrogate of your own for the log likelihood of a row.

    Parameters
    ----------
    row
        ``row(theta, row)``: q_i, close to the log likelihood of that row.
    total
        ``total(theta)``: the sum of q_i over *all* rows (up to a constant), in less time than such a sum takes.
    """

    row: Any
    total: Any

    def __post_init__(self) -> None:
        set_field(self, "row", wrapped(Scalar, self.row, "row of Surrogate"))
        set_field(self, "total", wrapped(Scalar, self.total, "total of Surrogate"))

    def of_all(self, position: Position) -> Array:
        return self.total(position)

    def of_row(self, log_likelihood: Any, position: Position, row: Any) -> Array:
        return self.row(position, row)
