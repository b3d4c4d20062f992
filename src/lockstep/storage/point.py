"""Where a run is, and what a segment keeps of the last updates before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from lockstep.core.types import Tree
from lockstep.engine.thinning import Thinning
from lockstep.engine.totals import Totals
from lockstep.storage.errors import DamagedError


class Witness(NamedTuple):
    """The last block of a run: the states and the thinning before it, how many updates it took, the info after it.

    ``info`` holds the leaves of the info of its last draw. A block before a segment takes one update; only after an
    error it may have taken more.
    """

    state: Any
    steps: int
    thinning: Thinning
    info: Any


class Point(NamedTuple):
    """Where a run is: updates of each chain, states, the draw that has begun, counts, and the last block."""

    step: int
    state: Any
    thinning: Thinning
    totals: Totals
    witness: Witness | None = None


def require_alike(there: Tree, here: Tree, directory: Path | None) -> None:
    """Refuse leaves of infos that a directory holds, if they are not of this kernel."""
    if there is not None and here is not None:
        shapes = [[(leaf.shape, leaf.dtype) for leaf in leaves] for leaves in (there, here)]
        if shapes[0] != shapes[1]:
            raise DamagedError(f"the last segment of {directory} holds no info of this kernel")
