"""A run that kills itself with SIGKILL within a commit: ``kill_child.py MODEL DIRECTORY STAGE NTH``."""

import os
import signal
import sys
from pathlib import Path

from durable_models import MODELS, sample

from lockstep.engine import block as limits
from lockstep.storage import archive, writer


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Window:
    """Dies at one stage of the nth commit of a segment."""

    def __init__(self, stage, nth):
        self.stage, self.left = stage, nth

    def reached(self, stage):
        if stage == "begun":
            self.left -= 1
        if self.left == 0 and stage == self.stage:
            die()


def install(window):
    save, sync, fsync, replace = archive.save_arrays, archive.sync_directory, os.fsync, Path.replace

    def saved(file, arrays):
        window.reached("begun")
        if window.left == 0 and window.stage == "half":
            save(file, arrays)
            file.truncate(file.tell() // 2)
            file.flush()
            die()
        save(file, arrays)
        window.reached("written")

    def flushed(descriptor):
        fsync(descriptor)
        window.reached("flushed")

    def renamed(path, target):
        found = replace(path, target)
        window.reached("renamed")
        return found

    def synced(path):
        sync(path)
        window.reached("synced")

    archive.save_arrays, archive.sync_directory, os.fsync, Path.replace = saved, synced, flushed, renamed


STAGES = ("begun", "half", "written", "flushed", "renamed", "synced")

if __name__ == "__main__":
    model, path, stage, nth = sys.argv[1:5]
    # Small blocks, each of them a segment, so that the run is always about to write.
    limits.MOST_CELLS = 1
    writer.MOST_SECONDS = 0.0
    if stage in STAGES:
        install(Window(stage, int(nth)))
    sample(MODELS[model](), directory=Path(path))
