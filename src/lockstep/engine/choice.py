"""Which driver a kernel needs: compiled, or interpreted where there are black boxes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from lockstep.engine import compiled, interpreted
from lockstep.host.boxes import is_interpreted


def driver_of(kernel: Any) -> ModuleType:
    """The module whose ``advance(kernel, chain_keys, state, block, cells=, is_thinned=)`` takes a block of steps.

    Both modules have ``init``, ``cells_per_block``, ``compilations``, ``ARRAYS``, ``BEGINNING``, ``TRIAL_STEPS``.
    A state is all that a chain needs to go on from any step.
    """
    return interpreted if is_interpreted(kernel) else compiled
