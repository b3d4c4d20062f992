"""A smooth function of the average of samples, with cumulants by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from lockstep.core.estimator import Estimate
from lockstep.core.parts import part
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators.delta import Delta, delta_of
from lockstep.estimators.samples import OfSamples, Pooled, Samples, samples_of
from lockstep.host.functions import Function


@part
class Smooth(OfSamples):
    """``D̂ = g(average of W₁..W_m)``, with the cumulants of `Delta`."""

    samples: Samples
    delta: Delta

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        samples = self.samples(noise, position, candidate)
        return self.delta.suited(self.samples, samples, position, candidate)(samples, position, candidate)

    def value(self, noise: Tree, position: Position, candidate: Position) -> Array:
        """The estimate alone, without its cumulants."""
        samples = self.samples(noise, position, candidate)
        return self.delta.suited(self.samples, samples, position, candidate).value(samples, position, candidate)

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        groups = jax.vmap(self.samples, in_axes=(0, None, None))(noise, position, candidate)
        delta = self.delta.suited(self.samples, groups[0], position, candidate)
        return delta.pooled(groups, position, candidate)

    def with_count(self, count: int) -> Smooth:
        """The same estimator with another number of samples."""
        return Smooth(self.samples.with_count(count), self.delta.with_count(count))


def smooth(sample: Any, combine: Callable[..., Any], count: int, draw: Any = None) -> Smooth:
    """Estimate D by a smooth function of an average, such as the logarithm of one or a ratio of two.

    Parameters
    ----------
    sample
        ``sample(noise, position, candidate)``: one of the m samples W, a number or a vector. None: the draws themselves
        are the samples; if they are numbers their moments are computed with the noise, so that m costs nothing later.
    combine
        ``combine(average, position, candidate)`` gives D̂; it must be smooth in the average. Write it with `jax.numpy`:
        it is then differentiated, also where ``sample`` is a black box. A black box has differences along the standard
        errors of the average: of d components it is called 4d + 5 times an update, or twice if it is
        ``ls.blackbox(combine, vectorized=True)`` and takes several averages, a row each.
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
    return Smooth(samples, delta_of(combine, samples.count, "smooth"))
