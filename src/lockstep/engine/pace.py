"""How long blocks are: about a second each, so that a run can be stopped, shown and written."""

from __future__ import annotations

FIRST_STEPS = 1  # of each chain: one update may take minutes
SECONDS_PER_BLOCK = 1.0


class Pace:
    """How many steps the next block may take.

    Nothing is known of the first block, so that it takes a single step; each block that was timed tells how many the
    next may take. Draws do not depend on where blocks end.
    """

    def __init__(self) -> None:
        self.steps = FIRST_STEPS

    def learn(self, steps: int, seconds: float) -> None:
        """A block of so many steps took so long."""
        self.steps = max(1, int(steps * SECONDS_PER_BLOCK / max(seconds, 1e-9)))
