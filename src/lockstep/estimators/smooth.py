"""A smooth function of the average of samples, with cumulants by the delta method."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import shapes
from lockstep.core.parts import namespace, part
from lockstep.core.types import Array, Estimate, Key, Position, Shape
from lockstep.estimators.samples import (
    Moments,
    Pooled,
    Samples,
    influences_of_singles,
    moments,
    pooled_moments,
    samples_of,
)
from lockstep.host.boxes import boxes
from lockstep.host.functions import Function, Scalar, wrapped

DIFFERENCE = 1e-4


@part
class Smooth:
    """``D̂ = g(average of W₁..W_m)``.

    With μ the average, Σ the covariance of W, a_i = ∇g·(W_i - μ) and H = ∇²g, derivatives taken at μ:
    bias = tr(H Σ)/(2m), variance = ∇gᵀ Σ ∇g/m, third = [E a³ + 3 (Σ∇g)ᵀ H (Σ∇g)]/m².
    """

    samples: Samples
    combine: Scalar

    @property
    def count(self) -> int:
        return self.samples.count

    @property
    def has_variance(self) -> bool:
        return self.count > 1

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.samples.noise(key, shape)

    def __call__(self, noise: Any, position: Position, candidate: Position) -> Estimate:
        g = OfAverage(self.combine, position, candidate)
        return smooth_estimate(g, self.samples(noise, position, candidate), self.count)

    def pooled(self, noise: Any, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        groups = jax.vmap(self.samples, in_axes=(0, None, None))(noise, position, candidate)
        return smooth_pooled(OfAverage(self.combine, position, candidate), groups, self.count)

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[Smooth, Any]:
        samples, values = self.samples.taken(key, position, candidate, estimates)
        return Smooth(samples, self.combine), values

    influences = influences_of_singles

    def with_count(self, count: int) -> Smooth:
        """The same estimator with another number of samples."""
        return Smooth(self.samples.with_count(count), self.combine)


@dataclasses.dataclass(frozen=True, eq=False)
class OfAverage:
    """G as a function of the average alone; black boxes have no derivatives but differences."""

    combine: Any
    position: Position
    candidate: Position

    def __call__(self, average: Array) -> Array:
        return self.combine(average, self.position, self.candidate)

    @property
    def is_black(self) -> bool:
        return bool(boxes(self.combine))


def smooth_estimate(g: OfAverage, samples: Any, count: int, name: str = "smooth") -> Estimate:
    """G at the average of the samples (numbers, vectors, or the moments of numbers), and its cumulants."""
    return _smooth_parts(g, samples, count, name)[0]


def smooth_pooled(g: OfAverage, groups: Any, count: int, name: str = "smooth") -> Pooled:
    """The same from groups of ``count`` samples along the first axis, with the linear part of each group."""
    if isinstance(groups, Moments):
        means, together = groups.mean, pooled_moments(groups, count)
    else:
        means, together = groups.mean(axis=1), groups.reshape(-1, *groups.shape[2:])
    estimate, gradient, third = _smooth_parts(g, together, len(means) * count, name)
    return Pooled(estimate, namespace(gradient).dot(means - means.mean(axis=0), gradient), third)


def _smooth_parts(g: OfAverage, samples: Any, count: int, name: str) -> tuple[Estimate, Array, Array]:
    """The estimate, ∇g, and the third cumulant of the linear part."""
    is_array = isinstance(samples, (np.ndarray, jax.Array))
    if not isinstance(samples, Moments) and not (is_array and samples.ndim in (1, 2)):
        raise ValueError(
            f"the {count} samples of {name} are {shapes(samples)}; each must be a number or a vector: flatten or "
            f"concatenate it"
        )
    if is_array and np.issubdtype(samples.dtype, np.complexfloating):
        raise TypeError(f"the samples of {name} have dtype {samples.dtype}; they must be real numbers")
    if isinstance(samples, Moments) or samples.ndim == 1:
        of = samples if isinstance(samples, Moments) else moments(samples)
        slope, curvature = _slopes(g, of)
        bias = curvature * of.variance / 2
        variance = slope**2 * of.variance
        straight = slope**3 * of.third
        third = straight + 3 * curvature * (slope * of.variance) ** 2
        return Estimate(g(of.mean), bias / count, variance / count, third / count**2, count), slope, straight / count**2
    mean = samples.mean(axis=0)
    if isinstance(samples, np.ndarray) or g.is_black:
        gradient, hessian = central_differences(g, mean, samples.std(axis=0))
    else:
        gradient, hessian = jax.grad(g)(mean), jax.hessian(g)(mean)
    centred = samples - mean
    along = moments(centred @ gradient)  # of the a_i
    spread = centred.T @ (centred @ gradient) / (count - 1) if count > 1 else np.nan * mean  # Σ∇g
    bias = ((centred @ hessian) * centred).sum() / (count - 1) / 2 if count > 1 else np.nan
    third = along.third + 3 * spread @ hessian @ spread
    estimate = Estimate(g(mean), bias / count, along.variance / count, third / count**2, count)
    return estimate, gradient, along.third / count**2


def _slopes(g: OfAverage, of: Moments) -> tuple[Array, Array]:
    """The first two derivatives of g at the average of numbers: by autodiff, or by differences on the host."""
    if not isinstance(of.mean, np.generic) and not g.is_black:
        return jax.grad(g)(of.mean), jax.grad(jax.grad(g))(of.mean)
    xp = namespace(of.mean)
    gradient, hessian = central_differences(
        lambda w: g(w[0]), xp.asarray(of.mean)[None], xp.asarray(xp.sqrt(of.variance))[None]
    )
    return gradient[0], hessian[0, 0]


def central_differences(g: Callable[[Array], Array], at: Array, spread: Array) -> tuple[Array, Array]:
    """Gradient and Hessian of g, with steps that suit the size of the average or the spread of the samples.

    A step of 1e-4 of that size balances rounding against truncation in the second derivatives: both about 1e-8.
    """
    xp = namespace(at)
    size = xp.fmax(xp.abs(at), spread)
    width = xp.where(size > 0, size, 1.0) * DIFFERENCE
    steps, here = xp.diag(width), g(at)
    ahead, back = (xp.stack([g(at + sign * step) for step in steps]) for sign in (1, -1))
    gradient, hessian = (ahead - back) / (2 * width), xp.diag((ahead - 2 * here + back) / width**2)
    for i, j in zip(*np.triu_indices(len(at), 1), strict=True):
        corners = (a * b * g(at + a * steps[i] + b * steps[j]) for a in (1, -1) for b in (1, -1))
        place = np.zeros(hessian.shape)
        place[i, j] = place[j, i] = 1.0
        hessian = hessian + place * (sum(corners) / (4 * width[i] * width[j]))
    return gradient, hessian


def smooth(sample: Any, combine: Any, count: int, draw: Any = None) -> Smooth:
    """Estimate D by a smooth function of an average, such as the logarithm of one or a ratio of two.

    Parameters
    ----------
    sample
        ``sample(noise, position, candidate)``: one of the m samples W, a number or a vector. None: the draws themselves
        are the samples; if they are numbers their moments are computed with the noise, so that m costs nothing later.
    combine
        ``combine(average, position, candidate)`` gives D̂; it must be smooth in the average.
    count, draw
        As in `mean`.

    Examples
    --------
    The estimator of the paper's section 5, ``D - 1 + 1/average`` of exponential variables:

    >>> import jax.random as jr, lockstep as ls
    >>> def combine(average, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) - 1 + 1 / average
    >>> noisy = ls.estimators.smooth(None, combine, count=8, draw=lambda key, count: jr.exponential(key, (count,)))
    """
    samples = samples_of(Function, sample, count, draw, "smooth")
    return Smooth(samples, wrapped(Scalar, combine, "combine of smooth"))
