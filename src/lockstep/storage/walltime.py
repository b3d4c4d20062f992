"""The time of the clock that a run took, however many workers computed it and however often it was begun."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lockstep.storage.segments import Segment


def wall_seconds(parts: Sequence[Sequence[Segment]]) -> float:
    """How long at least one group of chains was being computed.

    Segments say from when to when they were computed: what overlaps counts once, and the time between two calls not at
    all. Where a segment does not say, the longest of the groups counts.
    """
    spans = [segment.span for segments in parts for segment in segments]
    if len(parts) == 1 or any(span is None for span in spans):
        return max((segments[-1].totals.seconds for segments in parts if segments), default=0.0)
    return covered(span for span in spans if span is not None)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """The length of what intervals cover together.

    >>> covered([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0), (5.2, 5.5)])
    4.0
    """
    total, until = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
