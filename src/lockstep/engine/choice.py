"""Which engine a kernel needs: the compiled one, or the interpreted one where there are black boxes."""

from __future__ import annotations

from lockstep.core.kernel import Kernel
from lockstep.engine.compiled import COMPILED
from lockstep.engine.interface import Engine
from lockstep.engine.interpreted import INTERPRETED
from lockstep.host.boxes import is_interpreted


def engine_of(kernel: Kernel) -> Engine:
    """The engine that takes the steps of a kernel."""
    return INTERPRETED if is_interpreted(kernel) else COMPILED
