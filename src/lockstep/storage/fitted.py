"""What a fit has made of a kernel, on disk: a run is opened again without fitting it a second time.

Beside ``run.json`` the file ``fitted.npz`` holds the fitted kernel and where its chains begin: our own parts by class
and fields, numbers as arrays, and of all that the kernel held before the fit (users' functions, their data) the place
where it stood. It belongs to the kernel and the start whose digest it has; for any other it is as if it was not there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lockstep.core.kernel import Kernel
from lockstep.core.trees import is_key
from lockstep.storage.archive import make_directory, read_arrays, write_arrays
from lockstep.storage.comparison import REFUSE
from lockstep.storage.configuration import INTERNALS, OPAQUE, describe_model
from lockstep.storage.directory import FITTED, NAME, require_empty
from lockstep.storage.errors import DamagedError

GENERATORS = ("a RandomState", "a Generator")  # in a package's object, as in a law of SciPy's: they are no setting
SIMPLE = (type(None), bool, int, float, str)


class UnknownValueError(TypeError):
    """A value that cannot be written down: it is of a class that only the user's program knows."""


def digest_of(kernel: Kernel, initial: Any, seed: int, chains: int) -> str | None:
    """What a fit is a function of; None if that cannot be told without computing it."""
    model = describe_model(kernel, initial)
    if any(what not in GENERATORS or place not in model[INTERNALS] for place, what in model[OPAQUE].items()):
        return None
    return hashlib.sha256(json.dumps([model, seed, chains], sort_keys=True).encode()).hexdigest()


def read_fitted(directory: Path, digest: str, before: Any) -> Any:
    """What a fit of ``before`` has made; None if that is not known here."""
    if not (directory / FITTED).is_file():
        return None
    try:
        arrays = read_arrays(directory / FITTED)
        meta = json.loads(arrays["meta"].tobytes())
        return _decoded(meta["fitted"], arrays, before) if meta["digest"] == digest else None
    except (DamagedError, ImportError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return None  # damaged, or of another version: it is fitted anew, and the run compares what comes of it


def write_fitted(directory: Path, digest: str, before: Any, fitted: Any, changed: str) -> None:
    """Commit what a fit of ``before`` has made, unless the directory holds a run that may refuse it."""
    if (directory / NAME).exists() and changed == REFUSE:
        return
    arrays: dict[str, np.ndarray] = {}
    try:
        meta = {"digest": digest, "fitted": _encoded(fitted, arrays, _places(before, []))}
    except UnknownValueError:
        return
    make_directory(directory, "directory")
    if not (directory / NAME).exists():
        require_empty(directory)
    write_arrays(directory / FITTED, arrays | {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)})


def _is_ours(value: object) -> bool:
    kind = type(value)
    return dataclasses.is_dataclass(kind) and kind.__module__.startswith("lockstep.") and "<" not in kind.__qualname__


def _children(value: Any) -> list[Any]:
    """What a part of ours or a container holds, in order."""
    if _is_ours(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return list(value.values()) if type(value) is dict else list(value) if type(value) in (list, tuple) else []


def _places(value: Any, path: list[int]) -> dict[int, list[int]]:
    """Where everything inside of a value stands, by identity."""
    found = {id(value): path}
    for number, child in enumerate(_children(value)):
        found |= _places(child, [*path, number])
    return found


def _encoded(value: Any, arrays: dict[str, np.ndarray], places: dict[int, list[int]]) -> Any:
    kind = type(value)
    if kind in SIMPLE:
        return {"is": value}
    if id(value) in places:
        return {"at": places[id(value)]}
    if isinstance(value, (np.ndarray, np.generic, jax.Array)) and not is_key(value) and value.dtype.kind in "fiub":
        arrays[name := f"numbers.{len(arrays)}"] = np.asarray(value)
        return {"array": name}
    inner = [_encoded(child, arrays, places) for child in _children(value)]
    if _is_ours(value):
        return {"part": [kind.__module__, kind.__name__], "holds": inner}
    if kind in (list, tuple):
        return {kind.__name__: inner}
    if kind is dict and all(type(key) is str for key in value):
        return {"keys": list(value), "holds": inner}
    raise UnknownValueError(kind.__name__)


def _decoded(node: Any, arrays: dict[str, np.ndarray], before: Any) -> Any:
    match node:
        case {"is": value}:
            return value
        case {"at": path}:
            for number in path:
                before = _children(before)[number]
            return before
        case {"array": name}:
            return arrays[name]
        case {"list": inner}:
            return [_decoded(one, arrays, before) for one in inner]
        case {"tuple": inner}:
            return tuple(_decoded(one, arrays, before) for one in inner)
        case {"keys": keys, "holds": inner}:
            return dict(zip(keys, (_decoded(one, arrays, before) for one in inner), strict=True))
        case {"part": [str(module), str(name)], "holds": inner} if module.startswith("lockstep."):
            kind = getattr(importlib.import_module(module), name)
            made = object.__new__(kind)
            for field, one in zip(dataclasses.fields(kind), inner, strict=True):
                object.__setattr__(made, field.name, _decoded(one, arrays, before))
            return made
    raise ValueError(f"{node!r} is nothing that a fit has made")
