"""A task as bytes, on its way to a worker, and what it leaves, as bytes on the way back."""

from __future__ import annotations

import functools
import io
import pickle
import types
from typing import Any

import cloudpickle

from lockstep.chains.raised import packed
from lockstep.chains.session import run_chains
from lockstep.chains.task import Task
from lockstep.core.precision import double_precision


def pack(task: Task) -> tuple[bytes, bytes]:
    """A task as bytes: the model, of which workers keep the last ones, and the rest. Functions travel by value."""
    fields = {name: value for name, value in vars(task).items() if name not in ("kernel", "initial")}
    try:
        return _dumps((task.kernel, task.initial)), cloudpickle.dumps(fields)
    except Exception as error:
        raise TypeError(
            f"kernel or initial cannot be sent to a worker ({error}); make what they hold (open files, locks, "
            f"connections) inside of their functions"
        ) from error


def work(job: tuple[bytes, bytes]) -> bytes:
    """Run a task in a worker; what it leaves, or its error, as bytes."""
    try:
        with double_precision():
            kernel, initial = _model(job[0])
        task = Task(kernel, initial, **cloudpickle.loads(job[1]))
        outcome = run_chains(task, progress=False, is_collected=task.directory is None)
        if outcome.error is not None:
            raise outcome.error
        return cloudpickle.dumps(("outcome", outcome if task.kept is None else task.kept(outcome)))
    except Exception as error:
        return cloudpickle.dumps(("error", packed(error)))


@functools.lru_cache(maxsize=8)
def _model(data: bytes) -> Any:
    """A kernel and its start; the same object for the same bytes, so that it compiles once in a worker."""
    return _Unpickler(io.BytesIO(data)).load()


def _dumps(model: Any) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream).dump(model)
    return stream.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Functions are pickled apart: a worker makes one object of equal ones, and kernels that share it one program."""

    def persistent_id(self, part: Any) -> bytes | None:
        return cloudpickle.dumps(part) if isinstance(part, types.FunctionType) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, function: bytes) -> Any:
        return _function(function)


@functools.lru_cache(maxsize=64)
def _function(data: bytes) -> Any:
    return cloudpickle.loads(data)
