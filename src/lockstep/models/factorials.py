"""Logarithms of factorials of whole numbers."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from lockstep.core.types import Array

TABLE = gammaln(np.arange(256) + 1.0)
HALF_LOG = 0.5 * math.log(2 * math.pi)


def log_factorial(count: Array) -> Array:
    """``log count!`` of whole numbers: from a table, or by Stirling's series, each far cheaper than a log gamma.

    Of what is negative it is 0, which callers leave out.
    """
    count = jnp.asarray(count, float)
    n = jnp.maximum(count, len(TABLE) - 1.0)
    large = (n + 0.5) * jnp.log(n) - n + HALF_LOG + stirling_rest(n)
    small = jnp.asarray(TABLE, count.dtype)[jnp.clip(count, 0, len(TABLE) - 1).astype(np.int32)]
    return jnp.where(count < len(TABLE), small, large)


def stirling_rest(n: Array) -> Array:
    """``log n! - (n + 1/2) log n + n - log(2π)/2`` of numbers beyond the table, to rounding."""
    squared = n * n
    return (1 / 12 - (1 / 360 - 1 / (1260 * squared)) / squared) / n


def stirling_rest_of_any(count: Array) -> Array:
    """The same of whole numbers from 1."""
    small = jnp.asarray(RESTS, count.dtype)[jnp.clip(count, 1, len(RESTS) - 1).astype(np.int32)]
    return jnp.where(count < len(RESTS), small, stirling_rest(jnp.maximum(count, len(RESTS) - 1.0)))


def _rests() -> np.ndarray:
    """A table of them, by more terms of the series where the differences would lose digits; of 0 there is none."""
    n = np.arange(len(TABLE), dtype=float)
    n[0] = np.nan
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
    series = sum(one / n ** (2 * k + 1) for k, one in enumerate(terms))
    return np.where(n < 10, TABLE - ((n + 0.5) * np.log(n) - n + HALF_LOG), series)


RESTS = _rests()
