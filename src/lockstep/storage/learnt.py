"""What a warm-up has learnt, on disk: numbers of proposals, so that nobody needs to learn them a second time.

The warm-up of an adapted run has a directory of its own inside of the run's, ``warmup``, with a ``run.json`` and
segments like any run. Beside them ``learnt.npz`` holds the proposals after the last window of updates, and at the end
where the chains stand; it is written anew after each window, whole or not at all. Numbers are kept, not what they were
computed from: another type of processor would round differently.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.engine.totals import Totals
from lockstep.storage.archive import read_arrays, write_arrays
from lockstep.storage.errors import DamagedError
from lockstep.storage.segments import PATTERN, totals_of

NAME = "learnt.npz"


class Learnt(NamedTuple):
    """What is known after some windows of a warm-up.

    Attributes
    ----------
    windows
        How many windows it was learnt from.
    log_steps
        The logarithms of the scales, one a kernel.
    numbers
        The leaves of all proposals that learn.
    positions
        The leaves of where the chains stand; empty before the end of the warm-up.
    totals
        Counts of the updates so far.
    """

    windows: int
    log_steps: np.ndarray
    numbers: list[np.ndarray]
    positions: list[np.ndarray]
    totals: Totals


def write_learnt(directory: Path, run: str, learnt: Learnt) -> None:
    """Commit what the warm-up of the run with this digest has learnt."""
    meta = {"run": run, "windows": learnt.windows, "totals": dataclasses.asdict(learnt.totals)}
    arrays = {f"numbers.{i}": np.asarray(leaf) for i, leaf in enumerate(learnt.numbers)}
    arrays |= {f"positions.{i}": np.asarray(leaf) for i, leaf in enumerate(learnt.positions)}
    arrays |= {"log_steps": learnt.log_steps, "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)}
    write_arrays(directory / NAME, arrays)


def read_learnt(directory: Path, run: str | None = None) -> Learnt | None:
    """What was learnt so far, of a run with this digest (None: of any); None if there is nothing yet."""
    path = directory / NAME
    if not path.exists():
        return None
    try:
        arrays = read_arrays(path)
        meta = json.loads(arrays["meta"].tobytes())
        if run is not None and meta["run"] != run:
            raise ValueError("it belongs to another run than run.json beside it")
        windows = meta["windows"]
        if not isinstance(windows, int) or windows < 1:
            raise ValueError(f"it was learnt from {windows!r} windows")
        numbers, positions = (
            [arrays[f"{name}.{i}"] for i in range(sum(key.startswith(f"{name}.") for key in arrays))]
            for name in ("numbers", "positions")
        )
        return Learnt(windows, arrays["log_steps"], numbers, positions, totals_of(meta["totals"]))
    except (DamagedError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged(directory, str(error)) from None


def forget_draws(directory: Path) -> None:
    """Remove the draws of a warm-up that is over: nothing will be learnt from them any more."""
    for path in directory.iterdir():
        if PATTERN.fullmatch(path.name):
            path.unlink()


def filled(template: Any, leaves: list[np.ndarray], directory: Path) -> Any:
    """A tree like ``template`` with the leaves that were read."""
    there, structure = jax.tree.flatten(template)
    if len(there) != len(leaves):
        raise damaged(directory, f"{NAME} holds {len(leaves)} arrays, not {len(there)}")
    numbers = [new.item() if isinstance(old, float) else new for old, new in zip(there, leaves, strict=True)]
    return jax.tree.unflatten(structure, numbers)


def damaged(directory: Path, what: str) -> DamagedError:
    """The error of a directory from which a warm-up cannot go on."""
    return DamagedError(
        f"{directory}: the warm-up cannot go on from here ({what}). Nothing was changed. Move this directory away and "
        f"call again: the warm-up is made anew, and learns the same"
    )
