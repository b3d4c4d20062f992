"""Who keeps the draws of a run as they come: in memory (`Collector`), on disk (`storage.writer.Writer`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import jax
import numpy as np

from lockstep.coupling.common_noise import Pair
from lockstep.engine.block import Output
from lockstep.engine.totals import Totals
from lockstep.storage.point import Point
from lockstep.storage.segments import Segment, read_output

SMALL = 1024  # draws of each chain for which there is room at first, where not all may come


class Keeper(Protocol):
    """Takes the draws of each block, and is then told where the run is."""

    def add(self, output: Output) -> None:
        """Take draws with leading axes (chains, draws)."""

    def reach(self, point: Point, is_last: bool) -> None:
        """The run is here; nothing comes after the last point."""

    def is_due(self, point: Point) -> bool:
        """Whether the next block is to be a single update, to be repeated at a resume."""


class Collector:
    """Arrays for all draws of a run in memory, filled block by block; they grow if not all may come (``is_open``)."""

    def __init__(self, chains: int, draws: int, is_open: bool = False) -> None:
        self.chains, self.draws, self.filled = chains, draws, 0
        self.room = min(draws, SMALL) if is_open else draws
        self.output: Output | None = None
        self.totals = Totals()

    def add(self, output: Output) -> None:
        """Put draws in their place, as far as they are wanted."""
        count = min(jax.tree.leaves(output)[0].shape[1], self.draws - self.filled)
        while self.room < self.filled + count:
            self.room = min(self.draws, 2 * self.room)
        if self.output is None or jax.tree.leaves(self.output)[0].shape[1] < self.room:
            self.output = self._enlarged(output)
        for target, leaf in zip(jax.tree.leaves(self.output), jax.tree.leaves(output), strict=True):
            target[:, self.filled : self.filled + count] = leaf[:, :count]
        self.filled += count

    def _enlarged(self, like: Output) -> Output:
        """Arrays with the room that there is to be, which hold what was gathered.

        In memory draws come before chains, as they do in a block: to put them in their place is to copy them.
        """
        shape = (self.room, self.chains)
        larger = jax.tree.map(lambda leaf: np.swapaxes(np.zeros((*shape, *leaf.shape[2:]), leaf.dtype), 0, 1), like)
        if self.output is not None:
            for target, leaf in zip(jax.tree.leaves(larger), jax.tree.leaves(self.output), strict=True):
                target[:, : self.filled] = leaf[:, : self.filled]
        return larger

    def read(self, segments: Iterable[Segment]) -> None:
        """Put the draws of segments in their place."""
        for segment in segments:
            if segment.draws:
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
        return jax.tree.map(lambda leaf: leaf[:, :draws], self.output.positions)

    def taken(self, like: Any) -> Output | None:
        """What was gathered, with positions in the structure of a state's."""
        if self.output is None or not self.filled:
            return None
        positions, info = jax.tree.map(lambda leaf: leaf[:, : self.filled], self.output)
        if isinstance(positions, Pair) and not isinstance(like, Pair):
            like = Pair(like, like)  # coupled chains that began at one position
        return Output(jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(positions)), info)
