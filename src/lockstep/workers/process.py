"""How a worker process of our own begins, and how it ends when nobody is left to give it work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading

SECONDS_BETWEEN_LOOKS = 1.0


def begin_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, name="lockstep-parent", daemon=True).start()


def _end_with_the_parent() -> None:
    """Wait until the parent ends, in whatever way; then end this process at once.

    A parent that was killed says nothing, and a worker would wait for its next task for ever. What it was writing is
    whole or not there, as after any kill.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    # Its pipe tells that the parent is gone, unless a child that it forked holds the other end; a new number of the
    # parent tells it always, where orphans get one.
    number = os.getppid()
    while parent.is_alive() and os.getppid() == number:
        parent.join(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
