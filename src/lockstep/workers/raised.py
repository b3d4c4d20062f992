"""Errors of workers, as bytes: they arrive as they were raised, or as nearly so as can be."""

from __future__ import annotations

import traceback
from contextlib import suppress
from typing import Any

import cloudpickle


class WorkerError(RuntimeError):
    """An error of a worker that could not be sent as it was; its text has the type and the text of that one."""


def packed(error: Exception) -> bytes:
    """An error as bytes: its type, arguments and attributes as far as they can be sent, and always its text."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    attributes = {key: data for key, value in vars(error).items() if (data := _dumped(value)) is not None}
    words = (name, _text(error), "".join(traceback.format_exception(error)))
    return cloudpickle.dumps((_dumped(kind), _dumped(_arguments(error)), attributes, words))


def unpacked(data: bytes) -> Exception:
    """The error of a worker, with the traceback that it had there as a note."""
    kind, arguments, attributes, (name, text, trace) = cloudpickle.loads(data)
    error: Exception = WorkerError(f"{name}: {text}")
    if kind is not None and arguments is not None:
        # Not by its constructor, whose arguments need not be those that the error keeps. A type that this process
        # cannot import, or that insists on its constructor, is told by its name.
        with suppress(Exception):
            error = _rebuilt(cloudpickle.loads(kind), cloudpickle.loads(arguments), attributes, text)
    error.add_note(f"In a worker:\n{trace}")
    return error


def _rebuilt(kind: type[Exception], arguments: tuple[Any, ...], attributes: dict[str, bytes], text: str) -> Exception:
    error = kind.__new__(kind, *arguments)
    for name, value in attributes.items():
        with suppress(Exception):
            vars(error)[name] = cloudpickle.loads(value)
    if _text(error) != text:
        raise ValueError("it lost what its text is made of")
    return error


def _arguments(error: Exception) -> tuple[Any, ...]:
    """What an error keeps of its arguments; an OSError keeps the name of its file beside them."""
    return OSError.__reduce__(error)[1] if isinstance(error, OSError) else error.args  # type: ignore[return-value]


def _dumped(value: object) -> bytes | None:
    """A value as bytes; None if it cannot be sent, or not be read again."""
    with suppress(Exception):
        data: bytes = cloudpickle.dumps(value)
        cloudpickle.loads(data)
        return data
    return None


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # of the user's own __str__
        return "(it has no text)"
