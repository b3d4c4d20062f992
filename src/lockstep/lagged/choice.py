"""Lag, start and end of the average, chosen from a pilot, and kept beside the pairs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lockstep.core.arguments import whole
from lockstep.host.boxes import is_interpreted
from lockstep.lagged.pairs import Setting, extended, run_pairs
from lockstep.storage.archive import read_json, write_json
from lockstep.storage.errors import DamagedError, MismatchError, StorageError

NAME = "pairs.json"
FORMAT = 1
PILOT_PAIRS = 32
PILOT_UPDATES, PILOT_CALLS = 128, 64  # at first; of black boxes, which may be slow
TIMES = 10  # the average ends at so many times its start
PILOT_STREAM = 20  # of seeds: the pilot's pairs are others than those that are averaged


class Choice(NamedTuple):
    """The lag, first and last update of the average, how they were chosen, and how many pairs at a time."""

    lag: int
    start: int
    end: int
    reason: str
    batches: tuple[int, ...] = ()


def chosen(setting: Setting, pairs: int, lag: int | None, start: int | None, end: int | None) -> Choice:
    """What the user gave, and the rest from the directory or a pilot; with the pairs that are now asked for."""
    lag, start, end = (
        None if value is None else whole(value, name, least, setting.most)
        for value, name, least in ((lag, "lag", 1), (start, "start", 0), (end, "end", 0))
    )
    found = None if setting.directory is None else read_choice(setting.directory)
    if found is None:
        found = _from_pilot(setting, lag, start, end)
    if lag is not None and lag != found.lag:
        raise MismatchError(
            f"{setting.directory} holds pairs with lag {found.lag}, and lag is {lag} here; leave it out, or give "
            f"another directory"
        )
    if start is not None or end is not None:
        found = found._replace(start=found.start if start is None else start, end=found.end if end is None else end)
    if found.end < found.start:
        raise ValueError(f"end is {found.end}, before start, {found.start}; the average goes from start to end")
    found = found._replace(batches=extended(found.batches, pairs, setting.kernel))
    if setting.directory is not None:
        write_choice(setting.directory, found)
    return found


def _from_pilot(setting: Setting, lag: int | None, start: int | None, end: int | None) -> Choice:
    """Lag and start: how long it took until the last of the pilot's pairs had met; the end: ten times as long."""
    if lag is not None and start is not None and end is not None:
        return Choice(lag, start, end, "lag, start and end as they were given")
    waits = pilot_waits(setting)
    longest = max(1, int(waits.max()))
    found = Choice(
        longest if lag is None else lag,
        longest if start is None else start,
        0,
        f"{PILOT_PAIRS} pilot pairs with lag 1 met after {int(np.median(waits))} updates (median), the last {longest}",
    )
    return found._replace(end=min(TIMES * max(found.start, longest), setting.most) if end is None else end)


def pilot_waits(setting: Setting) -> np.ndarray:
    """After how many updates the pairs of a pilot met."""
    seed = int(np.random.SeedSequence([setting.seed, PILOT_STREAM]).generate_state(1)[0])
    directory = None if setting.directory is None else setting.directory / "pilot"
    pilot = dataclasses.replace(setting, lag=1, seed=seed, directory=directory)
    updates = PILOT_CALLS if is_interpreted(setting.kernel) else PILOT_UPDATES
    groups = run_pairs(pilot, [PILOT_PAIRS], min(updates, setting.most), "pilot")
    times = np.concatenate([group.meeting_times for group in groups])
    if not times.all():
        raise RuntimeError(
            f"{int((times == 0).sum())} of {PILOT_PAIRS} pairs of the pilot have not met within most={setting.most:,} "
            f"updates: {far_apart(setting.most)}"
        )
    return times - 1


UNSEEN = "as far as the starts lead: a mode that no pair comes to is not seen;\n  let initial spread over all of them"


def far_apart(most: int) -> str:
    """What helps pairs that do not meet."""
    return (
        f"allow more (most={10 * most:,}), begin closer to where the chains end up, or take proposals whose candidates "
        f"are accepted more often from far apart (smaller steps, or an independence proposal in a ls.Mixture)"
    )


def read_choice(directory: Path) -> Choice | None:
    """What the directory of pairs says of them; None if it is new."""
    path = directory / NAME
    if not path.exists() and not path.is_symlink():
        if directory.is_dir() and any(inner.name != "pilot" for inner in directory.iterdir()):
            raise StorageError(
                f"directory {str(directory)!r} holds other files and no {NAME}; give a new or an empty directory"
            )
        return None
    found: Any = read_json(path)
    try:
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']}")
        lag, start, end = (whole(found[name], name, least) for name, least in (("lag", 1), ("start", 0), ("end", 0)))
        batches = tuple(whole(batch, "batch", 1) for batch in found["batches"])
        return Choice(lag, start, end, str(found["reason"])[:2000], batches)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{path} says nothing sensible of pairs ({error!r}); restore it") from None


def write_choice(directory: Path, choice: Choice) -> None:
    """Commit it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"directory {str(directory)!r} cannot be made ({error.strerror or error})") from error
    write_json(directory / NAME, {"format": FORMAT, **choice._asdict(), "batches": list(choice.batches)})
