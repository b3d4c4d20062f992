"""Evaluations that raise in a run that goes on all the same: their candidates are rejected, counted and reported."""

from __future__ import annotations

import itertools
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_LETTERS = 4000  # of a traceback that is kept


class Failures:
    """What functions have raised in a run: how often, and the first traceback as a text."""

    def __init__(self) -> None:
        self.count = 0
        self.first: str | None = None

    def note(self, error: Exception) -> None:
        """Keep the text of the first error: what it is in one line, and its traceback."""
        if self.first is None:
            what = traceback.format_exception_only(error)[0].strip().partition("\n")[0]
            trace = "".join(traceback.format_exception(error)).strip()
            self.first = f"{what}\n{trace[-MOST_LETTERS:]}"

    def taken(self) -> tuple[int, str | None]:
        """How many candidates have been rejected since this was asked last, and the first traceback."""
        count, self.count = self.count, 0
        return count, self.first


class Slot:
    """Where the callbacks of one kernel in one run leave word that they have failed, until the kernel asks."""

    def __init__(self, failures: Failures) -> None:
        self.failures = failures
        self.has_failed = False

    def fail(self, error: Exception) -> None:
        self.failures.note(error)
        self.has_failed = True

    def asked(self, candidates: int) -> bool:
        """Whether an evaluation has failed since the last question, and with it that many candidates."""
        has_failed, self.has_failed = self.has_failed, False
        self.failures.count += candidates * has_failed
        return has_failed


# A compiled program can carry the number of a slot, not the slot.
_SLOTS: dict[int, Slot] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()


def open_slot(failures: Failures) -> int:
    """The number of a new slot, which is there until it is closed."""
    with _lock:
        number = next(_numbers) % 2**32
        _SLOTS[number] = Slot(failures)
    return number


def close_slot(number: int) -> None:
    """Forget a slot."""
    _SLOTS.pop(number, None)


def slot_of(number: Any) -> Slot:
    """The slot of a number; of an array of numbers, which are all the same."""
    return _SLOTS[int(np.ravel(number)[0])]


def forgiven(number: Any, blank: Any, evaluate: Callable[[], Any]) -> Any:
    """What ``evaluate`` returns; without a slot its errors are raised.

    With one, an error is noted there and ``blank`` returned. No number comes of it: the kernel asks before it decides.
    """
    if number is None:
        return evaluate()
    slot = slot_of(number)
    if slot.has_failed:  # what this evaluation would be given is blank already
        return blank
    try:
        return evaluate()
    except Exception as error:
        slot.fail(error)
        return blank
