"""What an advice may cost, in calls of the estimator and in seconds."""

from __future__ import annotations

import math

from lockstep.core.arguments import positive, whole

SHARE = 10  # one call for so many of the run that is planned
SECONDS = 60.0  # for estimators that are compiled, whose calls are many and cheap


class Budget:
    """Calls of the estimator that an advice may make (one call is one estimate), and seconds that it may take.

    By default a tenth of the updates of the run that is planned if a black box is called, which may take minutes; of
    compiled estimators as many calls as serve, in a minute at the most.
    """

    def __init__(self, calls: int | None, seconds: float | None, updates: int, is_black: bool) -> None:
        if calls is None and seconds is None:
            calls, seconds = (updates // SHARE, None) if is_black else (None, SECONDS)
        self.calls = math.inf if calls is None else whole(calls, "calls", 0)
        self.seconds = math.inf if seconds is None else positive(seconds, "seconds")
        self.spent = 0
        self.seconds_spent = 0.0  # as far as the estimator takes them: not for compilation
        self.seconds_per_call = 0.0  # until it is known

    @property
    def is_timed(self) -> bool:
        return self.seconds < math.inf

    def spend(self, calls: int, size: float = 1.0) -> None:
        """Count calls, each of which takes ``size`` times as long as one of the estimator as it was given."""
        self.spent += calls
        self.seconds_spent += calls * size * self.seconds_per_call

    def left(self, share: float = 1.0, size: float = 1.0) -> float:
        """How many calls there are left in a share of the budget."""
        in_time = math.inf
        if self.seconds_per_call > 0:
            in_time = (self.seconds - self.seconds_spent) / (size * self.seconds_per_call)
        return max(0.0, share * min(self.calls - self.spent, in_time))

    def __str__(self) -> str:
        limits = [f"{self.calls:,} calls of the estimator"] if self.calls < math.inf else []
        limits += [f"{self.seconds:g} seconds"] if self.is_timed else []
        return " and ".join(limits)
