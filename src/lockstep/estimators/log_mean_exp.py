"""The logarithm of an average of weights: importance sampling, noisy exchange."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.estimator import Estimate
from lockstep.core.parts import part
from lockstep.core.trees import choose, namespace
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators.samples import Moments, OfSamples, Pooled, Samples, is_row, mean_of, moments, samples_of
from lockstep.host.functions import Scalar
from lockstep.host.moments import FEW, log_of_few, moments_of_few


@part
class LogMeanExp(OfSamples):
    """``D̂ = log(average of e^{log w_i})``.

    With relative weights r_i = w_i/average and their variance s²: bias = -s²/(2m), variance = s²/m,
    third = [E (r-1)³ - 3 s⁴]/m². So bias + variance/2 = 0: `corrected` is `naive`, and a penalty would harm.
    """

    samples: Samples

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        return _log_of_average(self.samples(noise, position, candidate), self.count)[0]

    def value(self, noise: Tree, position: Position, candidate: Position) -> Array:
        """The estimate alone, without its cumulants."""
        return _scaled(self.samples(noise, position, candidate))[0]

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        log_weights = jax.vmap(self.samples, in_axes=(0, None, None))(noise, position, candidate)
        estimate, of, weights = _log_of_average(log_weights.ravel(), log_weights.size)
        linear = weights.reshape(log_weights.shape).mean(axis=1) - 1
        return Pooled(estimate, linear, of.third / log_weights.size**2)


def _log_of_average(log_weights: Array, count: int) -> tuple[Estimate, Moments, Any]:
    """The estimate, and the relative weights with their moments."""
    value, scaled, mean = _scaled(log_weights)
    weights: Any
    if isinstance(scaled, list):
        weights = [weight / mean for weight in scaled]
        of = Moments(*map(np.float64, moments_of_few(weights)))
    else:
        # An average of zero is a ratio of zero: certain rejection, whose cumulants do not matter.
        weights = choose(mean == 0, scaled + 1.0, scaled / mean)
        of = moments(weights)
    variance = of.variance / count
    third = (of.third - 3 * of.variance**2) / count**2
    return Estimate(value, -variance / 2, variance, third, count), of, weights


def _scaled(log_weights: Array) -> tuple[Array, Any, Array]:
    """The logarithm of the average weight, the weights over a common factor, and the average of these."""
    if is_row(log_weights) and len(log_weights) <= FEW and (few := log_of_few(log_weights.tolist())) is not None:
        return np.float64(few[0]), few[1], few[2]
    array_module = namespace(log_weights)
    largest = log_weights.max()
    shift = choose(array_module.isfinite(largest), largest, 0.0)
    scaled = array_module.exp(log_weights - shift)
    mean = mean_of(scaled)
    return array_module.log(mean) + shift, scaled, mean


def log_mean_exp(log_weight: Any, count: int, draw: Any = None) -> LogMeanExp:
    """Estimate D by the logarithm of an average of weights, each an unbiased estimate of π(candidate)/π(position).

    Parameters
    ----------
    log_weight
        ``log_weight(noise, position, candidate)``: the logarithm of one weight; minus infinity for a weight of 0.
    count, draw
        As in `mean`.

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> def log_weight(noise, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) + noise - 0.5
    >>> noisy = ls.estimators.log_mean_exp(log_weight, 32, draw=lambda key, count: jr.normal(key, (count,)))
    """
    if log_weight is None:
        raise TypeError("log_weight of log_mean_exp must be a function (noise, position, candidate); got None")
    return LogMeanExp(samples_of(Scalar, log_weight, count, draw, "log_mean_exp", "log_weight"))
