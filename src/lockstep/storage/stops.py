"""Where criteria have stopped a run, kept in its directory as ``until.json``: the same call stops there again.

A record is written when the draws up to the stop are on disk. What it says is shown, and obeyed by a resume; a machine
that rounds otherwise then stops at the same draw.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from lockstep.storage.archive import read_json, require_plain, write_json
from lockstep.storage.errors import DamagedError

NAME = "until.json"
FORMAT = 1
MOST = 1000  # criteria of one run


class Ended(NamedTuple):
    """Where a criterion, named by its text, has stopped a run, or (``is_met`` is false) found it at its limit."""

    criterion: str
    draws: int
    is_met: bool
    told: str

    def __str__(self) -> str:
        if self.is_met:
            return f"{self.criterion} was met at draw {self.draws:,}: {self.told}"
        return f"{self.criterion} was not met in {self.draws:,} draws: {self.told}; call again with more draws"


def read_stops(directory: Path) -> list[Ended]:
    """All of them, in the order in which they were judged."""
    path = directory / NAME
    require_plain(path)
    if not path.exists():
        return []
    found = read_json(path)
    try:
        if found["format"] != FORMAT:
            raise ValueError(f"its format is {found['format']!r}")
        ended = [Ended(one["criterion"], one["draws"], one["is_met"], one["told"]) for one in found["stops"]]
        for one in ended:
            if not (type(one.draws) is int and 0 < one.draws < 2**62 and type(one.is_met) is bool):
                raise ValueError(f"it stops at {one.draws!r}")
            if not all(isinstance(text, str) and text.isprintable() for text in (one.criterion, one.told)):
                raise ValueError("its texts cannot be shown")
        return ended
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(
            f"{path} says nothing sensible of where the run was stopped ({error}). Nothing was changed. Restore it "
            f"from a copy, or move it away: criteria are then judged anew"
        ) from None


def write_stop(directory: Path, ended: Ended) -> None:
    """Add one; of a criterion that was at its limit before, the last counts."""
    before = read_stops(directory)
    if ended in before:
        return
    kept = [one for one in before if one.criterion != ended.criterion][-MOST:]
    stops = [one._asdict() for one in (*kept, ended)]
    write_json(directory / NAME, {"format": FORMAT, "stops": stops})


def stop_at(directory: Path, draws: int) -> Ended | None:
    """What ended the run of a directory at this number of draws, if a criterion did."""
    return next((one for one in reversed(read_stops(directory)) if one.draws == draws), None)


def recorded_stop(directory: Path | None, criterion: str) -> Ended | None:
    """Where a criterion has stopped the run of a directory, if it has."""
    if directory is None:
        return None
    found = [one for one in read_stops(directory) if one.criterion == criterion and one.is_met]
    return found[-1] if found else None
