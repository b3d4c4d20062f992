"""Proposals that learn their covariance and scale in the warm-up, and are frozen before the first draw."""

from __future__ import annotations

import dataclasses
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from lockstep.chains.drive import drive
from lockstep.chains.interrupt import Interrupted, Stop
from lockstep.chains.keepers import Collector, Keeper
from lockstep.chains.starts import Starts, chain_keys, initial_positions, initial_states
from lockstep.chains.task import Task
from lockstep.core.precision import canonical
from lockstep.core.progress import Progress
from lockstep.core.types import Key
from lockstep.coupling.common_noise import Pair
from lockstep.engine.bad_ratios import infos
from lockstep.engine.block import CELL
from lockstep.engine.choice import engine_of
from lockstep.engine.pace import Pace
from lockstep.engine.reject import rejecting
from lockstep.engine.thinning import Thinning
from lockstep.engine.totals import Totals
from lockstep.kernels.compose import Cycle
from lockstep.storage.directory import NAME, WARMUP, open_run, read_record, require_empty, write_changes
from lockstep.storage.errors import MismatchError
from lockstep.storage.learnt import Learnt, damaged, filled, forget_draws, read_learnt, write_learnt
from lockstep.storage.point import Point
from lockstep.storage.writer import Writer

DEFAULT_WARMUP = 1000
ADAPT_STREAM = 2**31  # of random numbers: beyond the chains'
FIRST_WINDOW = 64  # updates; windows grow, so that later ones say more
GROWTH = 1.1
LEARNING = 0.75  # share of the warm-up in which covariances are learned; the rest is for the scale alone
SLOPE = 0.45  # by which the acceptance falls when the scale of a well-tuned walk grows by a factor e
MOST_STEP, LEAST_STEP = 2.0, -8.0  # logarithms


def adapted(task: Task, progress: bool | None = None) -> Task:
    """The task with adapted proposals, and with its chains where ``task.adaptation`` updates of warm-up leave them.

    Windows of updates are run one after the other with all chains. After each, every proposal that has a method
    ``adapted(positions, step)`` is replaced by what that returns: its covariance is that of the second half of all
    positions in the first three quarters of the warm-up, its scale follows the acceptance. A function of the seed, the
    kernel and the initial positions alone. With a directory it is written down as it comes, and a resume goes on there.
    """
    _require_adaptable(task.kernel)
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
    chains, warmup = task.chains, task.adaptation
    key_start, key_run = jr.split(_key(task))
    state = initial_states(canonical(task.kernel, "kernel"), task.initial, chains, key_start)
    keys = chain_keys(key_run, np.arange(chains))
    kernel = _shaped(task.kernel, state.position)
    point, windows, log_step, done = Point(0, state, Thinning(1), Totals()), _windows(warmup), np.zeros(()), 0
    collector = Collector(chains, warmup)
    if store is not None:
        point = store.writer.resume(state) or point
        collector.read(store.writer.segments)
        if store.learnt is not None:
            done, log_step = store.learnt.windows, store.learnt.log_steps
            if done > len(windows) or point.step < sum(windows[done - 1]):
                raise damaged(store.directory, "there are fewer draws than it has learnt from")
            kernel = _with_numbers(kernel, store.learnt.numbers, store.directory)
    keepers: list[Keeper] = [collector] if store is None else [collector, store.writer]
    pace = Pace()
    # One cell: all windows share one compiled program.
    compiled = canonical(kernel, "kernel")
    shown.say(engine_of(compiled).beginning)
    cells = engine_of(compiled).cells_per_block(compiled, keys, state, CELL)
    for number, (start, steps) in enumerate(windows):
        if number < done:
            continue
        piece = dataclasses.replace(task, draws=start + steps, thin=1)
        with ExitStack() as stack:
            moved, failures = canonical(kernel, "kernel"), None
            if task.on_error == "reject":
                moved, failures = stack.enter_context(rejecting(moved))
            point = drive(moved, keys, point, piece, keepers, shown, stop, began, pace, cells, failures)
        if point.step < start + steps:
            raise _stopped(task, point)
        output = collector.taken(state.position)
        assert output is not None
        acceptance = _acceptance(output.info, start, start + steps)
        first, last = _seen(windows, number, warmup)
        seen = jax.tree.map(lambda leaf: leaf[:, first:last], output.positions)  # noqa: B023
        # ROBBINS–MONRO: the first windows move the scale freely, later ones less and less.
        excess = (acceptance - _target(seen)) / SLOPE
        log_step = np.clip(log_step + excess * (number + 1) ** -0.5, LEAST_STEP, MOST_STEP)
        kernel = _replaced(kernel, seen, np.exp(log_step))
        began = time.perf_counter()
        if store is not None:
            is_last = number + 1 == len(windows)
            positions = jax.tree.leaves(point.state.position) if is_last else []
            known = Learnt(number + 1, log_step, _numbers(kernel), positions, point.totals)
            write_learnt(store.directory, store.writer.record.digest, known)
    if store is not None:
        forget_draws(store.directory)
    if stop.is_wanted:  # in the last block
        raise _stopped(task, point)
    starts = Starts(jax.tree.map(np.asarray, point.state.position))
    return dataclasses.replace(task, kernel=kernel, initial=starts, learning=point.totals)


def _finished(task: Task, learnt: Learnt, directory: Path) -> Task:
    """The task as a warm-up that is over has left it; no function of the user's is called, but for ``initial``."""
    positions = initial_positions(task.initial, task.chains, jr.split(_key(task))[0])
    if len(learnt.positions) == 2 * len(jax.tree.leaves(positions)):
        positions = Pair(positions, positions)
    positions = filled(positions, learnt.positions, directory)
    kernel = _with_numbers(_shaped(task.kernel, positions), learnt.numbers, directory)
    forget_draws(directory)  # of a process that was killed before it did
    return dataclasses.replace(task, kernel=kernel, initial=Starts(positions), learning=learnt.totals)


def _key(task: Task) -> Key:
    return jr.fold_in(jr.split(jr.key(task.seed))[0], ADAPT_STREAM)


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


def _acceptance(info: Any, start: int, end: int) -> np.ndarray:
    """The shares of a window that were accepted, one a kernel."""
    legs = [leg.is_accepted[:, start:end] for leg in infos(info)]
    return np.asarray(np.concatenate(legs).mean(axis=(0, 1)))


def _seen(windows: list[tuple[int, int]], number: int, warmup: int) -> tuple[int, int]:
    """First and last step of the updates whose positions are learnt from after a window.

    They are about the second half of those so far, and end with the last window that ends in the first three quarters.
    """
    ends = [sum(window) for window in windows]
    while number > 0 and ends[number] > LEARNING * warmup:
        number -= 1
    half = int(np.searchsorted(ends[: number + 1], ends[number] / 2))
    return windows[half][0], ends[number]


def _shaped(kernel: Any, positions: Any) -> Any:
    """The kernel with scales of their final shape, so that all windows share one compiled program."""
    return _replaced(kernel, jax.tree.map(lambda leaf: np.asarray(leaf)[:1, None], positions), np.ones(()))


def _proposals(kernel: Any) -> list[Any]:
    return [node for node in jax.tree.leaves(kernel, is_leaf=_is_adaptable) if _is_adaptable(node)]


def _numbers(kernel: Any) -> list[Any]:
    """The leaves of all proposals that learn."""
    return jax.tree.leaves(_proposals(kernel))


def _with_numbers(kernel: Any, numbers: list[np.ndarray], directory: Path) -> Any:
    """The kernel with these leaves in its proposals that learn."""
    proposals = iter(filled(_proposals(kernel), numbers, directory))
    return jax.tree.map(lambda node: next(proposals) if _is_adaptable(node) else node, kernel, is_leaf=_is_adaptable)


def _target(positions: Any) -> float:
    """The acceptance that suits a random walk: 0.44 in one dimension, 0.234 in many."""
    dimension = sum(leaf[0, 0].size for leaf in jax.tree.leaves(positions))
    return 0.234 + 0.206 / dimension


def _windows(warmup: int) -> list[tuple[int, int]]:
    """First step and length of each window; whole cells of noise, the last one takes what is left."""
    windows, start, length = [], 0, float(FIRST_WINDOW)
    while start < warmup:
        steps = max(CELL, int(length) // CELL * CELL)
        steps = warmup - start if start + 2 * steps > warmup else steps
        windows.append((start, steps))
        start, length = start + steps, GROWTH * length
    return windows


def _is_adaptable(node: Any) -> bool:
    return callable(getattr(node, "adapted", None))


def _require_adaptable(kernel: Any) -> None:
    if not _proposals(kernel):
        raise ValueError(
            f"adapt is True, but no proposal of {kernel!r} can be adapted; use ls.RandomWalk, ls.UniformWalk or "
            f"ls.CrankNicolson, or leave adapt out"
        )


def _replaced(kernel: Any, positions: Any, step: np.ndarray) -> Any:
    """The kernel with each adaptable proposal replaced; in a `Cycle` each by the step of its own kernel."""
    if isinstance(kernel, Cycle) and np.ndim(step) == 1:
        return Cycle([_replaced(one, positions, own) for one, own in zip(kernel.kernels, step, strict=True)])
    if isinstance(positions, Pair):
        positions = positions.first

    def replace(node: Any) -> Any:
        return node.adapted(positions, float(np.mean(step))) if _is_adaptable(node) else node

    return jax.tree.map(replace, kernel, is_leaf=_is_adaptable)
