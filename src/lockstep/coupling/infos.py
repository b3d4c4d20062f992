"""What two kernels on one noise tell of an update: where they separate, and how probably."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.core.kernel import Info
from lockstep.core.types import Array, Tree


class CoupledInfo(NamedTuple):
    """What happened to both chains.

    ``was_equal`` and ``is_equal``: whether they were equal before the update, and are after it. ``marks``: they were
    equal and decided otherwise, so that they separate. ``gaps``: the probability of that,
    ``abs(α₁ - α₂)``, where they were equal, else 0. A candidate that is the position itself separates nothing.
    """

    first: Info
    second: Info
    marks: Array
    gaps: Array
    was_equal: Array
    is_equal: Array

    @property
    def kind(self) -> str:
        """What the figures of a run are about."""
        return "coupled"

    @property
    def summed(self) -> tuple[str, ...]:
        """What is added up over the interval of a thinned draw."""
        return ("gaps",)

    @property
    def walking(self) -> tuple[Info, ...]:
        """What happened to the chains that walk."""
        return self.first, self.second

    @property
    def judged(self) -> Info | None:
        """What happened to a chain of the kernel that is judged, the second, if it has one."""
        return self.second


class ShadowedInfo(NamedTuple):
    """What happened to the exact chain, and what the approximate kernel would have done in its place.

    ``marks``: the two decisions differ (the paper's B_t). ``gaps``: the probability of that, ``abs(α₁ - α₂)``. Both are
    0 where the candidate is the position itself.
    """

    exact: Info
    approximate: Info
    marks: Array
    gaps: Array

    @property
    def kind(self) -> str:
        """What the figures of a run are about."""
        return "shadowed"

    @property
    def summed(self) -> tuple[str, ...]:
        """What is added up over the interval of a thinned draw."""
        return ("gaps",)

    @property
    def walking(self) -> tuple[Info, ...]:
        """What happened to the one chain that walks."""
        return (self.exact,)

    @property
    def judged(self) -> Info | None:
        """The kernel that is judged has no chain of its own."""
        return None

    @property
    def is_equal(self) -> Array | None:
        """There is but one chain."""
        return None


class LaggedInfo(NamedTuple):
    """What happened to both chains, and whether they are equal after the update.

    While the second waits it accepts nothing; once the two are equal it does what the first does.
    """

    first: Any
    second: Any
    is_equal: Array

    @property
    def kind(self) -> str:
        """What the figures of a run are about."""
        return "lagged"


Marked = CoupledInfo | ShadowedInfo


def kind_of(info: Tree) -> str:
    """What a run with this info is one of: ``single``, ``coupled``, ``shadowed`` or ``lagged`` chains."""
    return info.kind if isinstance(info, Marked | LaggedInfo) else "single"
