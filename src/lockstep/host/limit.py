"""Values below which a result is certain to be rejected, on their way to users' functions that can stop early."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

NO_LIMIT = float("-inf")


class _Now(threading.local):
    limit = NO_LIMIT


_NOW = _Now()


@contextmanager
def stopping_below(limit: float) -> Iterator[None]:
    """A scope in which the next evaluation need not tell values below the limit from minus infinity."""
    outer, _NOW.limit = _NOW.limit, limit
    try:
        yield
    finally:
        _NOW.limit = outer


def limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the limit of the moment as its ``stop_below``; kernels that it runs have limits of their own."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        limit = _NOW.limit
        with stopping_below(NO_LIMIT):
            return function(*arguments, stop_below=limit, **keywords)

    return call
