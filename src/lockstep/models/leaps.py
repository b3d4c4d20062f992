"""Binomial and Poisson numbers from uniform ones, for leaps of epidemics and populations, in compiled loops.

`jax.random.binomial` draws by rejection, with new bits for all particles in every round. Here one uniform number, which
is noise like any other, is inverted: outcomes are searched from the mode outwards, all particles at once. Exact to
rounding; it takes a few steps for each standard deviation.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Array

__all__ = ["binomial", "poisson"]

_TABLE = np.cumsum(np.log(np.maximum(np.arange(16), 1)))  # log k! for small k


def binomial(uniform: Array, count: Any, probability: Any) -> Array:
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
    n, p = jnp.asarray(count, float), jnp.asarray(probability, float)
    is_law = (p >= 0) & (p <= 1) & (n >= 0)
    mode = jnp.clip(jnp.floor((n + 1) * p), 0, n)
    log_density = log_factorial(n) - log_factorial(mode) - log_factorial(n - mode)
    log_density += jax.scipy.special.xlogy(mode, p) + jax.scipy.special.xlog1py(n - mode, -p)
    odds = p / (1 - p)
    found = _searched(
        jnp.asarray(uniform, float),
        mode,
        jnp.where(is_law, jnp.exp(log_density), jnp.nan),
        lambda x: odds * (n - x) / (x + 1),
        lambda x: x / (odds * (n - x + 1)),
    )
    return _whole(found, count)


def poisson(uniform: Array, mean: Any) -> Array:
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
    mean = jnp.asarray(mean, float)
    mode = jnp.floor(mean)
    log_density = jax.scipy.special.xlogy(mode, mean) - mean - log_factorial(mode)
    found = _searched(
        jnp.asarray(uniform, float),
        mode,
        jnp.where((mean >= 0) & (mean < np.inf), jnp.exp(log_density), jnp.nan),
        lambda x: mean / (x + 1),
        lambda x: x / mean,
    )
    return _whole(found, 0)


def log_factorial(k: Array) -> Array:
    """Log k! of whole numbers: a table, or Stirling's series, which is exact to rounding from 16."""
    large = jnp.maximum(k, 16.0)
    inverse = 1 / large
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    stirling = (large + 0.5) * jnp.log(large) - large + 0.5 * np.log(2 * np.pi) + series
    return jnp.where(k < 16, jnp.asarray(_TABLE)[jnp.clip(k, 0, 15).astype(int)], stirling)


def _searched(uniform: Array, mode: Array, density: Array, above: Any, below: Any) -> Array:
    """The outcome in whose share of [0, 1) a uniform number falls: the mode, then those above and below it in turn.

    ``above(x)`` and ``below(x)`` are the ratios of the densities at x + 1 and x - 1 to that at x.
    """
    uniform, mode, density = jnp.broadcast_arrays(uniform, mode, density)
    rest = uniform - density
    found = jnp.where(density > 0, mode, -1.0)
    is_done = (rest < 0) | ~(density > 0)

    def search(carry: Any) -> Any:
        rest, high, low, up, down, found, is_done = carry
        up, high = up * above(high), high + 1
        rest = rest - up
        is_here = ~is_done & (rest < 0)
        found, is_done = jnp.where(is_here, high, found), is_done | is_here
        down, low = down * below(low), low - 1
        down = jnp.where(low < 0, 0.0, down)
        rest = rest - down
        is_here = ~is_done & (rest < 0)
        # What is left beyond the last outcome is rounding: the mode stands for it.
        return rest, high, low, up, down, jnp.where(is_here, low, found), is_done | is_here | ~(up + down > 0)

    carry = (rest, mode, mode, density, density, found, is_done)
    return jax.lax.while_loop(lambda carry: ~jnp.all(carry[-1]), search, carry)[5]


def _whole(found: Array, like: Any) -> Array:
    """Whole numbers of the kind that was given, for states must stay of one kind; else the usual ones."""
    dtype = jnp.result_type(like)
    is_whole = jnp.issubdtype(dtype, jnp.integer) and not isinstance(like, int)
    return found.astype(dtype if is_whole else jnp.result_type(int))
