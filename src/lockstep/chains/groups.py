"""A run in groups of chains, each a task with a directory of its own."""

from __future__ import annotations

import dataclasses
import time
from contextlib import ExitStack
from pathlib import Path

import jax
import numpy as np

from lockstep.chains.executors import run_tasks
from lockstep.chains.interrupt import Stop
from lockstep.chains.judge import record_end, recorded
from lockstep.chains.outcome import Outcome
from lockstep.chains.session import run_and_keep, run_chains
from lockstep.chains.task import Task
from lockstep.chains.until import STATISTIC_DIGITS, Criterion, Look, rounded_up
from lockstep.core.precision import double_precision
from lockstep.core.progress import Progress
from lockstep.engine.block import Output
from lockstep.engine.totals import Totals, together
from lockstep.host.boxes import is_interpreted
from lockstep.storage.archive import require_plain
from lockstep.storage.directory import NAME, Record, open_run, read_record, write_changes
from lockstep.storage.errors import RunDirectoryError
from lockstep.storage.segments import last_segment
from lockstep.storage.status import GROUPED, read_parts, status
from lockstep.storage.stops import Ended
from lockstep.workers.engine import require_workers
from lockstep.workers.pool import Workforce

MOST_GROUPS = 64
STOP = "stop"
SECONDS_BETWEEN_LOOKS = 2.0  # at what tasks have written


def is_grouped(directory: Path | None) -> bool:
    """Whether a directory holds a run in groups."""
    if directory is None or not (directory / NAME).is_file():
        return False
    return GROUPED in read_record(directory).configuration


def run_task(task: Task, executor: Workforce, progress: bool | None, is_collected: bool = True) -> Outcome:
    """Run a task here, or on an executor: its chains in groups, or the black boxes of its chains ahead of them."""
    if task.ahead != 1 and is_interpreted(task.kernel):
        require_workers(task.ahead, executor, is_grouped(task.directory))
        return run_chains(task, progress, is_collected, executor=executor)
    if executor is not None or is_grouped(task.directory):
        return run_groups(task, executor, progress, is_collected)
    return run_chains(task, progress, is_collected)


def run_groups(task: Task, executor: Workforce, progress: bool | None, is_collected: bool = True) -> Outcome:
    """Run a task as groups of chains, on an executor or (None) one after the other in this process."""
    task, ended = recorded(task)
    if task.until is not None:
        return _run_rounds(task, task.until, executor, progress, is_collected)
    outcome = _run_once(task, executor, progress, is_collected)
    return outcome._replace(until=ended if outcome.is_complete else None)


def _run_rounds(
    task: Task, until: Criterion, executor: Workforce, progress: bool | None, is_collected: bool
) -> Outcome:
    """All groups to one number of draws after the other, until all chains together have enough."""
    if task.directory is None:
        raise ValueError(
            "until with an executor needs a directory: the tasks of all chains stop to be judged together, and go on "
            "from what is written there"
        )
    draws = 0
    while True:
        # Each round is a call of the executor, so that times are looked at as seldom as statistics.
        draws = min(task.draws, max(until.first, rounded_up(draws + 1, STATISTIC_DIGITS)))
        outcome = _run_once(dataclasses.replace(task, draws=draws, until=None), executor, progress, is_collected=True)
        if not outcome.is_complete or outcome.error is not None or outcome.output is None:
            return outcome._replace(is_complete=False)
        verdict = until.judge(Look(outcome.output.positions, draws, outcome.totals.seconds, {}))
        if verdict.is_enough or draws == task.draws:
            ended = Ended(repr(until), draws, *verdict)
            record_end(task, ended)
            return outcome._replace(output=outcome.output if is_collected else None, until=ended)


def _run_once(task: Task, executor: Workforce, progress: bool | None, is_collected: bool) -> Outcome:
    began = time.perf_counter()
    with ExitStack() as stack:
        tasks = [task]
        record: Record | None = None
        # A run that was begun as one group stays one.
        if task.directory is None or is_grouped(task.directory) or not (task.directory / NAME).exists():
            width = -(-task.chains // MOST_GROUPS)
            tasks = split(task, width)
            if task.directory is not None:
                with double_precision():
                    configuration = task.configuration() | {GROUPED: width}
                record = stack.enter_context(
                    open_run(task.directory, configuration, task.about(), changed=task.changed)
                )
                (task.directory / STOP).unlink(missing_ok=True)
                for one in tasks:
                    require_plain(one.directory)  # type: ignore[arg-type]
        shown = stack.enter_context(Progress(task.updates, "sampling", progress, _begun(tasks)))
        error = None
        try:
            outcomes = run_all(tasks, executor, shown)
        except Exception as raised:
            if task.directory is None or isinstance(raised, RunDirectoryError):
                raise
            outcomes, error = [], raised
        error = error or next((outcome.error for outcome in outcomes if outcome.error is not None), None)
        if task.directory is not None and error is None:
            if record is not None:
                write_changes(task.directory, record)
            (task.directory / STOP).unlink(missing_ok=True)
    if error is not None and not is_collected:
        raise error
    outcome = _together(task, outcomes, is_collected)._replace(error=error)
    if task.directory is not None:
        return outcome
    return outcome._replace(totals=dataclasses.replace(outcome.totals, seconds=time.perf_counter() - began))


def split(task: Task, width: int) -> list[Task]:
    """The groups of a run: which chains belong together depends on their number alone."""
    directory = task.directory
    return [
        dataclasses.replace(
            task,
            first=first,
            width=min(width, task.chains - first),
            directory=None if directory is None else directory / f"group-{number:04d}",
            stop_file=None if directory is None else directory / STOP,
        )
        for number, first in enumerate(range(0, task.chains, width))
    ]


def run_all(tasks: list[Task], executor: Workforce, shown: Progress, outer: Stop | None = None) -> list[Outcome]:
    """The outcomes of tasks, in their order; incomplete ones where they were stopped."""
    outcomes = [Outcome(None, Totals(), False)] * len(tasks)
    with Stop(shown.is_shown, outer=outer) as stop:
        if executor is None:
            for i, one in enumerate(tasks):
                outcomes[i] = run_and_keep(one, stop)
                shown.update(*_progress(tasks, outcomes))
                if stop.is_wanted or not outcomes[i].is_complete:
                    break
            return outcomes

        looked = 0.0

        def watch() -> None:
            nonlocal looked
            if shown.is_shown and time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
                shown.update(*_progress(tasks, outcomes))
                looked = time.monotonic()

        for i, outcome in run_tasks(tasks, executor, stop, watch):
            outcomes[i] = outcome
        shown.update(*_progress(tasks, outcomes))
    return outcomes


def _progress(tasks: list[Task], outcomes: list[Outcome]) -> tuple[int, str]:
    """How many updates are done, by what tasks have returned or written, and the counts so far in words."""
    found = [
        outcome.totals if outcome.is_complete else _written(task) for task, outcome in zip(tasks, outcomes, strict=True)
    ]
    totals = together(found)
    return min(totals.updates, sum(task.updates for task in tasks)), str(totals)


def _begun(tasks: list[Task]) -> int:
    return sum(_written(task).updates for task in tasks)


def _written(task: Task) -> Totals:
    if task.directory is None or not (task.directory / NAME).exists():
        return Totals()
    last = last_segment(task.directory)
    return Totals() if last is None else last.totals


def _together(task: Task, outcomes: list[Outcome], is_collected: bool) -> Outcome:
    """One outcome of all groups, read from disk where they were written."""
    totals = together(outcome.totals for outcome in outcomes)
    is_complete = all(outcome.is_complete for outcome in outcomes)
    if task.directory is not None:
        found = status(task.directory)
        draws = min(found.draws, task.draws)
        return Outcome(read_parts(found.parts, draws) if draws and is_collected else None, found.totals, is_complete)
    outputs = [outcome.output for outcome in outcomes if outcome.output is not None]
    if not outputs or (not is_complete and len(outputs) < len(outcomes)):
        return Outcome(None, totals, False)
    draws = min(jax.tree.leaves(output)[0].shape[1] for output in outputs)
    output = jax.tree.map(lambda *leaves: np.concatenate([leaf[:, :draws] for leaf in leaves]), *outputs)
    return Outcome(Output(*output), totals, is_complete)
