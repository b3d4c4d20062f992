"""Running lagged pairs: a pair is a chain of `ls.Lagged`, groups of pairs are tasks, each with a directory of its own.

A group runs for as many updates as are asked for, and on until all of its pairs have met. Which pairs form a group
depends on how many were asked for at a time, never on the executor.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lockstep.chains.groups import STOP, run_all
from lockstep.chains.interrupt import Stop, stopped
from lockstep.chains.outcome import Outcome
from lockstep.chains.prepare import make_task
from lockstep.chains.task import Task
from lockstep.core import random
from lockstep.core.kernel import Kernel
from lockstep.core.precision import double_precision
from lockstep.core.progress import Progress
from lockstep.coupling.lagged import Lagged
from lockstep.engine.bad_ratios import warn_of_ratios
from lockstep.engine.totals import together
from lockstep.host.boxes import is_interpreted
from lockstep.host.callback import raised_here
from lockstep.lagged.average import Average
from lockstep.lagged.group import Group, Kept
from lockstep.lagged.start import PairStart, law_after_fit, placed_law, walked
from lockstep.starts.fit import fitted_parts

MOST_GROUPS = 64
FEWEST_PAIRS = 32  # of a compiled group: moved at once, they cost little more than one


def width_of(kernel: Kernel, batch: int) -> int:
    """How many pairs form a group, of so many that were asked for at a time."""
    width = -(-batch // MOST_GROUPS)
    return width if is_interpreted(kernel) else max(FEWEST_PAIRS, 1 << (width - 1).bit_length())


def extended(batches: Sequence[int], pairs: int, kernel: Kernel) -> tuple[int, ...]:
    """The batches with another one, if they have fewer pairs.

    Compiled groups are always full, so that one program serves them all; what is more than was asked for waits for
    those who ask for more.
    """
    missing = pairs - sum(batches)
    if missing <= 0:
        return tuple(batches)
    width = width_of(kernel, missing)
    return (*batches, missing if is_interpreted(kernel) else -(-missing // width) * width)


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
    setting: Setting,
    batches: Sequence[int],
    updates: int,
    what: str,
    average: Average | None = None,
    known: Sequence[Group] = (),
) -> list[Group]:
    """Groups of pairs, for at least so many updates and until all pairs have met, or have taken the most allowed.

    ``batches`` are how many pairs were asked for at a time; the groups of earlier batches may be ``known``.
    """
    kept = Kept(setting.lag, average)
    tasks = [dataclasses.replace(task, kept=kept) for task in _tasks(setting, batches, updates)]
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
        key_start, _ = random.two_keys(random.seeded(setting.seed))
        law = placed_law(setting.kernel, setting.draw)
        kernel, start = fitted_parts(setting.kernel, law, key_start, setting.progress)
        draw = law_after_fit(law, start, key_start)
    pair = Lagged(kernel, setting.lag)
    whole = make_task(pair, walked(kernel, PairStart(draw)), updates, sum(batches), setting.seed, 0)
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
    """What a task has kept; of one whose log ratios are to be told of, it is made here."""
    if outcome.kept is not None:
        return outcome.kept
    assert outcome.output is not None and isinstance(task.kept, Kept)
    positions, info = outcome.output
    with double_precision(), raised_here():
        warn_of_ratios(task.kernel, positions, info, 1, outcome.totals.bad_in_warmup)
    return task.kept.group(task, outcome.output)
