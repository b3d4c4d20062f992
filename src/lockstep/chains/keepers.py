"""Who keeps the draws of a run as they come: in memory (`Collector`), on disk (`storage.writer.Writer`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import jax
import numpy as np

from lockstep.core.types import Position
from lockstep.coupling.pair import Pair, both, legs
from lockstep.engine.block import Output
from lockstep.engine.totals import Totals
from lockstep.storage.point import Point
from lockstep.storage.segments import Segment, read_output
from lockstep.storage.structure import is_whole

SMALL = 1024  # draws of each chain for which there is room at first, where not all may come
LARGE = 2**19  # bytes of a block that are copied in a thread: memory that is new takes longer to fill than to compute


class Keeper(Protocol):
    """Takes the draws of each block, and is then told where the run is."""

    def add(self, output: Output) -> None:
        """Take draws with leading axes (chains, draws)."""

    def reach(self, point: Point, is_last: bool) -> None:
        """The run is here; nothing comes after the last point."""

    def is_due(self, point: Point) -> bool:
        """Whether the next block is to be a single update, to be repeated at a resume."""


class Keepers:
    """Several who keep the same draws."""

    def __init__(self, *keepers: Keeper) -> None:
        self.keepers = keepers

    def add(self, output: Output) -> None:
        for keeper in self.keepers:
            keeper.add(output)

    def reach(self, point: Point, is_last: bool) -> None:
        for keeper in self.keepers:
            keeper.reach(point, is_last)

    def is_due(self, point: Point) -> bool:
        return any(keeper.is_due(point) for keeper in self.keepers)


class Collector:
    """Arrays for all draws of a run in memory, filled block by block; they grow if not all may come (``is_open``)."""

    def __init__(self, chains: int, draws: int, is_open: bool = False) -> None:
        self.chains, self.draws, self.filled = chains, draws, 0
        self.room = min(draws, SMALL) if is_open else draws
        self.output: Output | None = None
        self.totals = Totals()
        self.is_known = False  # whether positions are in the structure of a state's: those of files may not be
        self._copying: Future[None] | None = None

    def add(self, output: Output) -> None:
        """Put draws in their place, as far as they are wanted."""
        count = min(jax.tree.leaves(output)[0].shape[1], self.draws - self.filled)
        while self.room < self.filled + count:
            self.room = min(self.draws, 2 * self.room)
        if self.output is None or jax.tree.leaves(self.output)[0].shape[1] < self.room:
            self.output = self._enlarged(output)
        places = [leaf[:, self.filled : self.filled + count] for leaf in jax.tree.leaves(self.output)]
        self._copy(places, [leaf[:, :count] for leaf in jax.tree.leaves(output)])
        self.filled += count

    def _copy(self, places: list[np.ndarray], leaves: list[np.ndarray]) -> None:
        """Copy arrays to their places: large ones in a thread, while the next block is computed."""

        def copy() -> None:
            for place, leaf in zip(places, leaves, strict=True):
                np.copyto(place, leaf)

        self._settle()
        if sum(leaf.nbytes for leaf in leaves) < LARGE:
            copy()
        else:
            self._copying = _copier().submit(copy)

    def _settle(self) -> None:
        """Wait until all draws are in their places."""
        if self._copying is not None:
            self._copying.result()
            self._copying = None

    def _enlarged(self, like: Output) -> Output:
        """Arrays with the room that there is to be, which hold what was gathered.

        In memory their axes lie as those of a block do: to put draws in their place is to copy them.
        """
        shape = (self.chains, self.room)
        larger = jax.tree.map(lambda leaf: _empty_like(leaf, (*shape, *leaf.shape[2:])), like)
        self._settle()
        if self.output is not None:
            for target, leaf in zip(jax.tree.leaves(larger), jax.tree.leaves(self.output), strict=True):
                target[:, : self.filled] = leaf[:, : self.filled]
        return larger

    def read(self, segments: Iterable[Segment]) -> None:
        """Put the draws of segments in their place."""
        for segment in segments:
            if segment.draws:
                self.is_known = is_whole(segment.trees["positions"])
                self.add(read_output(segment))

    def reach(self, point: Point, is_last: bool) -> None:
        """Keep the counts; memory is always up to date."""
        self.totals = point.totals

    def is_due(self, point: Point) -> bool:
        """Never."""
        return False

    def positions(self, draws: int) -> Any:
        """The first positions of each chain."""
        assert self.output is not None and draws <= self.filled
        self._settle()
        return jax.tree.map(lambda leaf: leaf[:, :draws], self.output.positions)

    def taken(self, position: Callable[[], Position]) -> Output | None:
        """What was gathered, with positions in the structure of a state's, which is asked for if it is not known."""
        if self.output is None or not self.filled:
            return None
        self._settle()
        positions, info = jax.tree.map(lambda leaf: leaf[:, : self.filled], self.output)
        if self.is_known:
            return Output(positions, info)
        like = position()
        if len(legs(positions)) > 1:
            like = Pair(*both(like))  # coupled chains may have begun at one position
        return Output(jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(positions)), info)


def _empty_like(leaf: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a shape whose axes lie in memory as those of another do, one of which may have a single entry."""
    order = np.argsort(leaf.strides, kind="stable")[::-1]
    return np.empty([shape[axis] for axis in order], leaf.dtype).transpose(np.argsort(order))


@functools.cache
def _copier() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "lockstep-draws")
