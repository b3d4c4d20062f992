"""Starts that users give as values of named parameters, or leave to the prior, as positions on which chains walk."""

from __future__ import annotations

from typing import Any

from lockstep.core.kernel import Kernel
from lockstep.starts.start import start_of


def placed(kernel: Kernel, initial: Any) -> Any:
    """Where chains walk from, for what a user gave as ``initial``; None: the kernel says, or it is refused."""
    shown, is_left_out = kernel.shown, initial is None
    if is_left_out:
        initial = law_of(kernel)
    if shown is None or shown.unconstrained is None:
        return initial
    start = start_of(initial)
    return initial if start.is_walked else start.placed(shown, is_left_out)


def law_of(kernel: Kernel) -> Any:
    """The law of the values at which chains begin, if the user did not say."""
    if kernel.shown is None or kernel.shown.draw is None:
        raise ValueError(
            "initial is None; give a position (only kernels of ls.Parameters draw one from their priors themselves)"
        )
    kernel.shown.require_law()
    return kernel.shown.draw
