"""When a run is given up: no ratio was valid in its first updates, or every evaluation raised."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.types import Tree
from lockstep.engine.bad_ratios import require_ratios
from lockstep.engine.block import Block
from lockstep.engine.totals import Totals

FEWEST_FAILURES = 100  # that tell that a function always fails


class Trial:
    """The first steps of a run, in which at least one log ratio must be a number."""

    def __init__(self, kernel: Kernel, steps: int) -> None:
        self.kernel, self.steps = kernel, steps
        self.infos: list[Any] = []

    def see(self, block: Block, state: Positioned, info: Tree) -> None:
        """Look at a block; raise if it ends the trial, and no ratio was valid."""
        if block.start >= self.steps:
            return
        self.infos.append(info)
        if block.start + block.steps >= self.steps:
            whole = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *self.infos)
            require_ratios(self.kernel, state, whole)


def require_success(totals: Totals, is_last: bool) -> None:
    """Raise if every evaluation has failed, of a hundred or of the whole run."""
    if totals.failed >= totals.ratios and (is_last or totals.ratios >= FEWEST_FAILURES):
        raise RuntimeError(
            f'on_error is "reject", but every one of {totals.failed:,} evaluations raised an exception, so that no '
            f"chain can move. The first of them:\n{totals.failure}"
        )
