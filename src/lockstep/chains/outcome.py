"""What running a task leaves."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.chains.interrupt import stopped
from lockstep.chains.task import Task
from lockstep.engine.block import Output
from lockstep.engine.totals import Totals
from lockstep.storage.stops import Ended


class Outcome(NamedTuple):
    """What running a task leaves: draws (None if they were only written to disk), counts, and whether it is whole.

    ``error`` is what ended it before, if anything did; ``until`` where its criterion stopped it, or that it did not;
    ``kept`` what the task has made of its draws, which are then left behind.
    """

    output: Output | None
    totals: Totals
    is_complete: bool
    error: Exception | None = None
    until: Ended | None = None
    kept: Any = None


def completed(task: Task, outcome: Outcome) -> Output:
    """The draws of an outcome that is complete; else what was raised, or that it was stopped, is raised."""
    if outcome.error is not None:
        raise outcome.error
    if not outcome.is_complete or outcome.output is None:
        raise stopped(task, outcome.totals, None)
    return outcome.output
