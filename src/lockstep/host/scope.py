"""The scope in which an interpreted kernel runs: what NumPy does with errors, inside of it and in users' functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np

from lockstep.host.generator import own_generator


def _call(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    return function(*arguments, **keywords)


# In the context of a user's function this is what it was outside: such a function may run a kernel itself.
_RUN: ContextVar[Callable[..., Any]] = ContextVar("_RUN", default=_call)


@contextmanager
def quiet() -> Iterator[None]:
    """A scope in which our own arithmetic may meet infinities; users' functions keep the warnings of outside.

    NumPy keeps what it does with such errors in the context, and to run a function in another context is cheap. The
    scope has a generator of its own, since it may lie within a function of another kernel.
    """
    token = _RUN.set(copy_context().run)
    try:
        with np.errstate(all="ignore"), own_generator():
            yield
    finally:
        _RUN.reset(token)


def outside() -> Callable[..., Any]:
    """What calls a user's function, with its arguments, in the context outside of `quiet`."""
    return _RUN.get()
