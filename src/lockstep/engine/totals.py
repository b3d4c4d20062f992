"""Running counts of a run: what progress and status show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from lockstep.core.types import Tree
from lockstep.coupling.infos import Marked
from lockstep.engine.bad_ratios import infos, total


@dataclasses.dataclass(frozen=True)
class Totals:
    """Counts over all chains since the first update, the warm-up included.

    Attributes
    ----------
    updates
        Updates of all chains together.
    ratios, accepted, bad
        Log ratios (in a `Cycle` several an update), how many of them accepted, and how many were NaN or plus
        infinity.
    bad_in_warmup
        Those of the bad ones that came in the warm-up.
    marks, gaps
        Separations of coupled kernels that happened, and their expected number; None for others.
    seconds
        Time spent, by the clock.
    failed, failure
        Candidates that were rejected because their evaluation raised an exception, and the first of the
        exceptions: a line that names it, and its traceback.
    """

    updates: int = 0
    ratios: int = 0
    accepted: int = 0
    bad: int = 0
    bad_in_warmup: int = 0
    marks: int | None = None
    gaps: float | None = None
    seconds: float = 0.0
    failed: int = 0
    failure: str | None = None

    def after(self, info: Tree, past: Any, updates: int, seconds: float, is_warmup: bool) -> Totals:
        """The totals after a block, whose info holds also what a draw had gathered before it (``past``)."""
        new, old = _counts(info), _counts(past)
        ratios = updates * sum(int(np.prod(leg.is_accepted.shape[2:])) for leg in infos(info))
        bad = ratios - (new["valid"] - old.get("valid", 0))
        return Totals(
            self.updates + updates,
            self.ratios + ratios,
            self.accepted + new["accepted"] - old.get("accepted", 0),
            self.bad + bad,
            self.bad_in_warmup + bad * is_warmup,
            (self.marks or 0) + new["marks"] - old.get("marks", 0) if "marks" in new else None,
            (self.gaps or 0.0) + new["gaps"] - old.get("gaps", 0.0) if "gaps" in new else None,
            self.seconds + seconds,
            self.failed,
            self.failure,
        )

    def with_failures(self, failed: int, failure: str | None) -> Totals:
        """The totals after a block in which so many evaluations raised."""
        return dataclasses.replace(self, failed=self.failed + failed, failure=self.failure or failure)

    @property
    def acceptance(self) -> float:
        return self.accepted / max(self.ratios, 1)

    @property
    def bad_share(self) -> float:
        return self.bad / max(self.ratios, 1)

    def __str__(self) -> str:
        text = f"acceptance {self.acceptance:.2f}  NaN or +inf {self.bad_share:.2%}"
        if self.failed:
            text += f"  raised {self.failed:,}"
        if self.gaps is not None:
            text += f"  separations {self.marks:,} (expected {self.gaps:,.1f})"
        return text


def _counts(info: Tree) -> dict[str, Any]:
    """Sums over all chains and draws of an info; empty for None."""
    if info is None:
        return {}
    counts: dict[str, Any] = {
        "accepted": sum(total(leg.is_accepted) for leg in infos(info)),
        "valid": sum(total(leg.is_valid) for leg in infos(info)),
    }
    if isinstance(info, Marked):
        counts |= {"marks": total(info.marks), "gaps": float(info.gaps.sum())}
    return counts


def failed_sentence(failed: int, failure: str | None) -> str:
    """What to say of evaluations that raised, and of the first error."""
    what = (failure or "an exception").partition("\n")[0]
    error = "".join(letter if letter.isprintable() else " " for letter in what)
    return f"{failed:,} evaluation{'s' * (failed > 1)} raised {error} and {'were' if failed > 1 else 'was'} rejected"


def together(parts: Iterable[Totals]) -> Totals:
    """The totals of groups of chains. Their seconds are added as well: computing time, not that of the clock."""
    parts = list(parts)

    def add(name: str) -> Any:
        values = [getattr(part, name) for part in parts if getattr(part, name) is not None]
        if not values:
            return Totals.__dataclass_fields__[name].default
        return values[0] if name == "failure" else sum(values)

    return Totals(**{field.name: add(field.name) for field in dataclasses.fields(Totals)})
