"""What a segment keeps of the last update before it, and the kind of machine that computed it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.engine.compiled import Output
from lockstep.storage.errors import DamagedError


class Witness(NamedTuple):
    """The last block of a run: the states before it, how many updates it took, and infos before and after it.

    ``past`` holds the leaves of the info of a draw that had begun (None if there was none), ``info`` those of the last
    draw. A block before a segment takes one update; only after an error it may have taken more.
    """

    state: Any
    steps: int
    past: Any
    info: Any


def last_info(output: Output) -> list[np.ndarray]:
    """The leaves of the info of the last draw of a block, of each chain."""
    return [np.array(leaf[:, -1]) for leaf in jax.tree.leaves(output.info)]


def require_alike(there: Any, here: Any, directory: Path | None) -> None:
    """Refuse leaves of infos that a directory holds, if they are not of this kernel."""
    if there is not None and here is not None:
        shapes = [[(leaf.shape, leaf.dtype) for leaf in leaves] for leaves in (there, here)]
        if shapes[0] != shapes[1]:
            raise DamagedError(f"the last segment of {directory} holds no info of this kernel")


def processor() -> str:
    """The kind and number of processors, by which results may differ in their last digits."""
    name = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{count} × {name or platform.machine()}"
