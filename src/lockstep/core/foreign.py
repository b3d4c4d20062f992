"""What others made (users, packages, Python itself) and what may be there: asked here, for nothing declares it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def attribute(value: object, name: str, default: Any = None) -> Any:
    """An attribute that an object of others may have, else the default."""
    return getattr(value, name, default)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a user's function, or what it is if it has none."""
    return str(attribute(function, "__name__", repr(function)))


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # a system that does not say
        return os.cpu_count() or 1
