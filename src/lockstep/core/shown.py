"""How positions are shown: by name, in the values that a user speaks of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from lockstep.core.declared import Part, declared
from lockstep.core.precision import canonical, double_precision
from lockstep.core.types import Array, Key, Position


class Shown(Part):
    """What runs show of the positions that a chain walks on.

    Chains of `ls.Parameters` walk on real numbers; what is shown are the values of the parameters. A part that knows
    how its positions are shown has a ``shown``; results read it from the kernel, and files keep it if they can.
    """

    @abstractmethod
    def values(self, position: Position) -> Position:
        """What is shown of one position."""

    def named(self, values: Position) -> dict[str, np.ndarray] | None:
        """What is shown of many, by name; None: the leaves by their paths."""
        return None

    @declared
    def dims(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the axes of each of them."""
        return {}

    @declared
    def coords(self) -> Mapping[str, tuple[Any, ...]]:
        """Labels along those axes."""
        return {}

    @declared
    def unconstrained(self) -> Callable[[Position], Position] | None:
        """``unconstrained(values)``: the position with these values; None: users give positions as chains walk."""
        return None

    @declared
    def draw(self) -> Callable[[Key], Position] | None:
        """``draw(key)``: values at which a chain may begin; None: users must say where."""
        return None

    def require_law(self) -> None:
        """Refuse what cannot say where chains begin."""

    def stored(self) -> dict[str, Any] | None:
        """Everything as JSON, for files; None: it needs functions, which files do not keep."""
        return None

    def all_values(self, positions: Position) -> Position:
        """What is shown of positions with two leading axes, as NumPy arrays."""
        with double_precision():
            arguments = canonical(self, "shown"), canonical(positions, "positions")
            return jax.tree.map(np.asarray, _all_values(*arguments))


@jax.jit
def _all_values(shown: Any, positions: Position) -> Position:
    return jax.vmap(jax.vmap(shown.values))(positions)


class Placement(Shown):
    """Coordinates in which a chain walks, with a prior: they make the kernel of a posterior of one for a likelihood."""

    @abstractmethod
    def evaluate(self, position: Position) -> tuple[Position, Array]:
        """The values at a position, and the log density of the prior there, that of the coordinates included."""


class Showing:
    """A model of which positions are parameters: functions that are its methods are shown as it says."""

    shown: Any = None
