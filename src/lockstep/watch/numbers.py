"""Where runs stand, with their diagnostics so far: the numbers that the page and the terminal show."""

from __future__ import annotations

import itertools
import math
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lockstep.chains.until import STATISTIC_DIGITS, TAIL, rounded_up
from lockstep.core.sampled import Sampled
from lockstep.coupling.names import components
from lockstep.results.report.content import MOST_COMPONENTS
from lockstep.results.standing import Broken, run_directories
from lockstep.sampling.load import load
from lockstep.storage.directory import NAME
from lockstep.storage.errors import NoRunError, RunDirectoryError
from lockstep.storage.status import Status

FEWEST = 32  # draws that R-hat and effective sample sizes are computed from
MOST_RUNS = 1000
PATIENCE = 4.0  # a look rests so many times as long as it took: the processors are for the runs


class Diagnosis(NamedTuple):
    """The largest R-hat and the smallest effective sample size of the first draws; NaN if a component has none."""

    draws: int
    rhat: float
    ess: float


class Watched:
    """A run that is watched: its name, a number that it keeps, where it stands, and its diagnostics over time."""

    def __init__(self, number: int, name: str, found: Status | Broken) -> None:
        self.number, self.name, self.path, self.found = number, name, found.directory, found
        self.history: list[Diagnosis] = []
        self.rest_until = 0.0

    @property
    def reason(self) -> str | None:
        """Why it cannot be read; None: it can."""
        return self.found.reason

    def learn(self, found: Status | Broken) -> None:
        """Take up where the run stands, and diagnose it at numbers of draws that were not there before."""
        self.found = found
        if found.reason is not None or not found.draws:
            return
        began = time.monotonic()
        if began < self.rest_until or (self.history and self.history[-1].draws == found.draws):
            return
        try:
            run = load(self.path)
        except RunDirectoryError as error:
            self.found = Broken(self.path, str(error))
            return
        known = {one.draws: one for one in self.history}
        self.history = [known.get(draws) or diagnosis(run, draws) for draws in _looks(run.draws)]
        now = time.monotonic()
        self.rest_until = now + (PATIENCE * (now - began) if found.is_running else 0.0)

    def row(self) -> dict[str, Any]:
        """What is shown of the run in one line; numbers that there are not are None."""
        found = self.found
        row = {"number": self.number, "name": self.name, "state": found.state, "reason": found.reason}
        if found.reason is not None:
            return row
        totals = found.totals
        last = self.history[-1] if self.history else Diagnosis(0, math.nan, math.nan)
        return row | {
            "draws": found.draws,
            "target": found.target,
            "chains": found.record.get("chains"),
            "updates": totals.updates,
            "rate": totals.updates / totals.seconds if totals.seconds else None,
            "seconds": totals.seconds,
            "left": None if found.is_complete else found.seconds_left,
            "acceptance": totals.acceptance if totals.ratios else None,
            "bad": totals.bad,
            "separations": totals.marks,
            "expected": totals.gaps,
            "rhat": None if math.isnan(last.rhat) else last.rhat,
            "ess": None if math.isnan(last.ess) else last.ess,
            "until": found.until,
            "kernel": found.record.about.get("kernel"),
        }


class Watch:
    """All runs of a directory, which may hold one, many, or sweeps; looked at in turn, and only read."""

    def __init__(self, directory: Path) -> None:
        if not directory.is_dir():
            raise NoRunError(f"{directory} is no directory; give that of a run, of a sweep, or one that holds them")
        import arviz_stats  # noqa: F401 - slow to import, which is not to be counted as the time of a look

        self.directory = directory
        self.runs: dict[Path, Watched] = {}
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.cost = 0.0

    def look(self) -> None:
        """Find out where all runs stand; what cannot be read is said, and the others are shown."""
        began = time.monotonic()
        seen = set()
        for found in _found(self.directory):
            path = found.directory
            with self.lock:
                if path not in self.runs:
                    if len(self.runs) >= MOST_RUNS:
                        continue
                    self.runs[path] = Watched(next(self.numbers), _name(path, self.directory), found)
            self.runs[path].learn(found)
            seen.add(path)
        with self.lock:
            for path in set(self.runs) - seen:  # removed, or a warm-up that is over
                del self.runs[path]
        self.cost = time.monotonic() - began

    def rows(self) -> list[dict[str, Any]]:
        """A line for each run, by name."""
        with self.lock:
            return [run.row() for run in sorted(self.runs.values(), key=lambda run: run.name)]

    def run(self, number: int) -> Watched | None:
        """The run of a number."""
        with self.lock:
            return next((run for run in self.runs.values() if run.number == number), None)

    @property
    def pause(self) -> float:
        """How long to wait before the next look."""
        return min(60.0, max(1.0, PATIENCE * self.cost))


def _found(directory: Path) -> list[Status | Broken]:
    """The runs in a directory, and in directories of it that hold runs."""
    if (directory / NAME).exists():
        return _runs(directory)
    try:
        inner = sorted(path for path in directory.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError as error:
        return [Broken(directory, f"{directory} cannot be read ({error.strerror or error})")]
    return [one for path in inner for one in _runs(path)]


def _runs(path: Path) -> list[Status | Broken]:
    try:
        return run_directories(path)
    except NoRunError:
        return []  # not a run, or not yet
    except (RunDirectoryError, OSError) as error:
        return [Broken(path, str(error))]


def _name(path: Path, directory: Path) -> str:
    name = str(path.relative_to(directory)) if path != directory else path.resolve().name
    return "".join(letter if letter.isprintable() else "�" for letter in name)


def _looks(draws: int) -> list[int]:
    """The numbers of draws, up to this one, at which criteria are judged: the same at each look."""
    looks, now = [], FEWEST
    while now < draws:
        looks.append(now)
        now = rounded_up(now + 1, STATISTIC_DIGITS)
    return [*looks, draws]


def diagnosis(run: Sampled, draws: int) -> Diagnosis:
    """ArviZ's R-hat and effective sample sizes of the first draws of a run."""
    from arviz_stats.base import array_stats

    if draws < FEWEST:
        return Diagnosis(draws, math.nan, math.nan)
    rhats, sizes = [], []
    for component in components(run)[:MOST_COMPONENTS]:
        values = np.asarray(component.legs[0][:, :draws], float)
        if not np.isfinite(values).all() or (values == values.flat[0]).all():
            return Diagnosis(draws, math.nan, math.nan)
        rhats.append(float(array_stats.rhat(values)) if len(values) > 1 else math.nan)
        sizes.append(float(array_stats.ess(values, method="bulk")))
        sizes.append(float(array_stats.ess(values, method="tail", prob=TAIL)))
    return Diagnosis(draws, max(rhats), min(sizes))
