"""Where the two chains of a lagged pair begin: both by the same law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core import random
from lockstep.core.flat import unflatten
from lockstep.core.kernel import Kernel
from lockstep.core.parts import part
from lockstep.core.precision import canonical, double_precision
from lockstep.core.types import Array, Key, Position
from lockstep.coupling.pair import Pair
from lockstep.host.functions import Function
from lockstep.starts.fit import warn_if_far
from lockstep.starts.placing import law_of, placed
from lockstep.starts.start import Fixed, Law, Starts, Walked, initial_positions, start_of
from lockstep.subsampling.scatter import Scattered

LOOKED_AT = 64  # starts, to tell whether they are too far from a mode


@part
class PairStart(Law):
    """A start for each of two chains, drawn independently by one law."""

    draw: Any

    def __call__(self, key: Key) -> Pair:
        key_first, key_second = random.split(key)
        return Pair(self.draw(key_first), self.draw(key_second))


@part
class AroundMode(Law):
    """The normal approximation at a mode."""

    center: Array
    factor: Array
    position: Position

    def __call__(self, key: Key) -> Position:
        return unflatten(self.center + self.factor @ random.normal(key, (len(self.center),)), self.position)


def law_of_start(kernel: Kernel, initial: Any) -> Any:
    """The law by which chains begin, a function of a key; a position is the law of that position."""
    if initial is None:
        initial = law_of(kernel)
    if isinstance(initial, (Starts, Pair)):
        raise TypeError(
            f"initial is {type(initial).__name__}; pairs begin by a law: give a function of a random key that draws a "
            f"position, or one position"
        )
    if start_of(initial).is_each:
        return Function(initial, "initial")
    with double_precision():
        return Fixed(canonical(initial, "initial"))


def placed_law(kernel: Kernel, draw: Callable[..., Any]) -> Any:
    """The law of positions on which chains walk, for one of what is shown of them."""
    found = placed(kernel, draw)
    return found if callable(found) else Fixed(found)


def walked(kernel: Kernel, draw: Callable[..., Any]) -> Any:
    """A law of positions as chains walk, marked as such where values are shown of them."""
    return draw if kernel.shown is None or kernel.shown.unconstrained is None else Walked(draw)


def law_after_fit(draw: Callable[..., Any], start: Position, key: Key) -> Any:
    """The law by which chains begin, after a fit has found where they may: one position gives way to that."""
    is_each = start_of(draw).is_each
    if isinstance(start, Scattered):
        if not is_each:
            return AroundMode(start.mode.center, start.mode.factor, canonical(start.mode.position, "position"))
        warn_if_far(start, initial_positions(draw, LOOKED_AT, key))
    elif start is not None and not is_each:
        return Fixed(canonical(start, "position"))
    return draw
