"""Estimators made of estimators."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import is_number
from lockstep.core.declared import passing_on
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.samples import Pooled, as_estimator, influences, pooled, taken, with_count
from lockstep.host.functions import Scalar, wrapped


@part
@passing_on("estimator", "shown count fewest batches unit sides is_sample value evaluation")
class KnownVariance(Estimator):
    """Another estimator's value, with a variance that is known rather than estimated."""

    estimator: Estimator
    variance: Any
    factor: float = 1.0

    is_variance_known = True

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.estimator.noise(key, position, shape)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        estimate = self.estimator(noise, position, candidate)
        variance = self.variance(position, candidate) if callable(self.variance) else self.variance
        return Estimate(estimate.value, np.float64(0.0), self.factor * variance, np.float64(0.0), estimate.count)

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, with the cumulants that they tell rather than those stated."""
        return pooled(self.estimator, noise, position, candidate)

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[KnownVariance, Any]:
        estimator, samples = taken(self.estimator, key, position, candidate, estimates)
        return KnownVariance(estimator, self.variance, self.factor), samples

    def influences(self, samples: Tree, position: Position, candidate: Position) -> Array:
        return influences(self.estimator, samples, position, candidate)

    def with_count(self, count: int) -> KnownVariance:
        """The same with another number of samples; the variance is taken to fall as 1/m."""
        return KnownVariance(
            with_count(self.estimator, count), self.variance, self.factor * self.estimator.count / count
        )


def known_variance(estimator: Estimator, variance: Any) -> KnownVariance:
    """State the variance of an unbiased, normal estimate: the promise that makes the penalty method exact.

    Parameters
    ----------
    estimator
        Any estimator of D.
    variance
        The variance of its *value* (of the average, not of one sample): a number, or a function
        ``variance(position, candidate)`` that is symmetric in its arguments.

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> noisy = ls.estimators.mean(lambda key, position, candidate: candidate - position + jr.normal(key), count=32)
    >>> exact = ls.penalty(ls.estimators.known_variance(noisy, 1 / 32), ls.RandomWalk(1.0))
    """
    estimator = as_estimator(estimator, "estimator")
    if callable(variance):
        return KnownVariance(estimator, wrapped(Scalar, variance, "variance of known_variance"))
    if is_concrete(variance) and not (is_number(variance) and 0 <= variance < np.inf):
        raise ValueError(f"variance of known_variance is {variance!r}; it must be one finite, non-negative number")
    return KnownVariance(estimator, variance)


@part
@passing_on("estimator", "shown fewest unit count batches has_variance is_variance_known")
class TwoSided(Estimator):
    """``(forward - reverse)/2`` from two independent estimates."""

    estimator: Estimator

    sides = 2

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        return _twice(self.estimator, self.estimator, key, position, shape)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        return halves(self.estimator(noise[0], position, candidate), self.estimator(noise[1], candidate, position))

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        forward = pooled(self.estimator, noise[0], position, candidate)
        reverse = pooled(self.estimator, noise[1], candidate, position)
        return pooled_halves(forward, reverse)

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[TwoSided, Any]:
        key_forward, key_reverse = random.split(key)
        estimator, forward = taken(self.estimator, key_forward, position, candidate, estimates)
        return TwoSided(estimator), (forward, taken(self.estimator, key_reverse, candidate, position, estimates)[1])

    def influences(self, samples: Tree, position: Position, candidate: Position) -> Array:
        forward = influences(self.estimator, samples[0], position, candidate)
        return jnp.concatenate([forward, -influences(self.estimator, samples[1], candidate, position)]) / 2

    def with_count(self, count: int) -> TwoSided:
        """The same with another number of samples on each side."""
        return TwoSided(with_count(self.estimator, count))


def two_sided(estimator: Estimator) -> TwoSided:
    """Estimate D by half the difference of an estimate forward and an independent one in reverse.

    The result has the same variance in both directions, which `penalty` and `corrected` need. It takes ``count``
    samples on each side.

    See Also
    --------
    lockstep.check.symmetry : tells whether an estimator needs this.
    """
    estimator = as_estimator(estimator, "estimator")
    return TwoSided(estimator)


@part
@passing_on("at_candidate", "shown evaluation unit count")
class Difference(Estimator):
    """The estimate at the candidate minus an independent one at the position."""

    at_position: Estimator
    at_candidate: Estimator

    fewest = property(lambda self: max(self.at_position.fewest, self.at_candidate.fewest))
    batches = property(lambda self: math.lcm(self.at_position.batches, self.at_candidate.batches))

    @property
    def has_variance(self) -> bool:
        return self.at_position.has_variance and self.at_candidate.has_variance

    @property
    def is_variance_known(self) -> bool:
        return self.at_position.is_variance_known and self.at_candidate.is_variance_known

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        return _twice(self.at_position, self.at_candidate, key, position, shape)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        return _subtracted(
            self.at_candidate(noise[1], position, candidate), self.at_position(noise[0], position, candidate)
        )

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        new = pooled(self.at_candidate, noise[1], position, candidate)
        old = pooled(self.at_position, noise[0], position, candidate)
        return Pooled(_subtracted(new.estimate, old.estimate), new.linear - old.linear, new.third - old.third)

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[Difference, Any]:
        key_old, key_new = random.split(key)
        at_position, old = taken(self.at_position, key_old, position, candidate, estimates)
        at_candidate, new = taken(self.at_candidate, key_new, position, candidate, estimates)
        return Difference(at_position, at_candidate), (old, new)

    def influences(self, samples: Tree, position: Position, candidate: Position) -> Array:
        old = influences(self.at_position, samples[0], position, candidate)
        return jnp.concatenate([influences(self.at_candidate, samples[1], position, candidate), -old])

    def with_count(self, count: int) -> Difference:
        """The same with another number of samples on each side."""
        return Difference(with_count(self.at_position, count), with_count(self.at_candidate, count))


def difference(at_position: Any, at_candidate: Any) -> Difference:
    """Estimate D by ``at_candidate - at_position``, two estimators with independent noise.

    Parameters
    ----------
    at_position, at_candidate
        Estimators of log π at the position and at the candidate: their samples are functions of
        ``(noise, position, candidate)`` that look at one of the two.

    Notes
    -----
    The difference of two logs of unbiased estimates is not the log of an unbiased ratio; `pseudo_marginal` is the exact
    way to use those.
    """
    return Difference(as_estimator(at_position, "at_position"), as_estimator(at_candidate, "at_candidate"))


def halves(forward: Estimate, reverse: Estimate) -> Estimate:
    """Half the difference of an estimate forward and one in reverse."""
    return Estimate(
        (forward.value - reverse.value) / 2,
        (forward.bias - reverse.bias) / 2,
        (forward.variance + reverse.variance) / 4,
        (forward.third - reverse.third) / 8,
        forward.count + reverse.count - 1,  # as many degrees of freedom, plus 1
    )


def pooled_halves(forward: Pooled, reverse: Pooled) -> Pooled:
    """The same of pooled estimates."""
    estimate = halves(forward.estimate, reverse.estimate)
    return Pooled(estimate, (forward.linear - reverse.linear) / 2, (forward.third - reverse.third) / 8)


def _subtracted(new: Estimate, old: Estimate) -> Estimate:
    return Estimate(
        new.value - old.value,
        new.bias - old.bias,
        new.variance + old.variance,
        new.third - old.third,
        new.count + old.count - 1,  # as many degrees of freedom, plus 1
    )


def _twice(first: Tree, second: Tree, key: Key, position: Position, shape: Shape) -> tuple[Array, Array]:
    key_first, key_second = random.split(key)
    return first.noise(key_first, position, shape), second.noise(key_second, position, shape)
