"""Progress of long operations: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Shows how far a run is. ``show``: True always, False never, None on a terminal only."""

    def __init__(self, total: int, what: str, show: bool | None) -> None:
        self.total, self.what = total, what
        self.done = 0
        self.started = self.last_line = time.monotonic()
        self.is_terminal = sys.stderr.isatty()
        self.is_shown = self.is_terminal if show is None else show
        self.bar: Any = None

    def __enter__(self) -> Self:
        if self.is_shown and self.is_terminal:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeRemainingColumn(),
            )
            self.bar = Bar(*columns, console=Console(stderr=True), transient=False)
            self.bar.start()
            self.task = self.bar.add_task(self.what, total=self.total, note="")
        return self

    def update(self, done: int, note: str = "") -> None:
        """Say that ``done`` of the total is done; ``note`` is a short text beside it."""
        self.done = done
        now = time.monotonic()
        rate = done / max(now - self.started, 1e-9)
        note = f"{rate:,.0f}/s  {note}"
        if self.bar is not None:
            self.bar.update(self.task, completed=done, note=note)
        elif self.is_shown and (now - self.last_line > SECONDS_BETWEEN_LINES or done == self.total):
            self.last_line = now
            left = (self.total - done) / max(rate, 1e-9)
            print(
                f"{self.what}: {done:,}/{self.total:,}  {note}  {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
