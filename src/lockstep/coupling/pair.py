"""The positions of chains that walk together: of two coupled chains a `Pair`, of one alone its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lockstep.core.types import Position


class Pair(NamedTuple):
    """The positions of two coupled chains; as an initial position, two different starts."""

    first: Position
    second: Position


def legs(positions: Position) -> tuple[Position, ...]:
    """The positions of each chain of those that walk together."""
    return positions if isinstance(positions, Pair) else (positions,)


def both(positions: Position) -> tuple[Position, Position]:
    """The positions of two chains, which may have one."""
    first, second = (legs(positions) * 2)[:2]
    return first, second


def of_each(change: Callable[[Position], Any], positions: Position) -> Any:
    """What becomes of the positions of each chain; of a pair, a pair."""
    found = tuple(map(change, legs(positions)))
    return Pair(*found) if len(found) == 2 else found[0]
