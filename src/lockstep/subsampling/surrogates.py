"""Surrogates: functions close to the log likelihood of a row whose sum over all rows is cheap."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp

from lockstep.core.adopt import ADAPTERS, Adapter
from lockstep.core.declared import Part, declared
from lockstep.core.flat import flatten, unflatten
from lockstep.core.parts import part, set_field
from lockstep.core.types import Array, Position, Tree
from lockstep.host.functions import Scalar, wrapped


class Control(Part):
    """A surrogate: its value of a row, and the sum of these over all rows."""

    @abstractmethod
    def of_row(self, log_likelihood: Scalar, position: Position, row: Tree) -> Array:
        """Its value of a row."""

    @abstractmethod
    def of_all(self, position: Position) -> Array:
        """The sum of its values over all rows, up to a constant."""

    def change_of_row(self, log_likelihood: Scalar, position: Position, candidate: Position, row: Tree) -> Array:
        """What `of_row` is more at the candidate."""
        return self.of_row(log_likelihood, candidate, row) - self.of_row(log_likelihood, position, row)

    def change_of_all(self, position: Position, candidate: Position) -> Array:
        """What `of_all` is more at the candidate."""
        return self.of_all(candidate) - self.of_all(position)

    @declared
    def center(self) -> Any:
        """Where each row is expanded to the second order, with ``gradient`` and ``hessian`` of all; None: nowhere."""
        return None

    @declared
    def leaves_derivatives(self) -> bool:
        """Whether what it leaves of a row is bounded by the third derivatives, or by the first without a center."""
        return False


@part
class AdoptedControl(Adapter, Control):
    """A surrogate of a user's own class, with the two methods alone."""

    given: Any

    of_all = property(lambda self: self.given.of_all)
    of_row = property(lambda self: self.given.of_row)


ADAPTERS[Control] = AdoptedControl


@part
class NoControl(Control):
    """No surrogate: all of a row is left to be estimated."""

    leaves_derivatives = True

    def of_all(self, position: Position) -> Array:
        return 0.0

    def of_row(self, log_likelihood: Scalar, position: Position, row: Tree) -> Array:
        return 0.0


@part
class Taylor(Control):
    """The second-order Taylor expansion of each row's log likelihood at one position.

    ``q_i(θ) = ℓ_i(θ*) + g_i·δ + δᵀ H_i δ / 2`` with δ = θ - θ*; the sum over all rows costs O(d²). Made by
    `lockstep.estimators.subsample`; the constant is left out. All fields are None until the mode is found.
    """

    center: Array  # θ*, flat
    gradient: Array  # Σ g_i
    hessian: Array  # Σ H_i

    leaves_derivatives = True
    is_fitted = property(lambda self: self.center is not None)

    def of_all(self, position: Position) -> Array:
        """The sum of all q_i, without its constant."""
        delta = self._delta(position)
        return self._of_all(delta, delta)

    def of_row(self, log_likelihood: Scalar, position: Position, row: Tree) -> Array:
        """q_i, without its constant: derivatives along the line from θ* to the position."""
        delta = self._delta(position)
        return self._of_row(log_likelihood, position, row, delta, delta)

    def change_of_all(self, position: Position, candidate: Position) -> Array:
        """What `of_all` is more at the candidate: Σg·(δ' - δ) + (δ' - δ)ᵀ ΣH (δ' + δ) / 2."""
        old, new = self._delta(position), self._delta(candidate)
        return self._of_all(new - old, new + old)

    def change_of_row(self, log_likelihood: Scalar, position: Position, candidate: Position, row: Tree) -> Array:
        """What `of_row` is more at the candidate: one expansion instead of two."""
        old, new = self._delta(position), self._delta(candidate)
        return self._of_row(log_likelihood, position, row, new - old, new + old)

    def _delta(self, position: Position) -> Array:
        return flatten(position, jnp) - self.center

    def _of_all(self, a: Array, b: Array) -> Array:
        """Σg·a + aᵀ ΣH b / 2."""
        return a @ (self.gradient + 0.5 * (self.hessian @ b))

    def _of_row(self, log_likelihood: Scalar, like: Position, row: Tree, a: Array, b: Array) -> Array:
        """g_i·a + aᵀ H_i b / 2."""

        def value(flat: Array) -> Array:
            return log_likelihood(unflatten(flat, like), row)

        def slope(flat: Array) -> Array:
            return jax.jvp(value, (flat,), (a,))[1]

        first, second = jax.jvp(slope, (self.center,), (b,))
        return first + 0.5 * second


@part
class Surrogate(Control):
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

    def of_row(self, log_likelihood: Scalar, position: Position, row: Tree) -> Array:
        return self.row(position, row)
