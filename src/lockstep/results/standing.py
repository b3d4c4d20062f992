"""Where runs stand, in words and as data, from what is on disk."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

from lockstep.core.progress import duration
from lockstep.storage.directory import NAME
from lockstep.storage.errors import NoRunError, RunDirectoryError
from lockstep.storage.locks import lock_note
from lockstep.storage.status import Status, status


class Broken(NamedTuple):
    """A run of a sweep that cannot be read, and why."""

    directory: Path
    reason: str


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


def state(found: Status) -> str:
    """``running``, ``complete`` or ``stopped``."""
    return "running" if found.is_running else "complete" if found.is_complete else "stopped"


def seconds_left(found: Status) -> float | None:
    """How long the rest takes at the speed so far; None if nothing is known."""
    totals = found.totals
    return totals.seconds * (found.updates - totals.updates) / totals.updates if totals.updates else None


def to_dict(found: Status | Broken) -> dict[str, Any]:
    """Everything by name."""
    if isinstance(found, Broken):
        return {"directory": str(found.directory), "state": "damaged", "reason": found.reason}
    return {
        "directory": str(found.directory),
        "state": state(found),
        "draws": found.draws,
        "target": found.target,
        "chains": found.record.get("chains"),
        "seed": found.record.get("seed"),
        "all_updates": found.updates,
        "seconds_left": seconds_left(found),
        **dataclasses.asdict(found.totals),
        "acceptance": found.totals.acceptance,
        "kernel": found.record.about.get("kernel"),
        "point": found.record.about.get("point"),
        "until": found.until,
    }


def report_lines(found: Status | Broken) -> list[str]:
    """A few lines for people."""
    if isinstance(found, Broken):
        return [f"{found.directory}: damaged", f"  {found.reason}"]
    totals, note = found.totals, lock_note(found.directory)
    who = f" (process {note['pid']} on {note['host']})" if found.is_running and {"pid", "host"} <= set(note) else ""
    speed = totals.updates / totals.seconds if totals.seconds else 0.0
    left = seconds_left(found)
    is_going = not found.is_complete and left is not None
    return [
        f"{found.directory}: {state(found)}{who}",
        f"  draws    {found.draws:,} of {found.target or '?':,} in each of {found.record.get('chains')} chains"
        if found.target
        else "  draws    none yet",
        f"  updates  {totals.updates:,}, {speed:,.0f}/s, {totals}",
        f"  time     {duration(totals.seconds)}" + (f", about {duration(left)} left" if is_going else ""),  # type: ignore[arg-type]
        *([f"  until    {found.until}"] if found.until else []),
    ]
