"""Ctrl-C: a run stops at the end of its block, keeps everything, and says how to go on."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from lockstep.chains.task import Task
from lockstep.core.said import say
from lockstep.engine.totals import Totals

GRACE = 1.0  # seconds in which the program may come back from compiled code
FIRST_SCOPE = 128  # of the bytes that tell in which scope signals come: their own numbers are smaller


class Interrupted(KeyboardInterrupt):
    """A run that was stopped by Ctrl-C (or SIGTERM).

    ``run`` holds its draws so far, if they are in memory; it is None for a sweep and in a warm-up.
    """

    run: Any = None


class LastResort:
    """Ends the program at the second SIGTERM if Python cannot: in compiled code that does not come back.

    Python runs what handles a signal between two steps of its own. The number of a signal is written to a pipe at once,
    however, and a thread reads it there: one for the process, since pipes and threads are dear. Runs on disk lose
    nothing. Programs that use that pipe for themselves, such as notebooks, keep it.
    """

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self.scope, self.is_open = FIRST_SCOPE, False
        threading.Thread(target=self._watch, name="lockstep-signals", daemon=True).start()

    def _watch(self) -> None:
        seen, scope = 0, self.scope
        while True:
            for number in os.read(self.reader, 64):
                if number >= FIRST_SCOPE:
                    seen, scope = 0, number
                seen += number == signal.SIGTERM
                if seen > 1:
                    time.sleep(GRACE)
                    if self.is_open and scope == self.scope:
                        os._exit(128 + signal.SIGTERM)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """A scope in which it counts the signals that come."""
        before = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        if before != -1:
            signal.set_wakeup_fd(before)
            yield
            return
        try:
            self.scope = FIRST_SCOPE + (self.scope + 1 - FIRST_SCOPE) % (256 - FIRST_SCOPE)
            os.write(self.writer, bytes([self.scope]))
            self.is_open = True
            yield
        finally:
            self.is_open = False
            signal.set_wakeup_fd(-1)


@functools.cache
def last_resort(process: int) -> LastResort:
    """That of a process: one that was forked has none of its threads."""
    return LastResort()


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
        self.stack = ExitStack()

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
            if signal.SIGTERM in self.previous:
                self.stack.enter_context(last_resort(os.getpid()).watching())
            OPEN.append(self)
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
        if self in OPEN:
            OPEN.remove(self)
            self.leave()

    def leave(self) -> None:
        """Leave signals to what handled them before."""
        self.stack.close()
        for number, handler in self.previous.items():
            signal.signal(number, handler)


def _leave_all() -> None:
    """A process that a user's function forks ends by its first signal, and tells nobody of it."""
    while OPEN:
        OPEN.pop().leave()


OPEN: list[Stop] = []  # those that have the signals of this process
if os.name == "posix":
    os.register_at_fork(after_in_child=_leave_all)


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
