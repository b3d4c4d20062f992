"""Binomial and Poisson numbers from uniform ones, for leaps of epidemics and populations, in compiled loops.

`jax.random.binomial` draws by rejection, with new bits for all particles in every round. Here one uniform number, which
is noise like any other, is inverted, exactly to rounding, for all particles at once. Outcomes are counted from 0 where
means are small; the quantiles of large ones have an expansion, and sums decide where that is in doubt.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Array
from lockstep.models import binomial_quantile, poisson_quantile
from lockstep.models.cornish_fisher import LARGE
from lockstep.models.counting import counted, where_any
from lockstep.models.elementwise import elementwise

__all__ = ["binomial", "poisson"]

ALMOST_ONE = 1 - 2.0**-53  # the largest uniform number


def binomial(uniform: Array, count: Array, probability: Any) -> Array:
    """A binomial number from a uniform one.

    Parameters
    ----------
    uniform
        A number in [0, 1), such as ``jax.random.uniform`` makes.
    count
        How many trials, a whole number from 0.
    probability
        Of success in each.

    Returns
    -------
    Array
        A whole number; -1 if there is no such law (a probability that is NaN or not in [0, 1], a negative count).

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> numbers = ls.models.leaps.binomial(jr.uniform(jr.key(1), (5,)), 763, 0.01)
    >>> numbers.shape
    (5,)
    """
    return _whole(_binomial(*(jnp.asarray(value, float) for value in (uniform, count, probability))), count)


@elementwise
def _binomial(u: Array, n: Array, p: Array) -> Array:
    is_law = (p >= 0) & (p <= 1) & (n >= 0) & (n < np.inf)
    is_large = is_law & (n * p * (1 - p) >= LARGE)
    found = where_any(is_law & ~is_large, lambda flags: _counted(u, n, jnp.where(flags, p, 0.0)), -jnp.ones_like(u))
    found, is_doubtful = where_any(
        is_large,
        lambda flags: binomial_quantile.guessed(jnp.where(flags, u, 0.5), n, p),
        (found, jnp.zeros_like(is_large)),
    )
    return where_any(is_doubtful, lambda flags: binomial_quantile.settled_from(u, n, p, found, flags), found)


def poisson(uniform: Array, mean: Array) -> Array:
    """A Poisson number from a uniform one.

    Parameters
    ----------
    uniform
        A number in [0, 1).
    mean
        Its mean.

    Returns
    -------
    Array
        A whole number; -1 if there is no such law (a mean that is negative or no number).

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> ls.models.leaps.poisson(jr.uniform(jr.key(1), (5,)), 3.5).shape
    (5,)
    """
    return _whole(_poisson(jnp.asarray(uniform, float), jnp.asarray(mean, float)), 0)


@elementwise
def _poisson(u: Array, mean: Array) -> Array:
    is_small = (mean >= 0) & (mean < LARGE)
    is_large = (mean >= LARGE) & (mean < np.inf)
    found = where_any(is_small, lambda flags: _few(u, jnp.where(flags, mean, 0.0)), -jnp.ones_like(u))
    found, is_doubtful = where_any(
        is_large,
        lambda flags: poisson_quantile.guessed(jnp.where(flags, u, 0.5), mean),
        (found, jnp.zeros_like(is_large)),
    )
    return where_any(is_doubtful, lambda flags: poisson_quantile.settled_from(u, mean, found, flags), found)


def _few(uniform: Array, mean: Array) -> Array:
    return counted(uniform, jnp.exp(-mean), lambda k: mean)


def _counted(uniform: Array, n: Array, p: Array) -> Array:
    """Binomial numbers with few successes or few failures, whichever are fewer; they grow with the uniform number."""
    is_few = p <= 0.5
    fewer = jnp.where(is_few, p, 1 - p)
    odds = fewer / (1 - fewer)
    from_below = jnp.where(is_few, uniform, jnp.minimum(1 - uniform, ALMOST_ONE))
    found = counted(from_below, jnp.exp(n * jnp.log1p(-fewer)), lambda k: odds * (n - k))
    return jnp.where(is_few, found, n - found)


def _whole(found: Array, like: object) -> Array:
    """Whole numbers of the kind that was given, for states must stay of one kind; else the usual ones."""
    dtype = jnp.result_type(like)
    is_whole = jnp.issubdtype(dtype, jnp.integer) and not isinstance(like, int)
    return found.astype(dtype if is_whole else jnp.result_type(int))
