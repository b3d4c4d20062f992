"""The base of evaluations of a log density."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.declared import Accountable, declared
from lockstep.core.types import Array, Key, Position, Shape, Tree


class Evaluation(Accountable):
    """The log of a density at a position, up to a constant: known exactly, or estimated with noise."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of evaluations; uses only the shape of ``position``."""

    @abstractmethod
    def __call__(self, noise: Tree, position: Position) -> Array:
        """The log density, or the logarithm of its estimate."""

    @declared
    def noise_source(self) -> Any:
        """What makes the noise: the evaluation, or the part of it that does, with the same ``noise``."""
        return self

    @declared
    def count(self) -> int:
        """How many samples an estimate takes."""
        return 1

    @declared
    def with_count(self) -> Callable[[int], Any] | None:
        """``with_count(count)``: the same with another number of samples; None: it has but one."""
        return None

    @declared
    def is_random(self) -> bool:
        """Whether it is an estimate."""
        return True

    # Plain, for they are read at every update: whether it can find its own promise broken, and whether it returns a
    # path of hidden states beside its value, which a run then keeps: ``(value, path)``.
    can_be_violated = False
    has_path = False

    def is_violated(self, noise: Tree, position: Position) -> Array:
        """Whether the evaluation at a position finds its own promise broken."""
        return np.False_

    def require_start(self, candidates: Position) -> None:
        """Refuse to start where its promise is broken at some candidates (a leading axis)."""

    @declared
    def can_stop(self) -> bool:
        """Whether it asks for a value below which it may be minus infinity (`lockstep.host.limit`)."""
        return False

    @declared
    def is_of_keys(self) -> bool:
        """Whether its noise is a random key, which cannot be correlated with another."""
        return False

    @declared
    def forecaster(self) -> Any:
        """What simulates on from such a path."""
        return None

    def probed(self, noise: Tree, candidates: Position) -> Any:
        """Its values at several candidates (a leading axis), to tell which is bad; None if they cannot be had."""
        return jax.vmap(self)(noise, candidates)

    def blame(self, position: Position, noise: Tree = None) -> str:
        """What to call its value in messages, where that is not finite at a position: the name of what made it so.

        With the noise of that evaluation, or with any.
        """
        return self.name

    def cure(self, positions: Position) -> str | None:
        """What would cure chains that stick at these positions (a leading axis), measured there; None: not known."""
        return None

    def opened(self, noise: Tree) -> Any:
        """Its noise in full: one that is large is drawn where it is used, at once, from a key."""
        return noise

    @declared
    def gains_by_correlation(self) -> bool:
        """Whether chains that stick are helped by noise that is correlated from one update to the next."""
        return False
