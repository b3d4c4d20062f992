"""Python's garbage collector while modules are imported: much is made that stays."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NEVER = 2**31 - 1  # collections of the generation before, until one of the oldest is due


class _Scopes:
    """How many are open at this moment, in all threads, and after how many collections the oldest was due before."""

    def __init__(self) -> None:
        self.lock, self.count, self.oldest = threading.Lock(), 0, 0


_SCOPES = _Scopes()


@contextmanager
def old_objects_set_aside() -> Iterator[None]:
    """A scope in which Python's garbage collector looks through new objects only.

    Modules are there for good; for each so many of their objects the collector would look through all that JAX and the
    user's program have made before.
    """
    with _SCOPES.lock:
        if not _SCOPES.count:
            youngest, middle, _SCOPES.oldest = gc.get_threshold()
            gc.set_threshold(youngest, middle, NEVER)
        _SCOPES.count += 1
    try:
        yield
    finally:
        with _SCOPES.lock:
            _SCOPES.count -= 1
            if not _SCOPES.count:
                youngest, middle, _ = gc.get_threshold()
                gc.set_threshold(youngest, middle, _SCOPES.oldest)
