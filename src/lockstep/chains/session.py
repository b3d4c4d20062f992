"""A session: the chains of a task run in this process, from where they stand until they are done or stopped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from lockstep.chains.drive import drive
from lockstep.chains.interrupt import Stop
from lockstep.chains.judge import Judge, record_end, recorded
from lockstep.chains.keepers import Collector, Keeper, Keepers
from lockstep.chains.outcome import Outcome
from lockstep.chains.resume import is_finished, resumed
from lockstep.chains.task import Task
from lockstep.core import random
from lockstep.core.precision import canonical, double_precision
from lockstep.core.progress import Progress
from lockstep.engine.choice import engine_of
from lockstep.engine.reject import rejecting
from lockstep.engine.thinning import Thinning
from lockstep.engine.totals import Totals
from lockstep.host.callback import raised_here
from lockstep.starts.start import initial_positions
from lockstep.starts.states import initial_states, like_initial_states
from lockstep.storage.directory import open_run
from lockstep.storage.point import Point
from lockstep.storage.segments import has_begun
from lockstep.storage.writer import Writer
from lockstep.workers.engine import engine_ahead
from lockstep.workers.pool import Workforce


def run_chains(
    task: Task, progress: bool | None, is_collected: bool = True, outer: Stop | None = None, executor: Workforce = None
) -> Outcome:
    """Run the chains of a task here, from where its directory stands, until it is done or ``outer`` has it stop.

    Black boxes may be called ahead by the workers of an ``executor``.
    """
    began = time.perf_counter()
    task, ended = recorded(task)
    with double_precision(), raised_here(), ExitStack() as stack:
        kernel = canonical(task.kernel, "kernel")
        key_start, key_run = random.two_keys(random.seeded(task.seed))
        keys = random.fold_in(key_run, task.numbers)
        shown = stack.enter_context(Progress(task.updates, "sampling", progress))
        shown.say(engine_of(kernel).beginning)
        starts = (task.initial, task.chains, key_start, task.first, task.count)
        # What a finished run holds is only read: its model is compared, and not called. Of a run that has begun the
        # state is read: nothing is evaluated at its start.
        begin = like_initial_states if has_begun(task.directory) else initial_states
        state = None if is_finished(task) else begin(kernel, *starts)

        def position() -> Any:
            return initial_positions(*starts) if state is None else state.position

        engine = stack.enter_context(engine_ahead(kernel, task.ahead, executor))
        kernel, failures = stack.enter_context(rejecting(kernel)) if task.on_error == "reject" else (kernel, None)
        point = Point(0, state, Thinning(task.thin), Totals())
        is_gathered = is_collected or task.until is not None
        collector = Collector(task.count, task.draws, is_open=task.until is not None) if is_gathered else None
        judge = None if task.until is None or collector is None else Judge(task, task.until, collector)
        keepers: list[Keeper] = [] if collector is None else [collector]
        if task.directory is not None:
            opened = open_run(task.directory, task.configuration(), task.about(), changed=task.changed)
            writer = Writer(task.directory, stack.enter_context(opened), task.draws)
            point = resumed(kernel, keys, key_start, task, writer, point)
            if failures is not None:
                failures.taken()  # of the update that was repeated
            if collector is not None:
                collector.read(writer.segments)
            if judge is not None:
                judge.look_back(writer.segments)
            keepers.append(writer)
        shown.begin(point.step * task.count)
        stop = stack.enter_context(Stop(shown.is_shown, task.stop_file, outer))
        if point.step < task.steps:
            keys, state = engine.spread(kernel, keys, point.state, task.devices)
            point = point._replace(state=state)
        try:
            where = (kernel, keys, point, task, Keepers(*keepers), shown, stop, began)
            point = drive(*where, failures=failures, ending=judge, engine=engine)
        except Exception as error:
            if collector is None or not is_collected:
                raise
            return Outcome(collector.taken(position), collector.totals, False, error)
        if judge is not None and judge.ended is not None:
            ended = judge.ended
            record_end(task, ended)
        if collector is not None and ended is not None:
            collector.filled = min(collector.filled, ended.draws)
        output = collector.taken(position) if collector is not None and is_collected else None
        is_complete = point.step >= task.steps or (judge is not None and judge.is_enough)
        return Outcome(output, point.totals, is_complete, until=ended if is_complete else None)


def run_and_keep(task: Task, outer: Stop | None = None) -> Outcome:
    """Run the chains of one task of several, and leave of its draws what it keeps, or all that are not on disk."""
    outcome = run_chains(task, False, task.directory is None or task.kept is not None, outer)
    return outcome if task.kept is None else task.kept(task, outcome)
