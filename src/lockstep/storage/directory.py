"""A run directory: ``run.json`` says what the run is, segments hold it, and a lock keeps a second writer out."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.version import __version__
from lockstep.engine.compiled import Output
from lockstep.engine.totals import Totals
from lockstep.storage.archive import TEMPORARY, read_json, require_plain, write_json
from lockstep.storage.comparison import (
    REFUSE,
    changes_of_model,
    other_packages,
    other_versions,
    suspects,
    tell_versions,
)
from lockstep.storage.errors import DamagedError, MismatchError, NoRunError, StorageError
from lockstep.storage.locks import NAME as LOCK, Lock
from lockstep.storage.segments import Segment, last_segment, read_segments, read_state, segment_path, write_segment
from lockstep.storage.structure import encode
from lockstep.storage.witness import Witness, processor

FORMAT = 2
NAME = "run.json"
TEXTS = ("exact_when", "error", "remedy")  # of what is known of the kernel
WARMUP = "warmup"  # the directory, in that of a run, of the updates in which its proposals learn
MOST_BYTES = 2**26  # of draws that wait to be written
LEAST_SECONDS, MOST_SECONDS, SHARE = 2.0, 300.0, 0.01  # a segment is about this share of the run so far


class Point(NamedTuple):
    """Where a run is: updates of each chain, states, the info of a draw that has only begun, counts, the last block."""

    step: int
    state: Any
    pending: Any
    totals: Totals
    witness: Witness | None = None


class Change(NamedTuple):
    """Another model, accepted: after how many updates and draws of each chain, what differed, and what it is now."""

    step: int
    draw: int
    differences: tuple[str, ...]
    configuration: dict[str, Any]
    versions: dict[str, str]

    def __str__(self) -> str:
        shown = "; ".join(self.differences[:4])
        more = f"; and {len(self.differences) - 4} more" if len(self.differences) > 4 else ""
        return f"the model was changed at draw {self.draw:,}, and draws before are of another one: {shown}{more}"


class Record(NamedTuple):
    """What ``run.json`` says."""

    configuration: dict[str, Any]
    about: dict[str, Any]
    versions: dict[str, str]
    digest: str
    changes: tuple[Change, ...] = ()
    other: tuple[str, ...] = ()  # versions and packages that are others here, and the processor
    suspects: tuple[str, ...] = ()  # what cannot be compared

    @property
    def model(self) -> dict[str, Any]:
        """The configuration with which the run last went on."""
        return self.changes[-1].configuration if self.changes else self.configuration

    def is_renewed(self, step: int) -> bool:
        """Whether the model was changed after that many updates of each chain."""
        return bool(self.changes) and self.changes[-1].step == step

    def get(self, name: str) -> int:
        """A whole number of the configuration."""
        value = self.configuration.get(name)
        if not isinstance(value, int) or not 0 <= value < 2**63:
            raise DamagedError(f"{NAME} says {name} is {value!r}, which is no whole number")
        return value


def read_record(directory: Path) -> Record:
    """The description of a run, refused if this version cannot read it."""
    found = read_json(directory / NAME)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        is_other = isinstance(found, dict) and "format" in found
        raise MismatchError(
            f"{directory / NAME} has format {found['format']!r}; this version of Lockstep reads format {FORMAT}"
            if is_other
            else f"{directory / NAME} is no description of a run"
        )
    configuration, about, versions = (found.get(name) for name in ("configuration", "about", "versions"))
    if not (isinstance(configuration, dict) and isinstance(about, dict) and isinstance(versions, dict)):
        raise DamagedError(f"{directory / NAME} is no description of a run")
    # Texts that are shown: no escape sequences of a terminal.
    texts = {name: None if about.get(name) is None else _printable(about[name]) for name in TEXTS}
    point = (
        {_printable(k): _printable(v) for k, v in inner.items()}
        if isinstance(inner := about.get("point"), dict)
        else None
    )
    shown = {"kernel": _printable(about.get("kernel")), **texts, "point": point}
    try:
        changed = found.get("changes", [])
        if found.get("digest of changes", _digest([])) != _digest(changed):
            raise ValueError("they were edited")
        changes = tuple(_change(one) for one in changed)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{directory / NAME} says nothing sensible of its changes ({error!r})") from None
    return Record(configuration, shown, versions, _digest({"configuration": configuration, "about": about}), changes)


def _change(found: Any) -> Change:
    counts, texts = [found["step"], found["draw"]], [_printable(text) for text in found["differences"]]
    mappings = [found["configuration"], found["versions"]]
    if not all(isinstance(count, int) and 0 <= count < 2**62 for count in counts):
        raise ValueError(f"its counts are {counts}")
    if not all(isinstance(one, dict) for one in mappings):
        raise ValueError("it has no configuration")
    return Change(counts[0], counts[1], tuple(texts), mappings[0], mappings[1])


@contextmanager
def open_run(
    path: Path,
    configuration: dict[str, Any],
    about: dict[str, Any],
    note: dict[str, Any] | None = None,
    changed: str = REFUSE,
) -> Iterator[Record]:
    """Hold the directory of a run for writing: begun if it is new, else compared with ``configuration``.

    If ``changed`` is "accept", another model is recorded as a change, with which later ones are compared.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise StorageError(f"directory is {str(path)!r}, which is a file") from None
    except OSError as error:
        raise StorageError(f"directory {str(path)!r} cannot be made ({error.strerror or error})") from error
    with Lock(path, note):
        if (path / NAME).exists() or (path / NAME).is_symlink():
            record = _compared(path, read_record(path), configuration, changed)
        else:
            require_empty(path)
            here = versions() | {"processor": processor()}
            content = {"format": FORMAT, "versions": here, "about": about, "configuration": configuration}
            write_json(path / NAME, content)
            record = read_record(path)
        for leftover in path.glob(f"*{TEMPORARY}"):  # of a writer that was killed
            if leftover.is_file():
                leftover.unlink()
        yield record


def versions() -> dict[str, str]:
    """What the results of a run depend on, beside its configuration."""
    return {
        "lockstep": __version__,
        "jax": jax.__version__,
        "jaxlib": importlib.metadata.version("jaxlib"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _compared(path: Path, record: Record, configuration: dict[str, Any], changed: str) -> Record:
    """The record of a directory, if this configuration may go on with it."""
    here, there = versions(), record.changes[-1].versions if record.changes else record.versions
    made_by = str(there.get("lockstep"))
    if made_by.split(".")[:2] != here["lockstep"].split(".")[:2]:
        raise MismatchError(
            f"{path} was made by Lockstep {made_by}, and this is {here['lockstep']}; go on with that version, or give "
            f"another directory"
        )
    if found := changes_of_model(path, record.model, configuration, changed):
        return accept(path, record, found, configuration)
    other = [*other_versions(there, here), *other_packages(record.model, configuration)]
    tell_versions(path, other)
    other += other_versions(there, {"processor": processor()})
    return record._replace(other=tuple(other), suspects=tuple(suspects(record.model, configuration)))


def accept(path: Path, record: Record, found: list[str], configuration: dict[str, Any] | None = None) -> Record:
    """The record of a run that goes on with another model, from where it stands; not yet written."""
    places = [path, *sorted(path.glob("group-*"))]
    reached = [last for place in places if place.is_dir() and (last := last_segment(place)) is not None]
    if not reached:
        step = draw = 0
    else:
        step, draw = min(last.step for last in reached), min(last.end for last in reached)
    here = versions() | {"processor": processor()}
    change = Change(step, draw, tuple(found), record.model if configuration is None else configuration, here)
    return record._replace(changes=(*record.changes, change))


def write_changes(path: Path, record: Record) -> None:
    """Commit what was accepted, when it is known that the run can go on."""
    content, changes = read_json(path / NAME), [change._asdict() for change in record.changes]
    if len(changes) > len(content.get("changes", ())):
        write_json(path / NAME, content | {"changes": changes, "digest of changes": _digest(changes)})


def changes_in(path: Path) -> tuple[str, ...]:
    """The changes of the model that a run and its groups of chains went through, in words."""
    places = [path, *sorted(inner for inner in path.glob("group-*") if (inner / NAME).is_file())]
    return tuple(dict.fromkeys(str(change) for place in places for change in read_record(place).changes))


def require_empty(path: Path) -> None:
    """Refuse a directory that holds anything but the warm-up of a run that is to begin there."""
    others = sorted(p.name for p in path.iterdir() if p.name not in (LOCK, WARMUP) and not p.name.endswith(TEMPORARY))
    if others:
        raise StorageError(
            f"directory {str(path)!r} holds other files ({', '.join(others[:3])}) and no {NAME}; give a new or an "
            f"empty directory"
        )


def _printable(value: Any) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(value)[:2000])


def _digest(configuration: Any) -> str:
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()[:16]


class Writing(NamedTuple):
    """A segment on its way to the disk, and the draws that wait again if it does not arrive."""

    future: Future[None]
    segment: Segment
    outputs: list[Output]


class Writer:
    """Gathers draws and commits them as segments, now and then and at the end, while the next ones are computed."""

    def __init__(self, path: Path, record: Record, target: int) -> None:
        self.path, self.record, self.target = path, record, target
        self.segments = read_segments(path, record.digest)
        self.waiting: list[Output] = []
        self.writing: Writing | None = None
        self.bytes = 0
        self.trees: Any = self.segments[-1].trees if self.segments else None
        self.committed_at = time.monotonic()

    def resume(self, like: Any) -> Point | None:
        """Where the run stands, in the structure of its initial states; None if it has not begun."""
        if not self.segments:
            return None
        last = self.segments[-1]
        try:
            state, infos = read_state(last, like)
        except DamagedError:
            if not self.record.is_renewed(last.step):
                raise
            raise MismatchError(
                f"{self.path} cannot go on with this kernel, whose states are not like those of the run; begin another "
                f"run where this one ended, at ls.Starts(positions), in another directory"
            ) from None
        before, _ = read_state(last, like, "before")
        if not 0 < last.repeatable <= last.step:
            raise DamagedError(f"{last.path} says that its last block has {last.repeatable} updates")
        witness = Witness(before, last.repeatable, infos["past"] or None, infos["after"])
        return Point(last.step, state, infos["pending"] or None, last.totals, witness)

    def add(self, output: Output) -> None:
        """Take draws with leading axes (chains, draws)."""
        self.trees = {"positions": encode(output.positions), "info": encode(output.info)}
        copy = jax.tree.map(np.array, output)
        self.bytes += sum(leaf.nbytes for leaf in jax.tree.leaves(copy))
        if jax.tree.leaves(copy)[0].shape[1]:
            self.waiting.append(copy)

    def reach(self, point: Point, is_last: bool) -> None:
        """Commit what waits, if it is time and the last block is one update; at the end, return when it is on disk."""
        if is_last or (self.is_due(point) and point.witness is not None and point.witness.steps == 1):
            self.commit(point)
        if is_last:
            self.settle()

    def is_due(self, point: Point) -> bool:
        """Whether it is time for a segment, before which an update is taken by itself, to be repeated at a resume."""
        committed = self.writing.segment if self.writing else self.segments[-1] if self.segments else None
        if point.step == (0 if committed is None else committed.step):
            return False
        waited = time.monotonic() - self.committed_at
        return self.bytes > MOST_BYTES or waited > self.interval(point.totals.seconds)

    @staticmethod
    def interval(seconds: float) -> float:
        """Seconds from one segment to the next, in a run that has taken so long."""
        return min(MOST_SECONDS, max(LEAST_SECONDS, SHARE * seconds))

    def commit(self, point: Point) -> None:
        """Begin to write a segment, when the one before is on disk."""
        self.settle()
        last = self.segments[-1] if self.segments else None
        if point.step == (last.step if last else 0):
            return
        first = last.end if last else 0
        draws = max(0, (point.step - self.record.get("warmup")) // self.record.get("thin") - first)
        place = segment_path(self.path, len(self.segments))
        counts = (first, draws, point.step, self.target, point.totals)
        # Seconds as they were counted, set at the time of the clock: a clock that is put right changes no duration.
        now, computed = time.time(), point.totals.seconds - (last.totals.seconds if last else 0.0)
        span = (now - computed, now)
        assert point.witness is not None
        segment = Segment(place, self.record.digest, *counts, self.trees, point.witness.steps, span)
        pool = ThreadPoolExecutor(1)
        self.writing = Writing(pool.submit(_write, segment, self.waiting, point), segment, self.waiting)
        pool.shutdown(wait=False)
        self.waiting, self.bytes, self.committed_at = [], 0, time.monotonic()

    def settle(self) -> None:
        """Wait until what is being written is on disk; if it failed, its draws wait again."""
        if self.writing is None:
            return
        error = self.writing.future.exception()
        writing, self.writing = self.writing, None
        if error is not None:
            self.waiting = [*writing.outputs, *self.waiting]
            raise error
        self.segments.append(writing.segment)


def _write(segment: Segment, outputs: list[Output], point: Point) -> None:
    # An interrupt may have come between the draws of a block and its point: only what belongs to the point counts.
    draws = segment.draws
    output = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1)[:, :draws], *outputs) if draws else None
    assert point.witness is not None
    before = (point.witness.state, point.witness.past, point.witness.info)
    write_segment(segment, output, point.pending, point.state, before)


def require_directory(path: Path) -> Path:
    """A directory that holds a run, refused with a reason."""
    if not path.is_dir():
        raise NoRunError(f"{path} is no directory")
    if not (path / NAME).exists():
        is_learning = (path / WARMUP / NAME).is_file()
        raise NoRunError(
            f"{path} holds no draws yet: its warm-up is not over"
            if is_learning
            else f"{path} holds no run: there is no {NAME}"
        )
    require_plain(path / NAME)
    return path
