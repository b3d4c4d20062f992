"""The universal rule: exact for bounded errors of unknown variance."""

from __future__ import annotations

from typing import Any

import jax.random as jr
import numpy as np

from lockstep.core.arguments import positive
from lockstep.core.parts import choose, namespace, part, set_field
from lockstep.core.types import Array, Estimator, Key, Memory, Position, Shape
from lockstep.estimators.samples import require_estimator
from lockstep.ratios.estimated import estimated


@part
class Universal:
    """``min(log_q + D̂, D̂₀) - bound``: D̂₀ estimates the ratio of the position with itself, from noise of its own."""

    estimator: Estimator
    bound: Array

    is_memory_random = False
    when_stuck = "take more samples, so that a smaller bound holds"
    can_be_violated = True
    when_violated = (
        "{count} errors ({share}) were above the bound of the universal rule, which is exact only if none is; raise "
        "the bound"
    )
    exact_when = (
        "no error of the estimate is above `bound`, and the errors have the same law at every pair of positions, the "
        "pair of a position with itself included"
    )

    def __post_init__(self) -> None:
        require_estimator(self.estimator, "estimator")
        set_field(self, "bound", positive(self.bound, "bound"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        key_ratio, key_self = jr.split(key)
        return self.estimator.noise(key_ratio, position, shape), self.estimator.noise(key_self, position, shape)

    def init(self, noise: Any, position: Position) -> Memory:
        return ()

    def __call__(
        self, noise: Any, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> tuple[Array, Memory, Array]:
        noise_ratio, noise_self = noise
        log_ratio = log_proposal_ratio + estimated(self.estimator, noise_ratio, position, candidate).value
        error = estimated(self.estimator, noise_self, position, position).value
        xp = namespace(error)
        # The minimum must not hide an infinite estimate, which decides nothing.
        smaller = choose(log_ratio < np.inf, xp.minimum(log_ratio, error), log_ratio)
        return smaller - self.bound, (), error > self.bound
