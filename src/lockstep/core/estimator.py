"""The base of estimators, and what an estimate is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lockstep.core.declared import Part, declared
from lockstep.core.evaluation import Evaluation
from lockstep.core.types import Array, Key, Position, Shape, Tree


class Estimate(NamedTuple):
    """An estimate of D, and the first three cumulants of (value - D), known or estimated from ``count`` values."""

    value: Array
    bias: Array
    variance: Array
    third: Array
    count: int  # type: ignore[assignment]


class Estimator(Part):
    """Estimates D = log π(candidate)/π(position)."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of estimates; uses only the shape of ``position``."""

    @abstractmethod
    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        """The estimate and its cumulants."""

    def value(self, noise: Tree, position: Position, candidate: Position) -> Array:
        """The estimate alone, which may cost less."""
        return estimated(self, noise, position, candidate).value

    @declared
    def count(self) -> int:
        """How many samples an estimate takes."""
        return 1

    @declared
    def is_sample(self) -> bool:
        """Whether its value is one sample, as a function returned it."""
        return False

    @declared
    def batches(self) -> int:
        """What the number of samples must be a multiple of."""
        return 1

    @declared
    def fewest(self) -> int:
        """The least number of samples that an estimate can be made of."""
        return 1

    @declared
    def unit(self) -> str:
        """What ``count`` counts, as a sentence says it after the number."""
        return "samples an estimate"

    @declared
    def sides(self) -> int:
        """How many times ``count`` samples an estimate takes: 2 if it looks both ways, which makes it symmetric."""
        return 1

    @declared
    def has_variance(self) -> bool:
        """Whether the variance that it gives is a number."""
        return True

    @declared
    def is_variance_known(self) -> bool:
        """Whether that variance is known rather than estimated."""
        return False

    @declared
    def with_count(self) -> Callable[[int], Any] | None:
        """``with_count(count)``: the same with another number of samples; None: it has but one."""
        return None

    @declared
    def pooled(self) -> Callable[..., Any] | None:
        """``pooled(noise, position, candidate)``: one estimate from the samples of several; None: their average."""
        return None

    @declared
    def evaluation(self) -> Evaluation | None:
        """An unbiased estimate of the density at one position, for `pseudo_marginal`; None: there is none."""
        return None

    @declared
    def taken(self) -> Callable[..., tuple[Any, Any]] | None:
        """``taken(key, position, candidate, estimates)``: what takes samples as its noise, and samples; None: noise."""
        return None

    @declared
    def influences(self) -> Callable[..., Array] | None:
        """``influences(samples, position, candidate)``: what each adds to the linear part; None: that is not known."""
        return None


def estimated(estimator: Estimator, noise: Tree, position: Position, candidate: Position) -> Estimate:
    """What an estimator returns, refused if it is no estimate of one number."""
    estimate = estimator(noise, position, candidate)
    if not isinstance(estimate, Estimate):
        raise TypeError(
            f"estimator returned {type(estimate).__name__}; it must return "
            f"ls.Estimate(value, bias, variance, third, count)"
        )
    if type(estimate.value) is type(estimate.bias) is type(estimate.variance) is np.float64:
        return estimate
    for name, number in (("value", estimate.value), ("bias", estimate.bias), ("variance", estimate.variance)):
        if np.ndim(number):
            raise ValueError(f"estimator returned {name} of shape {np.shape(number)}; it must be one number")
    return estimate
