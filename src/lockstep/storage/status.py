"""Where a run directory stands, finished or living, and its draws: read by any process."""

from __future__ import annotations

import dataclasses
import re
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from lockstep.core.arguments import path_of
from lockstep.core.progress import duration
from lockstep.engine.block import Output
from lockstep.engine.totals import Totals, together
from lockstep.storage.archive import require_plain
from lockstep.storage.directory import NAME, Record, read_record, require_directory
from lockstep.storage.errors import DamagedError
from lockstep.storage.locks import is_locked, lock_note
from lockstep.storage.segments import Segment, read_output, read_segments
from lockstep.storage.stops import stop_at
from lockstep.storage.walltime import wall_seconds

GROUP = re.compile(r"group-(\d{4})")
GROUPED = "chains of a task"  # in the configuration of a run whose tasks have directories of their own


@dataclasses.dataclass(frozen=True)
class Status:
    """Where a run directory stands, without its draws."""

    directory: Path
    record: Record
    parts: list[list[Segment]]  # the segments of each group of chains
    draws: int
    target: int
    totals: Totals
    is_running: bool
    until: str | None = None  # where a criterion has stopped it, in words

    reason: ClassVar[None] = None  # why it cannot be read: it can

    @property
    def is_complete(self) -> bool:
        return 0 < self.target <= self.draws

    @property
    def state(self) -> str:
        """``running``, ``complete`` or ``stopped``."""
        return "running" if self.is_running else "complete" if self.is_complete else "stopped"

    @property
    def updates(self) -> int:
        """How many updates the whole run takes, all chains together."""
        get = self.record.get
        return get("chains") * (get("warmup") + self.target * get("thin"))

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at the speed so far; None if nothing is known."""
        totals = self.totals
        return totals.seconds * (self.updates - totals.updates) / totals.updates if totals.updates else None

    def to_dict(self) -> dict[str, Any]:
        """Everything by name."""
        return {
            "directory": str(self.directory),
            "state": self.state,
            "draws": self.draws,
            "target": self.target,
            "chains": self.record.get("chains"),
            "seed": self.record.get("seed"),
            "all_updates": self.updates,
            "seconds_left": self.seconds_left,
            **dataclasses.asdict(self.totals),
            "acceptance": self.totals.acceptance,
            "kernel": self.record.about.get("kernel"),
            "point": self.record.about.get("point"),
            "until": self.until,
        }

    def lines(self) -> list[str]:
        """A few lines for people."""
        totals, note, left = self.totals, lock_note(self.directory), self.seconds_left
        who = f" (process {note['pid']} on {note['host']})" if self.is_running and {"pid", "host"} <= set(note) else ""
        speed = totals.updates / totals.seconds if totals.seconds else 0.0
        rest = "" if self.is_complete or left is None else f", about {duration(left)} left"
        chains = self.record.get("chains")
        drawn = f"{self.draws:,} of {self.target:,} in each of {chains} chains" if self.target else "none yet"
        return [
            f"{self.directory}: {self.state}{who}",
            f"  draws    {drawn}",
            f"  updates  {totals.updates:,}, {speed:,.0f}/s, {totals}",
            f"  time     {duration(totals.seconds)}{rest}",
            *([f"  until    {self.until}"] if self.until else []),
        ]


def status(directory: str | PathLike[str]) -> Status:
    """Where a run stands: read from run.json and from what its segments say of themselves."""
    path = require_directory(path_of(directory, "directory"))
    record = read_record(path)
    places = [path] if GROUPED not in record.configuration else _groups(path)
    records = [read_record(place) for place in places]
    if any(inner.about[name] != record.about[name] for inner in records for name in ("exact_when", "error")):
        raise DamagedError(f"{path / NAME} says other things of the kernel than those of its groups; restore it")
    parts = [read_segments(place, inner.digest) for place, inner in zip(places, records, strict=True)]
    lasts = [segments[-1] for segments in parts if segments]
    is_whole = len(lasts) == _group_count(record)
    draws = min((last.end for last in lasts), default=0) if is_whole else 0
    ended = stop_at(path, draws)
    return Status(
        path,
        record,
        parts,
        draws,
        draws if ended is not None and ended.is_met else max((last.target for last in lasts), default=0),
        dataclasses.replace(together(last.totals for last in lasts), seconds=wall_seconds(parts)),
        any(is_locked(place) for place in {path, *places}),
        None if ended is None else str(ended),
    )


def read_parts(parts: list[list[Segment]], draws: int) -> Output:
    """The first draws of all groups of chains together."""
    groups = [_read_draws(segments, draws) for segments in parts]
    if len(groups) == 1:
        return groups[0]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *groups)


def _read_draws(segments: list[Segment], draws: int) -> Output:
    """The first draws of a group, read piece by piece into arrays for all of them."""
    whole: Any = None
    for segment in segments:
        count = min(segment.end, draws) - segment.first
        if count <= 0 or not segment.draws:
            continue
        output = read_output(segment)
        if whole is None:
            _require_room(segments, output, segment, draws)
            whole = jax.tree.map(lambda leaf: np.zeros((leaf.shape[0], draws, *leaf.shape[2:]), leaf.dtype), output)
        for target, leaf in zip(jax.tree.leaves(whole), jax.tree.leaves(output), strict=False):
            if leaf.dtype != target.dtype or (leaf.shape[0], *leaf.shape[2:]) != (target.shape[0], *target.shape[2:]):
                raise DamagedError(f"{segment.path} holds other arrays than the segments before it")
            target[:, segment.first : segment.first + count] = leaf[:, :count]
    return whole


def _require_room(segments: list[Segment], output: Output, first: Segment, draws: int) -> None:
    """Refuse segments that declare more draws than their files can hold."""
    declared = sum(leaf.nbytes for leaf in jax.tree.leaves(output)) // first.draws * draws
    held = sum(segment.path.stat().st_size for segment in segments)
    if declared > held:
        raise DamagedError(f"{first.path.parent}: the segments declare {declared:,} bytes of draws and hold {held:,}")


def _groups(path: Path) -> list[Path]:
    groups = sorted(inner for inner in path.iterdir() if GROUP.fullmatch(inner.name))
    for group in groups:
        require_plain(group)
    return [group for group in groups if (group / NAME).exists()]


def _group_count(record: Record) -> int:
    return -(-record.get("chains") // max(1, record.get(GROUPED))) if GROUPED in record.configuration else 1
