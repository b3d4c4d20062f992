"""Ctrl-C: a run stops at the end of its block, keeps everything, and says how to go on."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from lockstep.chains.task import Task
from lockstep.core.said import say
from lockstep.engine.totals import Totals


class Interrupted(KeyboardInterrupt):
    """A run that was stopped by Ctrl-C (or SIGTERM).

    ``run`` holds its draws so far, if they are in memory; it is None for a sweep and in a warm-up.
    """

    run: Any = None


class Stop:
    """While the context is open, the first Ctrl-C only sets ``is_wanted``; the second one interrupts at once.

    SIGTERM, by which schedulers announce the end of a job, does the same. Outside of the main thread, and where the
    program handles a signal itself, nothing is changed. Processes that no signal reaches look for ``file``. What is a
    part of something larger, which has the signals, looks there: ``outer``.
    """

    def __init__(self, is_announced: bool = True, file: Path | None = None, outer: Stop | None = None) -> None:
        self.is_announced, self.file, self.outer = is_announced, file, outer
        self.is_signalled = False
        self.previous: dict[int, Any] = {}

    @property
    def is_wanted(self) -> bool:
        if self.outer is not None and self.outer.is_wanted:
            return True
        return self.is_signalled or (self.file is not None and self.file.exists())

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
                if signal.getsignal(number) is default:
                    self.previous[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.is_signalled:
            raise KeyboardInterrupt
        self.is_signalled = True
        if self.is_announced:
            say("\nStopping at the end of this block; Ctrl-C again stops at once.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)


def stopped(task: Task, totals: Totals, run: Any) -> Interrupted:
    """What to raise when a run was stopped: how far it came, and how to go on."""
    where = f"stopped after {totals.updates:,} of {task.chains * task.steps:,} updates"
    error = Interrupted(
        f"{where}; all of them are kept in {task.directory}. Call again with the same arguments to go on"
        if task.directory is not None
        else f"{where}; the draws so far are the `run` of this exception. A run with a directory could be resumed"
        if run is not None
        else f"{where}; none is kept. With a directory it could be resumed"
    )
    error.run = run
    return error
