"""Running lagged pairs: a pair is a chain of `ls.Lagged`, groups of pairs are tasks, each with a directory of its own.

A group runs for as many updates as are asked for, and on until all of its pairs have met. Which pairs form a group
depends on how many were asked for at a time, never on the executor.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from lockstep.chains.fit import fitted_parts
from lockstep.chains.groups import STOP, run_all
from lockstep.chains.interrupt import Stop, stopped
from lockstep.chains.outcome import Outcome
from lockstep.chains.prepare import make_task
from lockstep.chains.starts import initial_positions
from lockstep.chains.task import Task
from lockstep.core.precision import double_precision
from lockstep.core.progress import Progress
from lockstep.core.types import Position
from lockstep.coupling.common_noise import Pair
from lockstep.coupling.lagged import Lagged
from lockstep.engine.bad_ratios import infos, warn_of_ratios
from lockstep.engine.block import Output
from lockstep.engine.totals import together
from lockstep.host.boxes import is_interpreted
from lockstep.host.callback import raised_here
from lockstep.lagged.start import PairStart, law_after_fit, placed_law, walked
from lockstep.storage.status import read_parts, status

MOST_GROUPS = 64
FEWEST_PAIRS = 32  # of a compiled group: moved at once, they cost little more than one


def width_of(kernel: Any, batch: int) -> int:
    """How many pairs form a group, of so many that were asked for at a time."""
    width = -(-batch // MOST_GROUPS)
    return width if is_interpreted(kernel) else max(FEWEST_PAIRS, 1 << (width - 1).bit_length())


def extended(batches: Sequence[int], pairs: int, kernel: Any) -> tuple[int, ...]:
    """The batches with another one, if they have fewer pairs.

    Compiled groups are always full, so that one program serves them all; what is more than was asked for waits for
    those who ask for more.
    """
    missing = pairs - sum(batches)
    if missing <= 0:
        return tuple(batches)
    width = width_of(kernel, missing)
    return (*batches, missing if is_interpreted(kernel) else -(-missing // width) * width)


class Group(NamedTuple):
    """Pairs that ran together: X_0 of each, the draws, and when they met (0: not yet).

    Draw i holds X_{i+1} and Y_{i+1-lag}; the latter is Y_0 as long as it waits, and is kept until the last pair of the
    group has met: from then on it is the former.
    """

    start: Position
    positions: Pair
    meeting_times: np.ndarray
    is_compiled: bool

    @property
    def size(self) -> int:
        return len(self.meeting_times)

    @property
    def updates(self) -> int:
        """How many updates each of the first chains took."""
        return int(jax.tree.leaves(self.positions)[0].shape[1])

    def evaluated(self, lag: int) -> int:
        """How many updates of single chains were computed: compiled, seconds move until the last of them has met."""
        met = np.where(self.meeting_times > 0, self.meeting_times, self.updates)
        seconds = np.max(met) * np.ones_like(met) if self.is_compiled else met
        return int(self.size * self.updates + np.maximum(seconds - lag, 0).sum())

    def cut(self, size: int) -> Group:
        """The first so many of its pairs."""
        start, positions = jax.tree.map(lambda leaf: leaf[:size], (self.start, self.positions))
        return Group(start, positions, self.meeting_times[:size], self.is_compiled)


@dataclasses.dataclass(frozen=True, eq=False)
class Setting:
    """What pairs are a function of, and where they run and are kept."""

    kernel: Any
    draw: Any  # of a start, a function of a key
    lag: int
    seed: int
    most: int
    directory: Path | None = None
    executor: Any = None
    progress: bool | None = None


def run_pairs(
    setting: Setting, batches: Sequence[int], updates: int, what: str, known: Sequence[Group] = ()
) -> list[Group]:
    """Groups of pairs, for at least so many updates and until all pairs have met, or have taken the most allowed.

    ``batches`` are how many pairs were asked for at a time; the groups of earlier batches may be ``known``.
    """
    tasks = _tasks(setting, batches, updates)
    groups: list[Group | None] = [*known, *[None] * (len(tasks) - len(known))]
    left = [number for number, group in enumerate(groups) if group is None]
    while left:
        outcomes = _run([tasks[number] for number in left], setting, what)
        for number, outcome in zip(left, outcomes, strict=True):
            groups[number] = _group(tasks[number], outcome)
        left = [
            number
            for number in left
            if (group := groups[number]) and not group.meeting_times.all() and group.updates < setting.most
        ]
        for number in left:
            draws = min(2 * max(tasks[number].draws, groups[number].updates), setting.most)  # type: ignore[union-attr]
            tasks[number] = dataclasses.replace(tasks[number], draws=draws)
    return [group for group in groups if group is not None]


def _tasks(setting: Setting, batches: Sequence[int], updates: int) -> list[Task]:
    with double_precision(), raised_here():
        key_start, _ = jr.split(jr.key(setting.seed))
        law = placed_law(setting.kernel, setting.draw)
        kernel, start = fitted_parts(setting.kernel, law, key_start, setting.progress)
        draw = law_after_fit(law, start, key_start)
    pair = Lagged(kernel, setting.lag)
    whole = make_task(pair, walked(kernel, PairStart(draw)), updates, sum(batches), setting.seed, 0)
    whole = dataclasses.replace(whole, kept=until_met)
    tasks, first = [], 0
    for batch in batches:
        width = width_of(kernel, batch)
        for begin in range(first, first + batch, width):
            size = min(width, first + batch - begin)
            group = dataclasses.replace(whole, chains=begin + size, first=begin, width=size)
            if setting.directory is not None:
                path = setting.directory / f"pairs-{begin:07d}"
                group = dataclasses.replace(group, directory=path, stop_file=setting.directory / STOP)
            tasks.append(group)
        first += batch
    return tasks


def _run(tasks: list[Task], setting: Setting, what: str) -> list[Outcome]:
    """Run groups; where one raised or was stopped, that is raised."""
    if setting.directory is not None:
        (setting.directory / STOP).unlink(missing_ok=True)
    with Progress(sum(task.updates for task in tasks), what, setting.progress) as shown, Stop(shown.is_shown) as stop:
        outcomes = run_all(tasks, setting.executor, shown, stop)
    if setting.directory is not None:
        (setting.directory / STOP).unlink(missing_ok=True)
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    if not all(outcome.is_complete for outcome in outcomes):
        count = sum(task.count for task in tasks)
        everything = dataclasses.replace(tasks[0], chains=count, directory=setting.directory)
        raise stopped(everything, together(outcome.totals for outcome in outcomes), None)
    return outcomes


def _group(task: Task, outcome: Outcome) -> Group:
    output = outcome.output
    if task.directory is not None:
        found = status(task.directory)
        output = read_parts(found.parts, found.draws)
    assert output is not None
    with double_precision(), raised_here():
        key_start, _ = jr.split(jr.key(task.seed))
        start = initial_positions(task.initial, task.chains, key_start, task.first, task.count)
        if not isinstance(output.info, Met):
            warn_of_ratios(task.kernel, output.positions, output.info, 1, outcome.totals.bad_in_warmup)
            output = until_met(outcome._replace(output=output), is_told=True).output
    assert output is not None
    start = jax.tree.map(np.asarray, start)
    positions = jax.tree.unflatten(jax.tree.structure(start), jax.tree.leaves(output.positions))
    if (shown := task.shown) is not None:
        first = shown.all_values(jax.tree.map(lambda leaf: leaf[:, None], start.first))
        start = Pair(jax.tree.map(lambda leaf: leaf[:, 0], first), None)
        positions = Pair(*map(shown.all_values, positions))
    return Group(start.first, positions, output.info.times, not is_interpreted(task.kernel))


class Met(NamedTuple):
    """What is kept of the updates of pairs besides positions: the first t at which X_t is Y_{t - lag}, 0 if none is."""

    times: np.ndarray


def until_met(outcome: Outcome, is_told: bool = False) -> Outcome:
    """What is worth keeping of pairs: second chains until they are the first, and when that was.

    All of it, as long as there may be something to tell of its log ratios.
    """
    output = outcome.output
    if output is None or not (is_told or _is_plain(output)):
        return outcome
    is_equal = output.info.is_equal
    times = np.where(is_equal[:, -1], is_equal.argmax(axis=1) + 1, 0)
    last = int(times.max()) if times.all() else is_equal.shape[1]
    first, second = output.positions
    second = jax.tree.map(lambda leaf: leaf[:, :last], second)
    return outcome._replace(output=Output(Pair(first, second), Met(times)))


def _is_plain(output: Output) -> bool:
    """Whether every log ratio was one by which to decide, and no promise was broken."""
    return all(leg.is_valid.all() and not leg.is_violated.any() for leg in infos(output.info))
