"""What a reader of a run without its kernel would like to know of it."""

from __future__ import annotations

from typing import Any

from lockstep.core.kernel import Kernel


def about(kernel: Kernel | None) -> dict[str, Any]:
    """What a reader without the kernel would like to know of it: its text, when it is exact, or its error."""
    if kernel is None:
        return {"kernel": "None", "exact_when": None, "error": None, "remedy": "take smaller steps"}
    return {
        "kernel": repr(kernel),
        "exact_when": kernel.exact_when,
        "error": kernel.error,
        "remedy": kernel.when_stuck,
    }
