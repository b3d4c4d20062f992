"""Measure a row: ours and its peer by turns, so that whatever else the machine does hits both alike.

A ratio is peer's time over our time for one unit of work, taken within each repetition: above 1, ours is faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Task:
    """A piece of work: ``measure()`` does it and returns the seconds it took; ``units`` is how much work it is."""

    name: str
    units: int
    measure: Callable[[], float]

    def seconds_per_unit(self) -> float:
        return self.measure() / self.units


def timed(name: str, units: int, run: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> Task:
    """A task that is timed from the call of ``run`` until its arrays are there.

    With ``time.process_time`` as the clock: the time of all processors together.
    """

    def measure() -> float:
        import jax

        began = clock()
        jax.block_until_ready(run())
        return clock() - began

    return Task(name, units, measure)


FEWEST = 3  # repetitions of a row that takes long

Builder = Callable[[int], Task]  # from the number of updates; compiled programs and data are made here


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    name
        By which ``--rows`` finds it.
    measures
        What is measured, in a few words.
    ours, peers
        What makes the tasks. Of several peers the fastest in the warm-up is measured.
    at_least
        The target: the smallest ratio that is good enough.
    at_most_more
        Or the most seconds by which a unit may take longer than the peer's. With neither, the row is for information.
    updates
        How many units of work (updates of all chains together) a measurement takes.
    unit
        What one unit is called.
    repeats
        How many repetitions at the most, for a row that takes minutes.
    """

    name: str
    measures: str
    ours: Builder
    peers: tuple[Builder, ...]
    at_least: float | None = None
    updates: int = 2**21
    unit: str = "update"
    repeats: int | None = None
    at_most_more: float | None = None


@dataclass(frozen=True)
class Result:
    """The measurements of a row: seconds per unit, one pair a repetition."""

    row: Row
    ours_name: str
    peer_name: str
    ours: tuple[float, ...]
    peer: tuple[float, ...]

    @property
    def ratios(self) -> np.ndarray:
        return np.array(self.peer) / np.array(self.ours)

    @property
    def median(self) -> float:
        return float(np.median(self.ratios))

    @property
    def spread(self) -> tuple[float, float]:
        """The 10 % and 90 % quantiles of the ratio."""
        low, high = np.quantile(self.ratios, (0.1, 0.9))
        return float(low), float(high)

    @property
    def more(self) -> float:
        """How much longer ours takes, in seconds; the median."""
        return float(np.median(np.array(self.ours) - np.array(self.peer)))

    @property
    def verdict(self) -> str:
        """Whether the median reaches the target."""
        if self.row.at_most_more is not None:
            is_met = self.more <= self.row.at_most_more
        elif self.row.at_least is not None:
            is_met = self.median >= self.row.at_least
        else:
            return "information"
        return "ok" if is_met else "below target"


def measure(row: Row, repeats: int, seconds: float = np.inf) -> Result:
    """Warm up, then measure ours and the peer by turns, but after so many seconds no more than `FEWEST` times."""
    ours = row.ours(row.updates)
    ours.measure()
    peer = fastest([build(row.updates) for build in row.peers])
    most, began = min(repeats, row.repeats or repeats), time.perf_counter()
    pairs: list[tuple[float, float]] = []
    while len(pairs) < most and (len(pairs) < FEWEST or time.perf_counter() - began < seconds):
        pairs.append((ours.seconds_per_unit(), peer.seconds_per_unit()))
    return Result(row, ours.name, peer.name, *zip(*pairs, strict=True))


def fastest(tasks: list[Task]) -> Task:
    """The fastest of some tasks, all of them warm."""
    for task in tasks:
        task.measure()
    if len(tasks) == 1:
        return tasks[0]
    return min(tasks, key=lambda task: min(task.seconds_per_unit() for _ in range(3)))
