"""Blocks of updates, one after the other: what they leave is kept, counted and shown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from lockstep.chains.interrupt import Stop
from lockstep.chains.judge import Judge
from lockstep.chains.keepers import Keeper
from lockstep.chains.task import Task
from lockstep.chains.trial import Trial, require_success
from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.progress import Progress
from lockstep.engine.block import CELL, Block, Output
from lockstep.engine.choice import engine_of
from lockstep.engine.interface import Engine
from lockstep.engine.pace import Pace
from lockstep.engine.stock import Stock
from lockstep.engine.thinning import Thinning
from lockstep.host.failures import Failures
from lockstep.storage.point import Point, Witness

LONGEST_JUDGED = 16 * CELL


def drive(
    kernel: Kernel,
    chain_keys: Any,
    point: Point,
    task: Task,
    keepers: Sequence[Keeper],
    shown: Progress,
    stop: Stop,
    began: float,
    pace: Pace | None = None,
    cells: int | None = None,
    failures: Failures | None = None,
    judge: Judge | None = None,
    engine: Engine | None = None,
) -> Point:
    """Blocks of about a second, one after the other, until the task is done or is to stop; what they leave is kept.

    Who drives several pieces of a run gives all of them one ``pace``, and one number of ``cells`` (one program). A
    ``judge`` looks at draws at the end of blocks, and may end the run. ``engine``: another than the kernel's own.
    """
    total = task.steps
    if point.step >= total or (judge is not None and judge.is_enough):
        return point
    engine, pace = engine or engine_of(kernel), pace or Pace()
    # Of a run that is looked at every few draws blocks are short: their noise is drawn for the length of a program.
    longest = total - point.step if judge is None else min(total - point.step, LONGEST_JUDGED)
    cells = cells or engine.cells_per_block(kernel, chain_keys, point.state, longest)
    trial = Trial(kernel, min(engine.trial_steps, total))
    try:
        with engine.stock(kernel, chain_keys, point.state, cells, total) as stock:
            while point.step < total and not stop.is_wanted and not (judge is not None and judge.is_enough):
                is_due = any(keeper.is_due(point) for keeper in keepers)
                end = total if judge is None else judge.next_step(point)
                block, most = next_block(task, point.step, end, cells, pace, is_due)
                programs, block_began = engine.compilations(), time.perf_counter()
                state, output = advance(kernel, chain_keys, point.state, block, point.thinning, cells, engine, stock)
                now = time.perf_counter()
                trial.see(block, state, output.info)
                draws, reached = after(point, block, state, output, task, now - began, failures)
                if draws is not None:
                    for keeper in keepers:
                        keeper.add(draws)
                point, began = reached, now
                for keeper in keepers:
                    keeper.reach(point, is_last=point.step == total)
                if judge is not None:
                    judge.see(point)
                shown.update(point.step * task.count, f"{point.totals}  {engine.note}".rstrip())
                if engine.compilations() == programs and (block.steps == most or not is_due):
                    pace.learn(block.steps, now - block_began)
    finally:
        # Stopped, or an error in a user's function: what was computed is kept.
        for keeper in keepers:
            keeper.reach(point, is_last=point.step > 0)
    return point


def next_block(task: Task, start: int, end: int, cells: int, pace: Pace, is_due: bool) -> tuple[Block, int]:
    """The block that begins at a step, and how many steps it could have: to a whole cell, or where warm-up or run end.

    The last update before a segment is a block by itself: a resume takes it again and compares.
    """
    most = min((task.warmup if start < task.warmup else end) - start, cells * CELL - start % CELL, pace.steps)
    is_end = start + most == end and task.directory is not None and most > 1 + (start == 0)
    return Block(start, 1 if is_due else most - 1 if is_end else most), most


def advance(
    kernel: Kernel,
    chain_keys: Any,
    state: Positioned,
    block: Block,
    thinning: Thinning,
    cells: int,
    engine: Engine,
    stock: Stock | None = None,
) -> tuple[Any, Output]:
    """Take the steps of a block with all chains: states, and an output with leading axes (chains, draws)."""
    state, output = engine.advance(kernel, chain_keys, state, block, thinning, cells, stock)
    used = slice(0, thinning.slots(block.steps))
    return state, jax.tree.map(lambda leaf: np.swapaxes(np.asarray(leaf)[used], 0, 1), output)


def after(
    point: Point, block: Block, state: Positioned, output: Output, task: Task, seconds: float, failures: Failures | None
) -> tuple[Output | None, Point]:
    """The draws that a block has completed (None in the warm-up, which has none), and where the run then is."""
    is_warmup = block.start < task.warmup
    begun = point.thinning.begun_like(output.info)
    totals = point.totals.after(output.info, begun, block.steps * task.count, seconds, is_warmup)
    if failures is not None:
        totals = totals.with_failures(*failures.taken())
        require_success(totals, is_last=block.start + block.steps == task.steps)
    draws, thinning = point.thinning.after(output, block.steps)
    witness = Witness(point.state, block.steps, point.thinning, thinning.info)
    reached = Point(block.start + block.steps, state, thinning, totals, witness)
    return (None, reached._replace(thinning=thinning.anew())) if is_warmup else (draws, reached)
