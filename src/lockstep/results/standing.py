"""Where the runs of a directory stand, from what is on disk."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

from lockstep.storage.directory import NAME
from lockstep.storage.errors import NoRunError, RunDirectoryError
from lockstep.storage.status import Status, status


@dataclasses.dataclass(frozen=True)
class Broken:
    """A run of a sweep that cannot be read, and why."""

    directory: Path
    reason: str

    state: ClassVar[str] = "damaged"

    def to_dict(self) -> dict[str, Any]:
        """Everything by name."""
        return {"directory": str(self.directory), "state": self.state, "reason": self.reason}

    def lines(self) -> list[str]:
        """A few lines for people."""
        return [f"{self.directory}: {self.state}", f"  {self.reason}"]


def run_directories(directory: Path) -> list[Status | Broken]:
    """The status of a run, or of all runs of a sweep; one that is damaged does not hide the others."""
    if (directory / NAME).exists() or not directory.is_dir():
        return [status(directory)]
    inner = sorted(path for path in directory.iterdir() if not path.is_symlink() and (path / NAME).is_file())
    if not inner:
        raise NoRunError(f"{directory} holds no run: there is no {NAME} in it or in its directories")
    return [_status(path) for path in inner]


def _status(path: Path) -> Status | Broken:
    try:
        return status(path)
    except RunDirectoryError as error:
        return Broken(path, str(error))
