"""When a run is done: after all of its updates, or by a criterion that is judged at fixed numbers of draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from lockstep.chains.keepers import Collector
from lockstep.chains.task import Task
from lockstep.chains.until import Criterion, Look, Verdict
from lockstep.engine.block import CELL
from lockstep.storage.point import Point
from lockstep.storage.segments import Segment
from lockstep.storage.stops import Ended, recorded_stop, write_stop

LONGEST = 16 * CELL  # steps of a block of a run that is looked at every few draws: its noise is drawn for a program's


class Ending(Protocol):
    """When a run is done, and how far it may go until that is asked again."""

    def is_done(self, point: Point) -> bool: ...

    def longest(self, point: Point) -> int:
        """How many steps a block may have."""

    def next_step(self, point: Point) -> int:
        """The update, beyond this point, after which the next look is taken."""

    def see(self, point: Point) -> None:
        """The run is here, and all of its draws are kept."""


class AfterAll:
    """A task without a criterion is done after all of its updates."""

    def __init__(self, task: Task) -> None:
        self.steps = task.steps

    def is_done(self, point: Point) -> bool:
        return point.step >= self.steps

    def longest(self, point: Point) -> int:
        return self.steps - point.step

    def next_step(self, point: Point) -> int:
        return self.steps

    def see(self, point: Point) -> None:
        """There is nothing to judge."""


class Judge:
    """Looks at the draws of a task when there are as many as its criterion wants to see, and at its limit."""

    def __init__(self, task: Task, criterion: Criterion, collector: Collector) -> None:
        self.task, self.criterion, self.collector = task, criterion, collector
        self.ended: Ended | None = None
        self.known: dict[tuple[str, int], Verdict] = {}

    @property
    def is_enough(self) -> bool:
        return self.ended is not None and self.ended.is_met

    def is_done(self, point: Point) -> bool:
        return self.is_enough or point.step >= self.task.steps

    def longest(self, point: Point) -> int:
        return min(self.task.steps - point.step, LONGEST)

    def next_step(self, point: Point) -> int:
        draws = max(0, point.step - self.task.warmup) // self.task.thin
        return self.task.warmup + self.task.thin * self._next(draws, point.totals.seconds)

    def see(self, point: Point) -> None:
        """Judge the draws so far, if there are as many as are looked at."""
        draws = max(0, point.step - self.task.warmup) // self.task.thin
        if draws and (draws == self.task.draws or is_look(self.criterion, draws)):
            self.look(draws, point.totals.seconds)

    def look(self, draws: int, seconds: float) -> None:
        """Judge the first draws of each chain, which took so many seconds."""
        is_limit = draws == self.task.draws
        verdict = self.criterion.judge(Look(self.collector.positions(draws), draws, seconds, self.known))
        if verdict.is_enough or is_limit:
            self.ended = Ended(repr(self.criterion), draws, verdict.is_enough, verdict.told)

    def look_back(self, segments: Sequence[Segment]) -> None:
        """Judge draws that were there before; what is known of their times is when segments ended."""
        draws = 0
        while self.ended is None and (draws := self._next(draws)) <= self.collector.filled:
            passed = [segment.totals.seconds for segment in segments if segment.end <= draws]
            self.look(draws, max(passed, default=0.0))

    def _next(self, draws: int, seconds: float = np.inf) -> int:
        return min(self.task.draws, self.criterion.next_look(draws, seconds))


def record_end(task: Task, ended: Ended) -> None:
    """Keep where a run ended beside its draws, which are on disk."""
    if task.directory is not None:
        write_stop(task.directory, ended)


def is_look(criterion: Criterion, draws: int) -> bool:
    """Whether a criterion is judged at this number of draws."""
    return criterion.next_look(draws - 1) == draws


def recorded(task: Task) -> tuple[Task, Ended | None]:
    """A task whose criterion has stopped it before: it ends there, whatever a criterion would say now."""
    if task.until is None:
        return task, None
    found = recorded_stop(task.directory, repr(task.until))
    if found is None or found.draws > task.draws or not is_look(task.until, found.draws):
        return task, None
    return dataclasses.replace(task, draws=found.draws, until=None), found
