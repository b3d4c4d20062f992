"""The bases of randomizations and of their involutions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.core.declared import Accountable, Part, declared
from lockstep.core.types import Array, Key, Position, Shape, Tree


class Randomization(Accountable):
    """Draws the auxiliary x of a randomized ratio and weighs it."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of draws; uses only the shape of ``position``."""

    @abstractmethod
    def sample(self, noise: Tree, position: Position, candidate: Position) -> Any:
        """The auxiliary x."""

    @abstractmethod
    def log_weight(self, x: Array, position: Position, candidate: Position) -> Array:
        """What x adds to the log ratio."""

    def is_violated(self, x: Array, position: Position, candidate: Position) -> Array:
        """Whether its own promise is broken at an x."""
        return np.False_

    def require_start(self, noise: Tree, position: Position, candidates: Position) -> None:
        """Refuse to start where its promise is broken at some candidates, each with its noise (a leading axis)."""

    @declared
    def log_density(self) -> Callable[..., Array] | None:
        """``log_density(x, position, candidate)`` of x, normalised; None: it is not known."""
        return None

    @declared
    def involution(self) -> Involution | None:
        """What pairs x with f(x); None: the identity."""
        return None

    @declared
    def is_density_when(self) -> str | None:
        """The conditions under which the weight is a ratio of densities of x; None: it is one."""
        return None


class Involution(Part):
    """Pairs x with f(x), and f(x) with x."""

    @abstractmethod
    def __call__(self, x: Array, position: Position, candidate: Position) -> tuple[Any, Array]:
        """f(x), and the logarithm of the Jacobian's absolute value."""

    is_proven = False  # whether algebra says that it undoes itself; else it is watched at every update
