"""The base of evaluations of a log density."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from lockstep.core.declared import Accountable, declared
from lockstep.core.types import Array, Key, Position, Shape


class Evaluation(Accountable):
    """The log of a density at a position, up to a constant: known exactly, or estimated with noise."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of evaluations; uses only the shape of ``position``."""

    @abstractmethod
    def __call__(self, noise: Any, position: Position) -> Array:
        """The log density, or the logarithm of its estimate."""

    @declared
    def is_random(self) -> bool:
        """Whether it is an estimate."""
        return True

    # Plain, for it is read at every update.
    can_be_violated = False

    def is_violated(self, noise: Any, position: Position) -> Array:
        """Whether the evaluation at a position finds its own promise broken."""
        return np.False_

    def require_start(self, candidates: Position) -> None:
        """Refuse to start where its promise is broken at some candidates (a leading axis)."""

    @declared
    def is_of_keys(self) -> bool:
        """Whether its noise is a random key, which cannot be correlated with another."""
        return False

    @declared
    def gains_by_correlation(self) -> bool:
        """Whether chains that stick are helped by noise that is correlated from one update to the next."""
        return False
