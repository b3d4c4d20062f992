"""Progress of a study: a bar on a terminal, a plain line a measurement elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Jobs:
    """Counts finished measurements; they may finish on any thread."""

    def __init__(self, console: Any) -> None:
        self.console = console
        self.lock = threading.Lock()
        self.finished = self.total = 0
        self.began = time.monotonic()
        self.is_stopped = False
        self.bar: Any = None

    @contextmanager
    def of(self, total: int) -> Iterator[None]:
        """Show the progress of that many measurements."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.total = total
        if not self.console.is_terminal:
            yield
            return
        columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=self.console, transient=True) as self.bar:
            self.task = self.bar.add_task("compiling", total=total)
            yield

    def done(self, words: str) -> None:
        """One more is finished."""
        if self.is_stopped:
            raise RuntimeError("the study was stopped")
        with self.lock:
            self.finished += 1
            if self.bar is not None:
                self.bar.update(self.task, completed=self.finished, description=words)
            else:
                seconds = time.monotonic() - self.began
                self.console.print(
                    f"[{self.finished}/{self.total}] {seconds:.0f} s  {words}", markup=False, highlight=False
                )
