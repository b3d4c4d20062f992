"""What is said on standard error while a run goes on. Nobody needs to listen: a run never ends because of it."""

from __future__ import annotations

import sys
from contextlib import suppress


class Listener:
    """Standard error as it is now: closed, full, gone or not there at all, writing to it never fails."""

    def __init__(self) -> None:
        # Kept: while a bar is shown, `sys.stderr` leads to the bar, which writes here.
        self.stream = sys.stderr

    @property
    def encoding(self) -> str:
        try:
            return self.stream.encoding or "utf-8"
        except AttributeError:  # there is no standard error, or it is a program's own
            return "utf-8"

    def write(self, text: str) -> int:
        """Say something."""
        # A closed file is a ValueError, a full disk or a pipe without a reader an OSError; without a standard error
        # (None) `print` would write to standard output.
        with suppress(OSError, ValueError):
            if self.stream is not None:
                self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Have it said now."""
        with suppress(OSError, ValueError):
            if self.stream is not None:
                self.stream.flush()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        with suppress(OSError, ValueError):
            return self.stream is not None and self.stream.isatty()
        return False

    def fileno(self) -> int:
        """Its number; an OSError, as of files without one, if there is none."""
        if self.stream is None:
            raise OSError("there is no standard error")
        return self.stream.fileno()


def say(line: str) -> None:
    """Write a line to standard error, if there is one."""
    listener = Listener()
    listener.write(f"{line}\n")
    listener.flush()
