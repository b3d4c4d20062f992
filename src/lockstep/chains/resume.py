"""Where the directory of a task stands, and whether its run can go on from there with the model as it is now."""

from __future__ import annotations

import jax.random as jr

from lockstep.chains.repeat import require_repeatable
from lockstep.chains.task import Task
from lockstep.core import random
from lockstep.core.kernel import Kernel
from lockstep.core.types import Key
from lockstep.engine.choice import engine_of
from lockstep.starts.states import states_at
from lockstep.storage.directory import NAME, Record, accept, write_changes
from lockstep.storage.point import Point, require_alike
from lockstep.storage.segments import last_segment
from lockstep.storage.writer import Writer

CHANGE_STREAM = 2**31 + 1  # of random numbers: beyond the chains' and that of the adaptation


def is_finished(task: Task) -> bool:
    """Whether the directory of a task holds all updates that it asks for."""
    if task.directory is None or not (task.directory / NAME).is_file():
        return False
    last = last_segment(task.directory)
    return last is not None and last.step >= task.steps


def resumed(kernel: Kernel, keys: Key, key_start: Key, task: Task, writer: Writer, point: Point) -> Point:
    """Where a run goes on: the last point that was written, or ``point`` if none was; the model may compute it again.

    A point without states is that of a run that is finished, of which nothing is computed.
    """
    record = writer.record
    if point.state is None:
        last = writer.segments[-1]
        point = point._replace(step=last.step, totals=last.totals)
    else:
        point = writer.resume(point.state) or point
        point, record = settled(kernel, keys, key_start, task, record, point)
        if point.thinning.phase:
            require_alike(point.thinning.info, engine_of(kernel).no_info(kernel, keys, point.state), task.directory)
    write_changes(writer.path, record)
    return point


def settled(
    kernel: Kernel, keys: Key, key_start: Key, task: Task, record: Record, point: Point
) -> tuple[Point, Record]:
    """Where a run goes on, if the model computes what it did; else refused, or accepted with what it computes now.

    What a state remembers of its position (a log density, an estimate of it) is of the model that computed it: where
    the model was changed, it is evaluated anew.
    """
    if point.witness is None:
        return point, record
    if not record.is_renewed(point.step):
        told = list(record.other), list(record.suspects)
        found = require_repeatable(kernel, keys, task, point.step, point.state, point.witness, *told)
        if found is None:
            return point, record
        record = accept(task.directory, record, [found])  # type: ignore[arg-type]
    positions = point.state.position
    key = jr.fold_in(jr.fold_in(key_start, CHANGE_STREAM), point.step)
    return point._replace(state=states_at(kernel, positions, positions, random.fold_in(key, task.numbers))), record
