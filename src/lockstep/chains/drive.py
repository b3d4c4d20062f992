"""Blocks of updates, one after the other: what they leave is kept, counted and shown."""

from __future__ import annotations

import time
from typing import Any

import jax
import numpy as np

from lockstep.chains.interrupt import Stop
from lockstep.chains.judge import AfterAll, Ending
from lockstep.chains.keepers import Keeper
from lockstep.chains.task import Task
from lockstep.chains.trial import Trial, require_success
from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.progress import Progress
from lockstep.core.types import Key
from lockstep.engine.block import CELL, Block, Output
from lockstep.engine.choice import engine_of
from lockstep.engine.interface import Engine, Moving
from lockstep.engine.pace import Pace
from lockstep.engine.thinning import Thinning
from lockstep.host.failures import Failures
from lockstep.storage.point import Point, Witness


def drive(
    kernel: Kernel,
    chain_keys: Key,
    point: Point,
    task: Task,
    keeper: Keeper,
    shown: Progress,
    stop: Stop,
    began: float,
    pace: Pace | None = None,
    cells: int | None = None,
    failures: Failures | None = None,
    ending: Ending | None = None,
    engine: Engine | None = None,
) -> Point:
    """Blocks of about a second, one after the other, until the task is done or is to stop; what they leave is kept.

    Who drives several pieces of a run gives all of them one ``pace``, and one number of ``cells`` (one program). An
    ``ending`` looks at draws at the end of blocks, and may end the run. ``engine``: another than the kernel's own.
    """
    engine, pace, ending = engine or engine_of(kernel), pace or Pace(), ending or AfterAll(task)
    if ending.is_done(point):
        return point
    cells = cells or engine.cells_per_block(kernel, chain_keys, point.state, ending.longest(point))
    trial = Trial(kernel, min(engine.trial_steps, task.steps))
    try:
        with engine.stock(kernel, chain_keys, point.state, cells, task.steps) as stock:
            moving = Moving(kernel, chain_keys, cells, stock)
            while not ending.is_done(point) and not stop.is_wanted:
                programs, block_began = engine.compilations(), time.perf_counter()
                block, is_typical = next_block(task, point, ending.next_step(point), cells, pace, keeper.is_due(point))
                state, output = advance(engine, moving, point.state, block, point.thinning)
                now = time.perf_counter()
                trial.see(block, state, output.info)
                draws, reached = after(point, block, state, output, task, now - began, failures)
                if draws is not None:
                    keeper.add(draws)
                point, began = reached, now
                keeper.reach(point, is_last=point.step == task.steps)
                ending.see(point)
                shown.update(point.step * task.count, f"{point.totals}  {engine.note}".rstrip())
                if is_typical and engine.compilations() == programs:
                    pace.learn(block.steps, now - block_began)
    finally:
        # Stopped, or an error in a user's function: what was computed is kept.
        keeper.reach(point, is_last=point.step > 0)
    return point


def next_block(task: Task, point: Point, end: int, cells: int, pace: Pace, is_due: bool) -> tuple[Block, bool]:
    """The block that begins here, to a whole cell or where warm-up or run end, and whether its time tells the pace.

    The last update before a segment is a block by itself: a resume takes it again and compares.
    """
    start = point.step
    most = min((task.warmup if start < task.warmup else end) - start, cells * CELL - start % CELL, pace.steps)
    is_end = start + most == end and task.directory is not None and most > 1 + (start == 0)
    return Block(start, 1 if is_due else most - 1 if is_end else most), most == 1 or not is_due


def advance(engine: Engine, moving: Moving, state: Positioned, block: Block, thinning: Thinning) -> tuple[Any, Output]:
    """Take the steps of a block with all chains: states, and an output with leading axes (chains, draws)."""
    state, output = engine.advance(moving, state, block, thinning)
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
