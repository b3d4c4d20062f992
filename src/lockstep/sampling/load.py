"""``ls.load``: open a run directory, finished or living, from any process."""

from __future__ import annotations

from os import PathLike
from typing import Any

import jax

from lockstep.parameters.names import restored
from lockstep.results.run import Run
from lockstep.storage.directory import NAME, WARMUP, changes_in
from lockstep.storage.errors import DamagedError, NoRunError
from lockstep.storage.learnt import read_learnt
from lockstep.storage.status import read_parts, status


def load(directory: str | PathLike[str]) -> Run:
    """Open a run directory: of a run that is still going, the draws that it has committed.

    Nothing in the directory is executed or trusted: a damaged or hostile one gives a `RunDirectoryError`.

    Parameters
    ----------
    directory
        What was given to `ls.sample` as ``directory``, or one of the directories of a sweep.

    Returns
    -------
    Run
        Its ``kernel`` is None: functions are not kept on disk. ``about`` tells what is known of it.
    """
    found = status(directory)
    if not found.draws:
        raise NoRunError(f"{found.directory} holds no draws yet")
    output = read_parts(found.parts, found.draws)
    get = found.record.get
    chains = jax.tree.leaves(output.positions)[0].shape[0]
    if chains != get("chains"):
        raise DamagedError(f"{found.directory / NAME} says {get('chains')} chains, and the segments hold {chains}")
    adaptation = get("adaptation")
    learnt = read_learnt(found.directory / WARMUP) if adaptation else None
    return Run(
        *output,
        None,
        get("seed"),
        get("warmup") + adaptation,
        get("thin"),
        found.totals.seconds + (0.0 if learnt is None else learnt.totals.seconds),
        found.directory,
        found.record.about,
        changes_in(found.directory),
        found.totals.failed,
        found.totals.failure,
        found.record.about.get("began"),
        found.until,
        shown_in(found),
    )


def shown_in(found: Any) -> Any:
    """How the positions of a run are shown, as its directory says; None: as they are."""
    try:
        return restored(found.record.about.get("shown"))
    except ValueError as error:
        raise DamagedError(f"{found.directory / NAME} is no description of a run: {error}") from None
