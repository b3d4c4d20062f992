"""Ratios of an estimate of D under a rule: naive, penalty, corrected."""

from __future__ import annotations

from typing import Any

from lockstep.kernel import require_protocol
from lockstep.part import part
from lockstep.rules import Rule
from lockstep.types import Array, Estimate, Estimator, Key, Memory, Position, Shape


@part
class Estimated:
    """``log_q + rule(estimate)``; nothing is remembered."""

    estimator: Estimator
    rule: Rule

    is_memory_random = False

    def __post_init__(self) -> None:
        require_protocol(
            self.estimator, Estimator, "estimator", "an estimator such as ls.estimators.mean(sample, count)"
        )
        if self.rule.needs_variance and not getattr(self.estimator, "has_variance", True):
            raise ValueError(
                f"estimator {self.estimator!r} cannot estimate its own variance from count=1; {self.rule.name} needs "
                f"it: take count >= 2, or state the variance with ls.estimators.known_variance"
            )

    @property
    def exact_when(self) -> str | None:
        return self.rule.exact_when(self.estimator)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.estimator.noise(key, position, shape)

    def init(self, noise: Any, position: Position) -> Memory:
        return ()

    def __call__(
        self, noise: Any, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> tuple[Array, Memory]:
        estimate = self.estimator(noise, position, candidate)
        if not isinstance(estimate, Estimate):
            raise TypeError(f"estimator returned {type(estimate).__name__}; it must return a lockstep Estimate")
        return log_proposal_ratio + self.rule(estimate), ()
