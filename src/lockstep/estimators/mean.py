"""The average of samples."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.estimator import Estimate
from lockstep.core.parts import part
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators.samples import (
    Moments,
    OfSamples,
    Pooled,
    Samples,
    as_moments,
    is_row,
    mean_of,
    moments,
    pooled_moments,
    samples_of,
)
from lockstep.host.functions import Scalar
from lockstep.host.moments import FEW, moments_of_few

ZERO = np.float64(0.0)


@part
class Mean(OfSamples):
    """``D̂`` = average of the samples: unbiased, variance s²/m, third cumulant k₃/m²."""

    samples: Samples

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        samples = self.samples(noise, position, candidate)
        return average_of(samples) if is_row(samples) else average(as_moments(samples, "mean"), self.count)

    @property
    def is_sample(self) -> bool:
        return self.count == 1

    def value(self, noise: Tree, position: Position, candidate: Position) -> Array:
        """The estimate alone, without its cumulants."""
        samples = self.samples(noise, position, candidate)
        return mean_of(samples) if is_row(samples) else as_moments(samples, "mean").mean

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        groups = jax.vmap(self._moments, in_axes=(0, None, None))(noise, position, candidate)
        estimate = average(pooled_moments(groups, self.count), len(groups.mean) * self.count)
        return Pooled(estimate, groups.mean - estimate.value, estimate.third)

    def _moments(self, noise: Tree, position: Position, candidate: Position) -> Moments:
        return as_moments(self.samples(noise, position, candidate), "mean")


def average(of: Moments, count: int) -> Estimate:
    """The estimate that the moments of ``count`` independent samples give."""
    return Estimate(of.mean, ZERO, of.variance / count, of.third / count**2, count)


def average_of(numbers: Array) -> Estimate:
    """The same from the samples themselves."""
    count = len(numbers)
    if count > FEW or not is_row(numbers):
        return average(moments(numbers), count)
    mean, variance, third = moments_of_few(numbers.tolist())
    return Estimate(np.float64(mean), ZERO, np.float64(variance / count), np.float64(third / count**2), count)


def mean(sample: Any, count: int, draw: Any = None) -> Mean:
    """Estimate D by the average of ``count`` noisy looks at it.

    Parameters
    ----------
    sample
        ``sample(noise, position, candidate)``: one of the m samples, a number whose expectation is D. Without a
        ``draw``, ``noise`` is a random key. None: the draws themselves are the samples.
    count
        The number of samples m.
    draw
        ``draw(key, count)`` makes the noise of ``count`` independent samples at once, a row each; it does not see the
        state. About four times faster than a key for each sample.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> def one_sample(noise, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) + noise
    >>> noisy = ls.estimators.mean(one_sample, count=32, draw=lambda key, count: jr.normal(key, (count,)))
    >>> noisy.with_count(8).count
    8
    """
    return Mean(samples_of(Scalar, sample, count, draw, "mean"))
