"""Moments of few numbers: they are added up sooner in Python than NumPy is called."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

FEW = 20


def host_moments(numbers: np.ndarray) -> tuple[Any, Any, Any]:
    """Mean, variance (with m-1) and third central moment (unbiased) of one row; NaN where it is too short."""
    m = len(numbers)
    if m <= FEW:
        mean, variance, third = moments_of_few(numbers.tolist())
        return np.float64(mean), np.float64(variance), np.float64(third)
    average = host_mean(numbers)
    centred = numbers - average
    squares, cubes = centred.dot(centred), (centred * centred).dot(centred)
    return average, squares / (m - 1), cubes * (m / ((m - 1) * (m - 2)))


def moments_of_few(numbers: list[float]) -> tuple[float, float, float]:
    """The same of Python's numbers, as such."""
    m = len(numbers)
    mean = sum(numbers) / m
    squares = cubes = 0.0
    for number in numbers:
        apart = number - mean
        square = apart * apart
        squares += square
        cubes += square * apart
    variance = squares / (m - 1) if m > 1 else math.nan
    return mean, variance, cubes * (m / ((m - 1) * (m - 2))) if m > 2 else math.nan


def host_mean(numbers: np.ndarray) -> Any:
    """The mean over the last axis, by a product with equal weights, which is several times faster than `mean`."""
    m = numbers.shape[-1]
    if m <= FEW and numbers.ndim == 1:
        return np.float64(sum(numbers.tolist()) / m)
    return numbers.dot(_equal_weights(m))


@functools.cache
def _equal_weights(count: int) -> np.ndarray:
    return np.full(count, 1 / count)


def log_of_few(log_weights: list[float]) -> tuple[float, list[float], float] | None:
    """The logarithm of the average of weights, the weights over a common factor, and the average of these.

    None where no weight is positive, or one is infinite or no number.
    """
    largest = max(log_weights)
    if not math.isfinite(largest):
        return None
    weights = [math.exp(number - largest) for number in log_weights]
    average = sum(weights) / len(weights)
    return math.log(average) + largest, weights, average
