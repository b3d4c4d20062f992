"""A model as bytes, on its way to workers, which keep the last ones. Functions travel by value."""

from __future__ import annotations

import functools
import io
import pickle
import types
from typing import Any

import cloudpickle


def sent(model: object, name: str) -> bytes:
    """A model as bytes."""
    stream = io.BytesIO()
    try:
        _Pickler(stream).dump(model)
    except Exception as error:
        raise TypeError(
            f"{name} cannot be sent to a worker ({error}); make what they hold (open files, locks, connections) inside "
            f"of their functions"
        ) from error
    return stream.getvalue()


@functools.lru_cache(maxsize=8)
def received(data: bytes) -> Any:
    """What was sent; the same object for the same bytes, so that a kernel compiles once in a worker."""
    return _Unpickler(io.BytesIO(data)).load()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Functions are pickled apart: a worker makes one object of equal ones, and kernels that share it one program."""

    def persistent_id(self, part: object) -> bytes | None:
        return cloudpickle.dumps(part) if isinstance(part, types.FunctionType) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, function: bytes) -> Any:
        return _function(function)


@functools.lru_cache(maxsize=64)
def _function(data: bytes) -> Any:
    return cloudpickle.loads(data)
