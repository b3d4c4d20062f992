"""The logarithm of an average of weights: importance sampling, noisy exchange."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.estimators.samples import Samples, moments, samples_of
from lockstep.functions import Scalar
from lockstep.parts import choose, namespace, part
from lockstep.types import Estimate, Key, Position, Shape


@part
class LogMeanExp:
    """``D̂ = log(average of e^{log w_i})``.

    With relative weights r_i = w_i/average and their variance s²: bias = -s²/(2m), variance = s²/m,
    third = [E (r-1)³ - 3 s⁴]/m². So bias + variance/2 = 0: `corrected` is `naive`, and a penalty would harm.
    """

    samples: Samples

    @property
    def count(self) -> int:
        return self.samples.count

    @property
    def has_variance(self) -> bool:
        return self.count > 1

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.samples.noise(key, shape)

    def __call__(self, noise: Any, position: Position, candidate: Position) -> Estimate:
        log_weights = self.samples(noise, position, candidate)
        array_module = namespace(log_weights)
        largest = log_weights.max()
        shift = choose(array_module.isfinite(largest), largest, 0.0)
        value = array_module.log(array_module.exp(log_weights - shift).mean()) + shift
        # An average of zero is a ratio of zero: certain rejection, whose cumulants do not matter.
        of = moments(choose(value == -np.inf, array_module.ones(self.count), array_module.exp(log_weights - value)))
        variance = of.variance / self.count
        third = (of.third - 3 * of.variance**2) / self.count**2
        return Estimate(value, -variance / 2, variance, third, self.count)

    def with_count(self, count: int) -> LogMeanExp:
        """The same estimator with another number of samples."""
        return LogMeanExp(self.samples.with_count(count))


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
    return LogMeanExp(samples_of(Scalar, log_weight, count, draw, "log_mean_exp"))
