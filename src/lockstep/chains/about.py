"""What a reader of a run without its kernel would like to know of it."""

from __future__ import annotations

from typing import Any


def about(kernel: Any) -> dict[str, Any]:
    """What a reader without the kernel would like to know of it: its text, when it is exact, or its error."""
    error = getattr(getattr(getattr(kernel, "ratio", None), "rule", None), "error", None)
    exact_when = getattr(kernel, "exact_when", None)
    return {"kernel": repr(kernel), "exact_when": exact_when, "error": error, "remedy": remedy(kernel)}


def remedy(kernel: Any) -> str:
    """What helps a kernel whose chains stick, from what its parts say of themselves (``when_stuck``)."""
    inner = getattr(kernel, "kernels", None)
    if inner is not None:
        return "; or ".join(dict.fromkeys(map(remedy, inner)))
    proposal = getattr(kernel, "proposal", None)
    steps = (
        "take candidates from a law closer to the target, with heavier tails"
        if getattr(proposal, "is_independent", False)
        else "take smaller steps"
        + (", or let ls.sample(..., adapt=True) find their size" if hasattr(proposal, "adapted") else "")
    )
    own = getattr(getattr(kernel, "ratio", None), "when_stuck", None)
    return f"{own}; or {steps}" if own else steps
