"""The normal estimate that is coupled to another estimator's noise by its normal score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.core.arguments import positive, whole
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part, static
from lockstep.core.trees import vectorize
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.host.draws import draw_bulk
from lockstep.host.functions import Function, Scalar, wrapped


@part
class Gaussianized(Estimator):
    """``y = D + √variance · score(noise)``, a score that is standard normal."""

    difference: Scalar
    score: Scalar
    variance: Array
    draw: Any
    count: int = static()

    is_variance_known = True

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Array:
        return vectorize(self.score, len(shape))(draw_bulk(self.draw, key, self.count, shape))

    def __call__(self, noise: Array, position: Position, candidate: Position) -> Estimate:
        value = self.difference(position, candidate) + self.variance**0.5 * noise
        return Estimate(value, np.float64(0.0), self.variance, np.float64(0.0), self.count)

    def with_count(self, count: int) -> Gaussianized:
        """The same with another number of samples; the variance is taken to fall as 1/m."""
        count = whole(count, "count", 1)
        return Gaussianized(self.difference, self.score, self.variance * self.count / count, self.draw, count)


def gaussianized(
    difference: Any, score: Any, variance: float, count: int, draw: Callable[..., Any] | None = None
) -> Gaussianized:
    """A normal estimate of D from the noise of another estimator: the paper's coupling ``y = D + (σ/√m) Φ⁻¹(G_m(x))``.

    It needs D itself, so it serves studies: drawn from the same noise, it couples the exact penalty method to an
    approximate kernel.

    Parameters
    ----------
    difference
        ``difference(position, candidate)``: D.
    score
        ``score(noise)``: the normal score Φ⁻¹(G_m) of an estimate, from the noise of all m samples. It is computed
        with the noise, once.
    variance
        The variance of y: σ²/m, with σ² the asymptotic variance of √m (D̂ - D).
    count, draw
        As in `mean`, and the same as in the estimator that it is to be coupled with.
    """
    return Gaussianized(
        wrapped(Scalar, difference, "difference of gaussianized"),
        wrapped(Scalar, score, "score of gaussianized"),
        positive(variance, "variance of gaussianized"),
        None if draw is None else wrapped(Function, draw, "draw of gaussianized"),
        whole(count, "count of gaussianized", 1),
    )
