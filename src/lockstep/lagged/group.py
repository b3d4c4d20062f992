"""Pairs that ran together, and what is kept of their draws: made where these were computed, so that they stay there."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.chains.outcome import Outcome
from lockstep.chains.task import Task
from lockstep.core import random
from lockstep.core.precision import double_precision
from lockstep.core.types import Position
from lockstep.engine.bad_ratios import infos
from lockstep.engine.block import Output
from lockstep.host.boxes import is_interpreted
from lockstep.host.callback import raised_here
from lockstep.lagged.average import Average
from lockstep.lagged.distance import distances
from lockstep.starts.start import initial_positions


class Draws(NamedTuple):
    """The draws of pairs, and when they met (0: not yet).

    ``start`` holds X_0, ``first`` X_1, X_2, … and ``second`` beside each X_t its Y_{t - lag}: Y_0 as long as it waits.
    """

    start: Position
    first: Position
    second: Position
    meeting_times: np.ndarray


class Group(NamedTuple):
    """What is kept of pairs that ran together, for so many ``updates`` of each of their first chains.

    ``apart`` are the distances of the two chains until the last pair has met, ``values`` the averages, and ``chains``
    the function along the first of some pairs, by which the variance of a long chain is estimated.
    """

    meeting_times: np.ndarray
    updates: int
    is_compiled: bool
    apart: np.ndarray
    values: Any = None
    chains: Any = None

    @property
    def size(self) -> int:
        return len(self.meeting_times)

    def evaluated(self, lag: int) -> int:
        """How many updates of single chains were computed: compiled, seconds move until the last of them has met."""
        met = np.where(self.meeting_times > 0, self.meeting_times, self.updates)
        seconds = np.max(met) * np.ones_like(met) if self.is_compiled else met
        return int(self.size * self.updates + np.maximum(seconds - lag, 0).sum())

    def cut(self, size: int) -> Group:
        """The first so many of its pairs."""
        times, apart, values, chains = jax.tree.map(
            lambda leaf: leaf[:size], (self.meeting_times, self.apart, self.values, self.chains)
        )
        return self._replace(meeting_times=times, apart=apart, values=values, chains=chains)


@dataclasses.dataclass(frozen=True, eq=False)
class Kept:
    """Makes a group of the draws of a task; without an average, one of meeting times and distances alone."""

    lag: int
    average: Average | None

    def __call__(self, task: Task, outcome: Outcome) -> Outcome:
        """The outcome with a group instead of draws, unless something is to be told of its log ratios."""
        output = outcome.output
        if output is None or not outcome.is_complete:
            return outcome._replace(output=None)
        return outcome._replace(output=None, kept=self.group(task, output)) if _is_plain(output) else outcome

    def group(self, task: Task, output: Output) -> Group:
        """The group of all draws of a task."""
        draws = _draws(task, output)
        updates = output.info.is_equal.shape[1]
        group = Group(draws.meeting_times, updates, not is_interpreted(task.kernel), distances(draws, self.lag))
        if self.average is None:
            return group
        values, chains = self.average.over(draws, self.lag, task.first)
        return group._replace(values=values, chains=chains)


def _draws(task: Task, output: Output) -> Draws:
    with double_precision(), raised_here():
        key_start, _ = random.two_keys(random.seeded(task.seed))
        start = initial_positions(task.initial, task.chains, key_start, task.first, task.count)
    start = jax.tree.map(np.asarray, start)
    first, second = jax.tree.unflatten(jax.tree.structure(start), jax.tree.leaves(output.positions))
    start = start.first
    if (shown := task.shown) is not None:
        start = jax.tree.map(lambda leaf: leaf[:, 0], shown.all_values(jax.tree.map(lambda leaf: leaf[:, None], start)))
        first, second = map(shown.all_values, (first, second))
    is_equal = output.info.is_equal
    return Draws(start, first, second, np.where(is_equal[:, -1], is_equal.argmax(axis=1) + 1, 0))


def _is_plain(output: Output) -> bool:
    """Whether every log ratio was one by which to decide, and no promise was broken."""
    return all(leg.is_valid.all() and not leg.is_violated.any() for leg in infos(output.info))
