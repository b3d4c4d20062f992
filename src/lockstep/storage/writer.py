"""Who writes a run: draws are gathered and committed as segments, while the next ones are computed."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.engine.block import Output
from lockstep.engine.thinning import Thinning
from lockstep.storage.directory import Record
from lockstep.storage.errors import DamagedError, MismatchError
from lockstep.storage.point import Point, Witness
from lockstep.storage.segments import Segment, read_segments, read_state, segment_path, write_segment
from lockstep.storage.structure import encode

MOST_BYTES = 2**26  # of draws that wait to be written
LEAST_SECONDS, MOST_SECONDS, SHARE = 2.0, 300.0, 0.01  # a segment is about this share of the run so far


class Writing(NamedTuple):
    """A segment on its way to the disk, and the draws that wait again if it does not arrive."""

    future: Future[None]
    segment: Segment
    outputs: list[Output]


class Writer:
    """Gathers draws and commits them as segments, now and then and at the end, while the next ones are computed."""

    def __init__(self, path: Path, record: Record, target: int) -> None:
        self.path, self.record, self.target = path, record, target
        self.segments = read_segments(path, record.digest)
        self.waiting: list[Output] = []
        self.writing: Writing | None = None
        self.bytes = 0
        self.trees: Any = self.segments[-1].trees if self.segments else None
        self.committed_at = time.monotonic()

    def resume(self, like: object) -> Point | None:
        """Where the run stands, in the structure of its initial states; None if it has not begun."""
        if not self.segments:
            return None
        last = self.segments[-1]
        try:
            state, infos = read_state(last, like)
        except DamagedError:
            if not self.record.is_renewed(last.step):
                raise
            raise MismatchError(
                f"{self.path} cannot go on with this kernel, whose states are not like those of the run; begin another "
                f"run where this one ended, at ls.Starts(positions), in another directory"
            ) from None
        before, _ = read_state(last, like, "before")
        if not 0 < last.repeatable <= last.step:
            raise DamagedError(f"{last.path} says that its last block has {last.repeatable} updates")
        past = self._thinning(last, last.step - last.repeatable, infos["past"], infos["after"])
        now = self._thinning(last, last.step, infos["pending"], infos["after"])
        return Point(last.step, state, now, last.totals, Witness(before, last.repeatable, past, infos["after"]))

    def _thinning(self, segment: Segment, step: int, begun: list[np.ndarray], like: list[np.ndarray]) -> Thinning:
        """The draw that had begun at a step, of which a segment holds these leaves; other infos have leaves alike."""
        thinning = Thinning.at(step, self.record.get("warmup"), self.record.get("thin"), begun)
        if thinning.phase and len(begun) != len(like):
            raise DamagedError(f"{segment.path} does not hold the info of the draw that had begun at update {step:,}")
        return thinning

    def add(self, output: Output) -> None:
        """Take draws with leading axes (chains, draws)."""
        self.trees = {"positions": encode(output.positions), "info": encode(output.info)}
        copy = jax.tree.map(np.array, output)
        self.bytes += sum(leaf.nbytes for leaf in jax.tree.leaves(copy))
        if jax.tree.leaves(copy)[0].shape[1]:
            self.waiting.append(copy)

    def reach(self, point: Point, is_last: bool) -> None:
        """Commit what waits, if it is time and the last block is one update; at the end, return when it is on disk."""
        if is_last or (self.is_due(point) and point.witness is not None and point.witness.steps == 1):
            self.commit(point)
        if is_last:
            self.settle()

    def is_due(self, point: Point) -> bool:
        """Whether it is time for a segment, before which an update is taken by itself, to be repeated at a resume."""
        committed = self.writing.segment if self.writing else self.segments[-1] if self.segments else None
        if point.step == (0 if committed is None else committed.step):
            return False
        waited = time.monotonic() - self.committed_at
        return self.bytes > MOST_BYTES or waited > self.interval(point.totals.seconds)

    @staticmethod
    def interval(seconds: float) -> float:
        """Seconds from one segment to the next, in a run that has taken so long."""
        return min(MOST_SECONDS, max(LEAST_SECONDS, SHARE * seconds))

    def commit(self, point: Point) -> None:
        """Begin to write a segment, when the one before is on disk."""
        self.settle()
        last = self.segments[-1] if self.segments else None
        if point.step == (last.step if last else 0):
            return
        first = last.end if last else 0
        draws = max(0, (point.step - self.record.get("warmup")) // self.record.get("thin") - first)
        place = segment_path(self.path, len(self.segments))
        counts = (first, draws, point.step, self.target, point.totals)
        # Seconds as they were counted, set at the time of the clock: a clock that is put right changes no duration.
        now, computed = time.time(), point.totals.seconds - (last.totals.seconds if last else 0.0)
        span = (now - computed, now)
        assert point.witness is not None
        segment = Segment(place, self.record.digest, *counts, self.trees, point.witness.steps, span)
        pool = ThreadPoolExecutor(1)
        self.writing = Writing(pool.submit(_write, segment, self.waiting, point), segment, self.waiting)
        pool.shutdown(wait=False)
        self.waiting, self.bytes, self.committed_at = [], 0, time.monotonic()

    def settle(self) -> None:
        """Wait until what is being written is on disk; if it failed, its draws wait again."""
        if self.writing is None:
            return
        error = self.writing.future.exception()
        writing, self.writing = self.writing, None
        if error is not None:
            self.waiting = [*writing.outputs, *self.waiting]
            raise error
        self.segments.append(writing.segment)


def _write(segment: Segment, outputs: list[Output], point: Point) -> None:
    # An interrupt may have come between the draws of a block and its point: only what belongs to the point counts.
    draws = segment.draws
    output = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1)[:, :draws], *outputs) if draws else None
    assert point.witness is not None
    before = (point.witness.state, point.witness.thinning.begun, point.witness.info)
    write_segment(segment, output, point.thinning.begun, point.state, before)
