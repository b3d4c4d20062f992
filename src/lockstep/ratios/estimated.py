"""Ratios of an estimate of D under a rule: naive, penalty, corrected."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.core.parts import part
from lockstep.core.types import Array, Estimate, Estimator, Key, Memory, Position, Shape
from lockstep.estimators.samples import require_estimator
from lockstep.ratios.rules import PlugIn, Rule


@part
class Estimated:
    """``log_q + rule(estimate)``; nothing is remembered."""

    estimator: Estimator
    rule: Rule

    is_memory_random = False

    def __post_init__(self) -> None:
        require_estimator(self.estimator, "estimator")
        if not callable(self.rule) or not hasattr(self.rule, "needs_variance"):
            raise TypeError(f"rule must be a rule such as ls.rules.corrected; got {self.rule!r}")
        if self.rule.needs_variance and not getattr(self.estimator, "has_variance", True):
            raise ValueError(
                f"estimator {self.estimator!r} cannot estimate its own variance from count=1; {self.rule.name} needs "
                f"it: take count >= 2, or state the variance with ls.estimators.known_variance"
            )

    @property
    def when_stuck(self) -> str | None:
        """A penalty grows with the variance of the estimate."""
        return "take more samples (count)" if self.rule.needs_variance else None

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
        if isinstance(self.rule, PlugIn) and hasattr(self.estimator, "value"):
            return log_proposal_ratio + self.estimator.value(noise, position, candidate), ()
        return log_proposal_ratio + self.rule(estimated(self.estimator, noise, position, candidate)), ()


def estimated(estimator: Any, noise: Any, position: Position, candidate: Position) -> Estimate:
    """What an estimator returns, refused if it is no estimate of one number."""
    estimate = estimator(noise, position, candidate)
    if not isinstance(estimate, Estimate):
        raise TypeError(
            f"estimator returned {type(estimate).__name__}; it must return "
            f"ls.Estimate(value, bias, variance, third, count)"
        )
    if type(estimate.value) is type(estimate.bias) is type(estimate.variance) is np.float64:
        return estimate
    for name in ("value", "bias", "variance"):
        if np.ndim(getattr(estimate, name)):
            raise ValueError(
                f"estimator returned {name} of shape {np.shape(getattr(estimate, name))}; it must be one number"
            )
    return estimate
