"""Progress of long operations: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self, TextIO, cast

from lockstep.core.arguments import flag
from lockstep.core.said import Listener, say

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Shows how far a run is. ``show``: True always, False never, None on a terminal only.

    ``begun`` is what was done before: it counts as done, but not for the speed.
    """

    def __init__(self, total: int, what: str, show: bool | None, begun: int = 0) -> None:
        self.total, self.what, self.begun = total, what, min(begun, total)
        self.started = self.last_line = time.monotonic()  # from here on speed is measured
        self.is_terminal = Listener().isatty()
        flag(show, "progress", is_none_allowed=True)
        self.is_shown = self.is_terminal if show is None else show
        self.last_done = -1
        self.first: tuple[float, int] | None = None  # when the first block was done, which was also compiled
        self.bar: Any = None

    def __enter__(self) -> Self:
        if self.is_shown and self.is_terminal:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
            )
            self.bar = Bar(*columns, console=Console(file=cast(TextIO, Listener())), transient=False)
            self.bar.start()
            self.task = self.bar.add_task(self.what, total=self.total, completed=self.begun, note="")
        return self

    def say(self, what: str) -> None:
        """Say at once what is being done before anything is done."""
        if self.bar is not None:
            self.bar.update(self.task, note=what)
        elif self.is_shown:
            say(f"{self.what}: {what}")

    def begin(self, begun: int) -> None:
        """Say how much was done before; what is done from now on counts for the speed."""
        self.begun, self.started = min(begun, self.total), time.monotonic()
        if self.bar is not None:
            self.bar.update(self.task, completed=self.begun)

    def update(self, done: int, note: str = "") -> None:
        """Say that ``done`` of the total is done; ``note`` is a short text beside it."""
        now = time.monotonic()
        since, before = self.first or (self.started, self.begun)
        rate = (done - before) / max(now - since, 1e-9)
        is_known = self.first is not None and rate > 0
        left = "0 s" if done == self.total else duration((self.total - done) / rate) if is_known else "?"
        if self.first is None and done > self.begun:
            self.first = now, done
        note = f"{rate:,.0f}/s  {note}  {left} left"
        if self.bar is not None:
            self.bar.update(self.task, completed=done, note=note)
        elif self.is_shown and (now - self.last_line > SECONDS_BETWEEN_LINES or done == self.total != self.last_done):
            self.last_line, self.last_done = now, done
            say(f"{self.what}: {done:,}/{self.total:,}  {note}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()


def duration(seconds: float) -> str:
    """A time in words: ``42 s``, ``3 min``, ``5.2 h``, ``2.1 days``.

    >>> [duration(seconds) for seconds in (0.4, 42, 200, 20_000, 1e6)]
    ['0 s', '42 s', '3 min', '5.6 h', '11.6 days']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"
