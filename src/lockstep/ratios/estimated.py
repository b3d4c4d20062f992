"""Ratios of an estimate of D under a rule: naive, penalty, corrected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.estimator import Estimator, estimated
from lockstep.core.parts import part, set_field
from lockstep.core.ratio import Decision, Probed, Ratio, is_no_ratio, surely_below
from lockstep.core.rule import Rule
from lockstep.core.types import Array, Key, Memory, Position, Shape
from lockstep.estimators.samples import as_estimator


@part
class Estimated(Ratio):
    """``log_q + rule(estimate)``; nothing is remembered."""

    estimator: Estimator
    rule: Rule

    is_memory_random = False
    remembered = ()

    def __post_init__(self) -> None:
        set_field(self, "estimator", as_estimator(self.estimator, "estimator"))
        set_field(self, "rule", adopted(self.rule, Rule, "rule", "a rule such as ls.rules.corrected"))
        if not self.rule.suits(self.estimator):
            raise ValueError(
                f"estimator {self.estimator!r} cannot estimate its own variance from count=1; {self.rule.name} needs "
                f"it: take count >= 2, or state the variance with ls.estimators.known_variance"
            )

    @property
    def shown(self) -> Any:
        return self.estimator.shown

    @property
    def when_stuck(self) -> str | None:
        """A penalty grows with the variance of the estimate."""
        return "take more samples (count)" if self.rule.needs_variance else None

    @property
    def exact_when(self) -> str | None:
        return self.rule.exact_when(self.estimator)

    @property
    def error(self) -> str | None:
        return self.rule.error

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.estimator.noise(key, position, shape)

    def init(self, noise: Any, position: Position) -> Memory:
        return ()

    def __call__(
        self, noise: Any, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        if self.rule.reads_value_alone:
            return Decision(log_proposal_ratio + self.estimator.value(noise, position, candidate), ())
        return Decision(log_proposal_ratio + self.rule(estimated(self.estimator, noise, position, candidate)), ())

    def least(self, accept: Array, memory: Memory, log_proposal_ratio: Array) -> Array:
        # The one sample is the estimate, and the log ratio is that of the proposal and this.
        is_sample = self.estimator.is_sample and self.rule.reads_value_alone
        return surely_below(accept, -log_proposal_ratio) if is_sample else -np.inf

    def probe(self, noise: Any, position: Position, candidates: Position) -> Iterator[Probed]:
        estimates = jax.vmap(self.estimator, in_axes=(0, None, 0))(noise, position, candidates)
        yield Probed("estimator returned value", estimates.value, is_no_ratio, "it must be a number or minus infinity")
        if self.rule.needs_variance:
            should = "a variance must be finite and non-negative"
            yield Probed("estimator returned variance", estimates.variance, _is_no_variance, should)
            yield Probed("estimator returned bias", estimates.bias, _is_infinite, "a bias must be finite")


def _is_no_variance(values: Array) -> Array:
    return ~((values >= 0) & (values < np.inf))


def _is_infinite(values: Array) -> Array:
    return ~np.isfinite(values)
