"""An estimator of a likelihood's D as one of a posterior's: the prior is known, and added exactly."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.declared import passing_on
from lockstep.core.estimator import Estimate, Estimator, estimated
from lockstep.core.evaluation import Evaluation
from lockstep.core.parts import part
from lockstep.core.shown import Placement
from lockstep.core.trees import FLAG, choose
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.samples import Pooled, influences, pooled, taken, with_count

ZERO = np.float64(0.0)


@part
@passing_on(
    "inner",
    "name count is_random is_of_keys exact_when error when_stuck when_violated can_be_violated gains_by_correlation "
    "opened",
)
class WithinEvaluation(Evaluation):
    """``log p(u) + log L̂(x(u))``: an evaluation of a likelihood as one of a posterior."""

    placement: Placement
    inner: Evaluation

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.inner.noise(key, self.placement.values(position), shape)

    def __call__(self, noise: Tree, position: Position) -> Array:
        values, log_prior = self.placement.evaluate(position)
        if isinstance(log_prior, float) and log_prior == -np.inf:  # interpreted: nothing more is called
            return np.float64(-np.inf)
        return choose(log_prior == -np.inf, -np.inf, log_prior + self.inner(noise, values))

    def is_violated(self, noise: Tree, position: Position) -> Array:
        values, log_prior = self.placement.evaluate(position)
        if isinstance(log_prior, float) and log_prior == -np.inf:
            return np.False_
        return self.inner.is_violated(noise, values) & (log_prior > -np.inf)

    def require_start(self, candidates: Position) -> None:
        self.inner.require_start(jax.vmap(self.placement.values)(candidates))

    def blame(self, position: Position, noise: Tree = None) -> str:
        return self.inner.blame(self.placement.values(position), noise)

    def cure(self, positions: Position) -> str | None:
        return self.inner.cure(jax.vmap(self.placement.values)(positions))

    @property
    def with_count(self) -> Any:
        if (make := self.inner.with_count) is None:
            return None
        return lambda count: WithinEvaluation(self.placement, make(count))

    shown = property(lambda self: self.placement)


@part
@passing_on("estimator", "count batches fewest unit sides has_variance is_variance_known")
class Within(Estimator):
    """``log p(u') - log p(u) + D̂(x(u), x(u'))``: the cumulants are those of D̂.

    Where the prior p is 0 the estimate is minus infinity, whatever the likelihood is.
    """

    placement: Placement
    estimator: Estimator

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.estimator.noise(key, self.placement.values(position), shape)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        here, there, change, is_outside = self._placed(position, candidate)
        if type(is_outside) is FLAG and is_outside:
            return Estimate(np.float64(-np.inf), ZERO, ZERO, ZERO, self.count)
        found = estimated(self.estimator, noise, here, there)
        return found._replace(value=choose(is_outside, -np.inf, found.value + change))

    def value(self, noise: Tree, position: Position, candidate: Position) -> Array:
        """The estimate alone, which may cost less."""
        here, there, change, is_outside = self._placed(position, candidate)
        if type(is_outside) is FLAG and is_outside:
            return np.float64(-np.inf)
        return choose(is_outside, -np.inf, self.estimator.value(noise, here, there) + change)

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        here, there, change, is_outside = self._placed(position, candidate)
        found = pooled(self.estimator, noise, here, there)
        value = choose(is_outside, -np.inf, found.estimate.value + change)
        return found._replace(estimate=found.estimate._replace(value=value))

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[Within, Any]:
        here, there, *_ = self._placed(position, candidate)
        estimator, samples = taken(self.estimator, key, here, there, estimates)
        return Within(self.placement, estimator), samples

    def influences(self, samples: Tree, position: Position, candidate: Position) -> Array:
        here, there, *_ = self._placed(position, candidate)
        return influences(self.estimator, samples, here, there)

    def _placed(self, position: Position, candidate: Position) -> tuple[Position, Position, Array, Array]:
        """The values here and there (outside the prior: here), the change of the log prior, and whether outside."""
        here, log_prior = self.placement.evaluate(position)
        there, log_prior_there = self.placement.evaluate(candidate)
        is_outside = log_prior_there == -np.inf
        return here, choose(is_outside, here, there), choose(is_outside, 0.0, log_prior_there - log_prior), is_outside

    @property
    def with_count(self) -> Any:
        if self.estimator.with_count is None:
            return None
        return lambda count: Within(self.placement, with_count(self.estimator, count))

    @property
    def evaluation(self) -> Evaluation | None:
        found = self.estimator.evaluation
        return None if found is None else WithinEvaluation(self.placement, found)

    shown = property(lambda self: self.placement)
