"""Proposals that learn their covariance and scale in the warm-up, and are frozen before the first draw."""

from __future__ import annotations

import dataclasses
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from lockstep.chains.drive import drive
from lockstep.chains.interrupt import Interrupted, Stop
from lockstep.chains.keepers import Collector, Keeper, Keepers
from lockstep.chains.learners import numbers, replaced, require_adaptable, shaped, with_numbers
from lockstep.chains.task import Task
from lockstep.chains.windows import lesson, windows_of
from lockstep.core import random
from lockstep.core.precision import canonical
from lockstep.core.progress import Progress
from lockstep.core.types import Key
from lockstep.coupling.pair import Pair
from lockstep.engine.block import CELL
from lockstep.engine.choice import engine_of
from lockstep.engine.pace import Pace
from lockstep.engine.reject import rejecting
from lockstep.engine.thinning import Thinning
from lockstep.engine.totals import Totals
from lockstep.starts.start import Starts, initial_positions
from lockstep.starts.states import initial_states, like_initial_states
from lockstep.storage.directory import NAME, WARMUP, open_run, read_record, require_empty, write_changes
from lockstep.storage.errors import MismatchError
from lockstep.storage.learnt import Learnt, damaged, filled, forget_draws, read_learnt, write_learnt
from lockstep.storage.point import Point
from lockstep.storage.writer import Writer

DEFAULT_WARMUP = 1000
ADAPT_STREAM = 2**31  # of random numbers: beyond the chains'


def adapted(task: Task, progress: bool | None = None) -> Task:
    """The task with adapted proposals, and with its chains where ``task.adaptation`` updates of warm-up leave them.

    Windows of updates are run one after the other with all chains. After each, every proposal that has a method
    ``adapted(positions, step)`` is replaced by what that returns: its covariance is that of the second half of all
    positions in the first three quarters of the warm-up, its scale follows the acceptance. A function of the seed, the
    kernel and the initial positions alone. With a directory it is written down as it comes, and a resume goes on there.
    """
    require_adaptable(task.kernel)
    if task.directory is None:
        with Progress(task.adaptation * task.chains, "warm-up", progress) as shown, Stop(shown.is_shown) as stop:
            return _learn(task, None, shown, stop)
    _require_adapted_run(task)
    # Draws are thinned, updates of the warm-up are not: all of them teach.
    warmup = dataclasses.replace(task, draws=task.adaptation, thin=1, directory=task.directory / WARMUP)
    assert warmup.directory is not None
    opened = open_run(warmup.directory, warmup.configuration(), warmup.about(), changed=warmup.changed)
    with opened as record:
        write_changes(warmup.directory, record)
        learnt = read_learnt(warmup.directory, record.digest)
        if learnt is not None and learnt.positions:
            return _finished(task, learnt, warmup.directory)
        writer = Writer(warmup.directory, record, warmup.draws)
        begun = writer.segments[-1].step * task.chains if writer.segments else 0
        with Progress(task.adaptation * task.chains, "warm-up", progress, begun) as shown, Stop(shown.is_shown) as stop:
            return _learn(task, Store(warmup.directory, writer, learnt), shown, stop)


class Store(NamedTuple):
    """The directory of a warm-up, who writes its draws, and what was learnt before."""

    directory: Path
    writer: Writer
    learnt: Learnt | None


def _learn(task: Task, store: Store | None, shown: Progress, stop: Stop) -> Task:
    """Run the windows that are left, and learn from each."""
    began = time.perf_counter()
    key_start, key_run = random.two_keys(_key(task))
    keys = random.fold_in(key_run, np.arange(task.chains))
    starts = (task.initial, task.chains, key_start)
    # Of a warm-up that has begun the state is read: nothing is evaluated at its start.
    begin = like_initial_states if store is not None and store.writer.segments else initial_states
    kernel = shaped(task.kernel, initial_positions(*starts))
    state = begin(canonical(kernel, "kernel"), *starts)  # by a program that serves the run after the warm-up, too
    point, windows, log_step, done = (
        Point(0, state, Thinning(1), Totals()),
        windows_of(task.adaptation),
        np.zeros(()),
        0,
    )
    collector = Collector(task.chains, task.adaptation)
    keepers: list[Keeper] = [collector]
    if store is not None:
        keepers.append(store.writer)
        point = store.writer.resume(state) or point
        collector.read(store.writer.segments)
        if store.learnt is not None:
            done, log_step = store.learnt.windows, store.learnt.log_steps
            if done > len(windows) or point.step < sum(windows[done - 1]):
                raise damaged(store.directory, "there are fewer draws than it has learnt from")
            kernel = with_numbers(kernel, store.learnt.numbers, store.directory)
    compiled, pace = canonical(kernel, "kernel"), Pace()
    shown.say(engine_of(compiled).beginning)
    # One cell: all windows share one compiled program.
    cells = engine_of(compiled).cells_per_block(compiled, keys, state, CELL)
    for number in range(done, len(windows)):
        piece = dataclasses.replace(task, draws=sum(windows[number]), thin=1)
        with ExitStack() as stack:
            moved, failures = canonical(kernel, "kernel"), None
            if task.on_error == "reject":
                moved, failures = stack.enter_context(rejecting(moved))
            point = drive(moved, keys, point, piece, Keepers(*keepers), shown, stop, began, pace, cells, failures)
        if point.step < piece.draws:
            raise _stopped(task, point)
        output = collector.taken(lambda: state.position)
        assert output is not None
        seen, log_step = lesson(output, windows, number, log_step)
        kernel = replaced(kernel, seen, np.exp(log_step))
        began = time.perf_counter()
        if store is not None:
            is_last = number + 1 == len(windows)
            positions = jax.tree.leaves(point.state.position) if is_last else []
            known = Learnt(number + 1, log_step, numbers(kernel), positions, point.totals)
            write_learnt(store.directory, store.writer.record.digest, known)
    if store is not None:
        forget_draws(store.directory)
    if stop.is_wanted:  # in the last block
        raise _stopped(task, point)
    reached = Starts(jax.tree.map(np.asarray, point.state.position))
    return dataclasses.replace(task, kernel=kernel, initial=reached, learning=point.totals)


def _finished(task: Task, learnt: Learnt, directory: Path) -> Task:
    """The task as a warm-up that is over has left it; no function of the user's is called, but for ``initial``."""
    positions = initial_positions(task.initial, task.chains, random.two_keys(_key(task))[0])
    if len(learnt.positions) == 2 * len(jax.tree.leaves(positions)):
        positions = Pair(positions, positions)
    positions = filled(positions, learnt.positions, directory)
    kernel = with_numbers(shaped(task.kernel, positions), learnt.numbers, directory)
    forget_draws(directory)  # of a process that was killed before it did
    return dataclasses.replace(task, kernel=kernel, initial=Starts(positions), learning=learnt.totals)


def _key(task: Task) -> Key:
    return random.fold_in(random.two_keys(random.seeded(task.seed))[0], ADAPT_STREAM)


def _require_adapted_run(task: Task) -> None:
    """Refuse the directory of a run whose warm-up was another one, before a new one is begun."""
    assert task.directory is not None
    if (task.directory / NAME).exists():
        there = read_record(task.directory).configuration.get("adaptation")
        if there != task.adaptation:
            raise MismatchError(
                f"{task.directory} holds a run with other settings: adaptation: {there} there, {task.adaptation} here. "
                f"Give the same settings to go on with it, or another directory"
            )
    elif task.directory.is_dir() and not (task.directory / WARMUP).exists():
        require_empty(task.directory)


def _stopped(task: Task, point: Point) -> Interrupted:
    """What to raise when a warm-up was stopped."""
    where = f"stopped in the warm-up, after {point.step:,} of {task.adaptation:,} updates of each chain"
    return Interrupted(
        f"{where}; all of them are kept in {task.directory}. Call again with the same arguments to go on"
        if task.directory is not None
        else f"{where}; there are no draws yet. A run with a directory could be resumed"
    )
