"""``ls.sample``: run chains of a kernel."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from lockstep.chains.interrupt import Stop, stopped
from lockstep.chains.repeat import require_repeatable
from lockstep.chains.starts import chain_keys, initial_positions, initial_states, like_initial_states, states_at
from lockstep.chains.task import Task
from lockstep.core.precision import canonical, double_precision
from lockstep.core.progress import Progress
from lockstep.coupling.common_noise import Pair
from lockstep.engine import compiled as driver
from lockstep.engine.bad_ratios import require_ratios
from lockstep.engine.choice import driver_of
from lockstep.engine.compiled import Output
from lockstep.engine.pace import Pace
from lockstep.engine.reject import rejecting
from lockstep.engine.totals import Totals
from lockstep.host.callback import raised_here
from lockstep.host.failures import Failures
from lockstep.storage.directory import NAME, Point, Record, Writer, accept, open_run, write_changes
from lockstep.storage.segments import has_begun, last_segment, read_output
from lockstep.storage.witness import Witness, last_info, require_alike

CHANGE_STREAM = 2**31 + 1  # of random numbers: beyond the chains' and that of the adaptation
FEWEST_FAILURES = 100  # that tell that a function always fails


class Outcome(NamedTuple):
    """What running a task leaves: draws (None if they were only written to disk), counts, and whether it is whole.

    ``error`` is what ended it before, if anything did.
    """

    output: Output | None
    totals: Totals
    is_complete: bool
    error: Exception | None = None


def completed(task: Task, outcome: Outcome) -> Output:
    """The draws of an outcome that is complete; else what was raised, or that it was stopped, is raised."""
    if outcome.error is not None:
        raise outcome.error
    if not outcome.is_complete or outcome.output is None:
        raise stopped(task, outcome.totals, None)
    return outcome.output


def run_chains(task: Task, progress: bool | None, is_collected: bool = True, outer: Stop | None = None) -> Outcome:
    """Run the chains of a task here, from where its directory stands, until it is done or ``outer`` has it stop."""
    with ExitStack() as stack:
        began = time.perf_counter()
        stack.enter_context(double_precision())
        stack.enter_context(raised_here())
        kernel = canonical(task.kernel, "kernel")
        key_start, key_run = jr.split(jr.key(task.seed))
        keys = chain_keys(key_run, np.arange(task.first, task.first + task.count))
        shown = stack.enter_context(Progress(task.updates, "sampling", progress))
        shown.say(driver_of(kernel).BEGINNING)
        # What a finished run holds is only read: its model is compared, and not called. Of a run that has begun the
        # state is read: nothing is evaluated at its start.
        is_over = is_finished(task)
        starts = (task.initial, task.chains, key_start, task.first, task.count)
        begin = like_initial_states if has_begun(task.directory) else initial_states
        state = None if is_over else begin(kernel, *starts)
        failures = None
        if task.on_error == "reject":
            kernel, failures = stack.enter_context(rejecting(kernel))
        point, writer = Point(0, state, None, Totals()), None
        collector = Collector(task.count, task.draws) if is_collected else None
        if task.directory is not None:
            configuration = task.configuration()
            record = stack.enter_context(open_run(task.directory, configuration, task.about(), changed=task.changed))
            writer = Writer(task.directory, record, task.draws)
            if is_over:
                point = Point(writer.segments[-1].step, None, None, writer.segments[-1].totals)
            else:
                point = writer.resume(state) or point
                point, record = settled(kernel, keys, key_start, task, record, point)
            if failures is not None:
                failures.taken()  # of the update that was repeated
            write_changes(task.directory, record)
            for segment in writer.segments if collector is not None else ():
                if segment.draws:
                    collector.add(read_output(segment))  # type: ignore[union-attr]
        shown.begin(point.step * task.count)
        stop = stack.enter_context(Stop(shown.is_shown, task.stop_file, outer))
        keepers = [keeper for keeper in (collector, writer) if keeper is not None]
        like = initial_positions(*starts) if state is None else state.position
        try:
            point = drive(kernel, keys, point, task, keepers, shown, stop, began, failures=failures)
        except Exception as error:
            if collector is None:
                raise
            return Outcome(collector.taken(like), collector.totals, False, error)
        output = None if collector is None else collector.taken(like)
        return Outcome(output, point.totals, point.step >= task.warmup + task.draws * task.thin)


def is_finished(task: Task) -> bool:
    """Whether the directory of a task holds all updates that it asks for."""
    if task.directory is None or not (task.directory / NAME).is_file():
        return False
    last = last_segment(task.directory)
    return last is not None and last.step >= task.warmup + task.draws * task.thin


def settled(kernel: Any, keys: Any, key_start: Any, task: Task, record: Record, point: Point) -> tuple[Point, Record]:
    """Where a run goes on, if the model computes what it did; else refused, or accepted with what it computes now.

    What a state remembers of its position (a log density, an estimate of it) is of the model that computed it: where
    the model was changed, it is evaluated anew.
    """
    if point.witness is not None and not record.is_renewed(point.step):
        told = list(record.other), list(record.suspects)
        found = require_repeatable(kernel, keys, task, point.step, point.state, point.witness, *told)
        if found is None:
            return point, record
        record = accept(task.directory, record, [found])  # type: ignore[arg-type]
    if point.witness is None:
        return point, record
    positions = point.state.position
    key = jr.fold_in(jr.fold_in(key_start, CHANGE_STREAM), point.step)
    numbers = np.arange(task.first, task.first + task.count)
    return point._replace(state=states_at(kernel, positions, positions, chain_keys(key, numbers))), record


def advance(kernel: Any, chain_keys: Any, state: Any, block: driver.Block, past: Any, cells: int) -> tuple[Any, Output]:
    """Take the steps of a block with all chains: states, and an output with leading axes (chains, draws).

    The one place where a driver takes steps; every driver takes these arguments and has leading axes (slots, chains).
    ``past`` holds the leaves of the info of a draw that the block continues.
    """
    is_thinned = block.thin > 1
    driving = driver_of(kernel)
    state, output = driving.advance(kernel, chain_keys, state, block, past=past, cells=cells, is_thinned=is_thinned)
    used = slice(0, (block.phase + block.steps - 1) // block.thin + 1)
    output = jax.tree.map(lambda leaf: np.swapaxes(np.asarray(leaf)[used], 0, 1), output)
    return state, output


def drive(
    kernel: Any,
    chain_keys: Any,
    point: Point,
    task: Task,
    keepers: Sequence[Any],
    shown: Progress,
    stop: Stop,
    began: float,
    pace: Pace | None = None,
    cells: int | None = None,
    failures: Failures | None = None,
) -> Point:
    """Blocks of about a second, one after the other, until the task is done or is to stop; what they leave is kept.

    Who drives several pieces of a run gives all of them one ``pace``, and one number of ``cells`` (one program).
    """
    total, chains = task.warmup + task.draws * task.thin, len(chain_keys)
    if point.step >= total:
        return point
    driving = driver_of(kernel)
    cells = cells or driving.cells_per_block(kernel, chain_keys, point.state, total - point.step)
    pace = pace or Pace()
    tried: list[Any] = []
    nothing = driving.no_info(kernel, chain_keys, point.state) if task.thin > 1 else None
    require_alike(point.pending, nothing, task.directory)
    try:
        while point.step < total and not stop.is_wanted:
            # A block ends at a whole cell, or where the warm-up or the run ends.
            is_warmup = point.step < task.warmup
            end = task.warmup if is_warmup else total
            room = cells * driver.CELL - point.step % driver.CELL
            most = min(end - point.step, room, pace.steps)
            # The last update before a segment is a block by itself: a resume takes it again and compares.
            is_due = any(keeper.is_due(point) for keeper in keepers)
            is_end = point.step + most == total and task.directory is not None and most > 1 + (point.step == 0)
            steps = 1 if is_due else most - 1 if is_end else most
            phase = 0 if is_warmup else (point.step - task.warmup) % task.thin
            compiled_before = driving.compilations()
            block_began = time.perf_counter()
            block = driver.Block(point.step, steps, task.thin, phase)
            past: Any = point.pending if phase else nothing
            state, output = advance(kernel, chain_keys, point.state, block, past, cells)
            now = time.perf_counter()
            if point.step < driving.TRIAL_STEPS:
                tried.append(output.info)
                if point.step + steps >= min(driving.TRIAL_STEPS, total):
                    require_ratios(kernel, state, jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *tried))
            before = jax.tree.unflatten(jax.tree.structure(output.info), past) if phase else None
            totals = point.totals.after(output.info, before, steps * chains, now - began, is_warmup)
            if failures is not None:
                totals = totals.with_failures(*failures.taken())
                _require_success(totals, is_last=point.step + steps == total)
            witness = Witness(point.state, steps, past if phase else None, last_info(output))
            pending = None
            if not is_warmup:
                output, pending = whole_draws(output, phase, steps, task.thin)
                for keeper in keepers:
                    keeper.add(output)
            point, began = Point(point.step + steps, state, pending, totals, witness), now
            for keeper in keepers:
                keeper.reach(point, is_last=point.step == total)
            shown.update(point.step * chains, str(totals))
            if driving.compilations() == compiled_before and (steps == most or not is_due):
                pace.learn(steps, now - block_began)
    finally:
        # Stopped, or an error in a user's function: what was computed is kept.
        for keeper in keepers:
            keeper.reach(point, is_last=point.step > 0)
    return point


def _require_success(totals: Totals, is_last: bool) -> None:
    """Raise if every evaluation has failed, of a hundred or of the whole run."""
    if totals.failed >= totals.ratios and (is_last or totals.ratios >= FEWEST_FAILURES):
        raise RuntimeError(
            f'on_error is "reject", but every one of {totals.failed:,} evaluations raised an exception, so that no '
            f"chain can move. The first of them:\n{totals.failure}"
        )


def whole_draws(output: Output, phase: int, steps: int, thin: int) -> tuple[Output, Any]:
    """The draws that a block completes, and the info (its leaves) of a draw that it only begins."""
    count, is_begun = (phase + steps) // thin, (phase + steps) % thin > 0
    pending = [np.array(leaf[:, -1]) for leaf in jax.tree.leaves(output.info)] if is_begun else None
    return jax.tree.map(lambda leaf: leaf[:, :count], output), pending


class Collector:
    """Arrays for all draws of a run in memory, filled block by block."""

    def __init__(self, chains: int, draws: int) -> None:
        self.chains, self.draws, self.filled = chains, draws, 0
        self.output: Output | None = None
        self.totals = Totals()

    def add(self, output: Output) -> None:
        """Put draws in their place, as far as they are wanted."""
        if self.output is None:
            shape = (self.chains, self.draws)
            self.output = jax.tree.map(lambda leaf: np.zeros((*shape, *leaf.shape[2:]), leaf.dtype), output)
        count = min(jax.tree.leaves(output)[0].shape[1], self.draws - self.filled)
        for target, leaf in zip(jax.tree.leaves(self.output), jax.tree.leaves(output), strict=True):
            target[:, self.filled : self.filled + count] = leaf[:, :count]
        self.filled += count

    def reach(self, point: Point, is_last: bool) -> None:
        """Keep the counts; memory is always up to date."""
        self.totals = point.totals

    def is_due(self, point: Point) -> bool:
        """Never."""
        return False

    def taken(self, like: Any) -> Output | None:
        """What was gathered, with positions in the structure of a state's."""
        if self.output is None or not self.filled:
            return None
        positions, info = jax.tree.map(lambda leaf: leaf[:, : self.filled], self.output)
        if isinstance(positions, Pair) and not isinstance(like, Pair):
            like = Pair(like, like)  # coupled chains that began at one position
        return Output(jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(positions)), info)
