"""A task as bytes, on its way to a worker, and what it leaves, as bytes on the way back."""

from __future__ import annotations

import cloudpickle

from lockstep.chains.session import run_and_keep
from lockstep.chains.task import Task
from lockstep.core.precision import double_precision
from lockstep.workers.raised import packed
from lockstep.workers.sent import received, sent


def pack(task: Task) -> tuple[bytes, bytes]:
    """A task as bytes: the model, of which workers keep the last ones, and the rest. Functions travel by value."""
    fields = {name: value for name, value in vars(task).items() if name not in ("kernel", "initial", "kept")}
    names = "kernel or initial" if task.kept is None else "kernel, initial or function"
    return sent((task.kernel, task.initial, task.kept), names), cloudpickle.dumps(fields)


def work(job: tuple[bytes, bytes]) -> bytes:
    """Run a task in a worker; what it leaves, or its error, as bytes."""
    try:
        with double_precision():
            kernel, initial, kept = received(job[0])
        task = Task(kernel, initial, kept=kept, **cloudpickle.loads(job[1]))
        outcome = run_and_keep(task)
        if outcome.error is not None:
            raise outcome.error
        return cloudpickle.dumps(("outcome", outcome))
    except Exception as error:
        return cloudpickle.dumps(("error", packed(error)))
