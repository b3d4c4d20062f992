"""Values below which a result is certain to be rejected, on their way to users' functions that can stop early."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

NO_LIMIT = float("-inf")


class _Now(threading.local):
    limit: Any = NO_LIMIT


_NOW = _Now()


class stopping_below:
    """A scope in which the next evaluation need not tell values below the limit from minus infinity."""

    __slots__ = ("limit", "outer")

    def __init__(self, limit: Any) -> None:
        self.limit = limit

    def __enter__(self) -> None:
        self.outer, _NOW.limit = _NOW.limit, self.limit

    def __exit__(self, *_: object) -> None:
        _NOW.limit = self.outer


def limit_now() -> Any:
    """The value of the moment below which a result is certain to be rejected; in compiled code a traced one."""
    return _NOW.limit


def limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the limit of the moment as its ``stop_below``; kernels that it runs have limits of their own."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        limit = _NOW.limit
        with stopping_below(NO_LIMIT):
            return function(*arguments, stop_below=limit, **keywords)

    return call
