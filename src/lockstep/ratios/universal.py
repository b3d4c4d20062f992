"""The universal rule: exact for bounded errors of unknown variance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import positive
from lockstep.core.estimator import Estimator, estimated
from lockstep.core.parts import part, set_field
from lockstep.core.ratio import Decision, Probed, Ratio, is_no_ratio
from lockstep.core.trees import choose, namespace
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree
from lockstep.estimators.samples import as_estimator


@part
class Universal(Ratio):
    """``min(log_q + D̂, D̂₀) - bound``: D̂₀ estimates the ratio of the position with itself, from noise of its own."""

    estimator: Estimator
    bound: Array

    is_memory_random = False
    remembered = ()
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
    shown = property(lambda self: self.estimator.shown)

    def __post_init__(self) -> None:
        set_field(self, "estimator", as_estimator(self.estimator, "estimator"))
        set_field(self, "bound", positive(self.bound, "bound"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        key_ratio, key_self = random.split(key)
        return self.estimator.noise(key_ratio, position, shape), self.estimator.noise(key_self, position, shape)

    def init(self, noise: Tree, position: Position) -> Memory:
        return ()

    def __call__(
        self, noise: Tree, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        noise_ratio, noise_self = noise
        log_ratio = log_proposal_ratio + estimated(self.estimator, noise_ratio, position, candidate).value
        error = estimated(self.estimator, noise_self, position, position).value
        xp = namespace(error)
        # The minimum must not hide an infinite estimate, which decides nothing.
        smaller = choose(log_ratio < np.inf, xp.minimum(log_ratio, error), log_ratio)
        return Decision(smaller - self.bound, (), error > self.bound)

    def probe(self, noise: Tree, position: Position, candidates: Position) -> Iterator[Probed]:
        estimates = jax.vmap(self.estimator, in_axes=(0, None, 0))(noise[0], position, candidates)
        yield Probed("estimator returned value", estimates.value, is_no_ratio, "it must be a number or minus infinity")
