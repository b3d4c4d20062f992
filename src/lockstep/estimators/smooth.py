"""A smooth function of the average of samples, with cumulants by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.arguments import shapes
from lockstep.estimators.samples import Moments, Pooled, Samples, moments, pooled_moments, samples_of
from lockstep.functions import Function, Scalar, wrapped
from lockstep.parts import part
from lockstep.types import Array, Estimate, Key, Position, Shape


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
        return smooth_estimate(
            lambda average: self.combine(average, position, candidate),
            self.samples(noise, position, candidate),
            self.count,
        )

    def pooled(self, noise: Any, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        groups = jax.vmap(self.samples, in_axes=(0, None, None))(noise, position, candidate)
        return smooth_pooled(lambda average: self.combine(average, position, candidate), groups, self.count)

    def with_count(self, count: int) -> Smooth:
        """The same estimator with another number of samples."""
        return Smooth(self.samples.with_count(count), self.combine)


def smooth_estimate(g: Callable[[Array], Array], samples: Any, count: int, name: str = "smooth") -> Estimate:
    """G at the average of the samples (numbers, vectors, or the moments of numbers), and its cumulants."""
    return _smooth_parts(g, samples, count, name)[0]


def smooth_pooled(g: Callable[[Array], Array], groups: Any, count: int, name: str = "smooth") -> Pooled:
    """The same from groups of ``count`` samples along the first axis, with the linear part of each group."""
    if isinstance(groups, Moments):
        means, together = groups.mean, pooled_moments(groups, count)
    else:
        means, together = groups.mean(axis=1), groups.reshape(-1, *groups.shape[2:])
    estimate, gradient, third = _smooth_parts(g, together, len(means) * count, name)
    return Pooled(estimate, jnp.dot(means - means.mean(axis=0), gradient), third)


def _smooth_parts(g: Callable[[Array], Array], samples: Any, count: int, name: str) -> tuple[Estimate, Array, Array]:
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
        slope, curvature = jax.grad(g)(of.mean), jax.grad(jax.grad(g))(of.mean)
        bias = curvature * of.variance / 2
        variance = slope**2 * of.variance
        straight = slope**3 * of.third
        third = straight + 3 * curvature * (slope * of.variance) ** 2
        return Estimate(g(of.mean), bias / count, variance / count, third / count**2, count), slope, straight / count**2
    mean = samples.mean(axis=0)
    gradient, hessian = jax.grad(g)(mean), jax.hessian(g)(mean)
    centred = samples - mean
    along = moments(centred @ gradient)  # of the a_i
    spread = centred.T @ (centred @ gradient) / (count - 1) if count > 1 else jnp.full_like(mean, np.nan)  # Σ∇g
    bias = jnp.sum((centred @ hessian) * centred) / (count - 1) / 2 if count > 1 else np.nan
    third = along.third + 3 * spread @ hessian @ spread
    estimate = Estimate(g(mean), bias / count, along.variance / count, third / count**2, count)
    return estimate, gradient, along.third / count**2


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
