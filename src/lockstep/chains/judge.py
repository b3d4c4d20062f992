"""Whether a run has enough: its criterion, judged at fixed numbers of draws while the draws come."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from lockstep.chains.keepers import Collector
from lockstep.chains.task import Task
from lockstep.chains.until import Criterion, Look, Verdict
from lockstep.storage.point import Point
from lockstep.storage.segments import Segment
from lockstep.storage.stops import Ended, recorded_stop, write_stop


class Judge:
    """Looks at the draws of a task when there are as many as its criterion wants to see, and at its limit."""

    def __init__(self, task: Task, criterion: Criterion, collector: Collector) -> None:
        self.task, self.criterion, self.collector = task, criterion, collector
        self.ended: Ended | None = None
        self.known: dict[tuple[str, int], Verdict] = {}

    @property
    def is_enough(self) -> bool:
        return self.ended is not None and self.ended.is_met

    def next_step(self, point: Point) -> int:
        """The update, beyond this point, after which the next look is taken."""
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
