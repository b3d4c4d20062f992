"""Where the two chains of a lagged pair begin: both by the same law."""

from __future__ import annotations

from typing import Any

import jax.random as jr

from lockstep.chains.starts import Starts
from lockstep.core.parts import part
from lockstep.core.precision import canonical, double_precision
from lockstep.core.types import Key, Position
from lockstep.coupling.common_noise import Pair
from lockstep.host.functions import Function


@part
class PairStart:
    """A start for each of two chains, drawn independently by one law."""

    draw: Any

    def __call__(self, key: Key) -> Pair:
        key_first, key_second = jr.split(key)
        return Pair(self.draw(key_first), self.draw(key_second))


@part
class Fixed:
    """The law of one position."""

    position: Position

    def __call__(self, key: Key) -> Position:
        return self.position


def law_of_start(initial: Any) -> Any:
    """The law by which chains begin, a function of a key; a position is the law of that position."""
    if isinstance(initial, (Starts, Pair)):
        raise TypeError(
            f"initial is {type(initial).__name__}; pairs begin by a law: give a function of a random key that draws a "
            f"position, or one position"
        )
    if isinstance(initial, type):
        raise TypeError(f"initial is the class {initial.__name__}; give a position, or an instance of it")
    if callable(initial):
        return Function(initial, "initial")
    with double_precision():
        return Fixed(canonical(initial, "initial"))
