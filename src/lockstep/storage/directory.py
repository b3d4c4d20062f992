"""A run directory: ``run.json`` says what the run is, segments hold it, and a lock keeps a second writer out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lockstep.storage.archive import TEMPORARY, make_directory, read_json, require_plain, write_json
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
from lockstep.storage.segments import last_segment
from lockstep.storage.versions import processor, versions

FORMAT = 2
NAME = "run.json"
FITTED = "fitted.npz"  # what a fit before the run has made of its kernel
TEXTS = ("exact_when", "error", "remedy", "began")  # of what is known of the kernel
WARMUP = "warmup"  # the directory, in that of a run, of the updates in which its proposals learn


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
    shown = {"kernel": _printable(about.get("kernel")), **texts, "point": point, "shown": about.get("shown")}
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
    make_directory(path, "directory")
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
    """Refuse a directory that holds anything but the fit and the warm-up of a run that is to begin there."""
    known = (LOCK, FITTED, WARMUP)
    others = sorted(p.name for p in path.iterdir() if p.name not in known and not p.name.endswith(TEMPORARY))
    if others:
        raise StorageError(
            f"directory {str(path)!r} holds other files ({', '.join(others[:3])}) and no {NAME}; give a new or an "
            f"empty directory"
        )


def _printable(value: object) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(value)[:2000])


def _digest(configuration: Any) -> str:
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()[:16]


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
