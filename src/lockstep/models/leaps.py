"""Binomial and Poisson numbers from uniform ones, for leaps of epidemics and populations, in compiled loops.

`jax.random.binomial` draws by rejection, with new bits for all particles in every round. Here one uniform number, which
is noise like any other, is inverted, exactly to rounding, for all particles at once. Outcomes are counted from 0 where
means are small. For large means Poisson quantiles have an expansion; binomial outcomes are searched from the mode
outwards, a few steps for each standard deviation.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Array
from lockstep.models.counting import counted, where_any
from lockstep.models.factorials import log_factorial
from lockstep.models.poisson_quantile import LARGE, guessed, settled

__all__ = ["binomial", "poisson"]

SMALL = 150.0  # a binomial mean below which outcomes are counted from 0


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
    u, n, p = jnp.broadcast_arrays(*(jnp.asarray(value, float) for value in (uniform, count, probability)))
    is_law = (p >= 0) & (p <= 1) & (n >= 0)
    is_small = is_law & (n * jnp.minimum(p, 1 - p) < SMALL)
    found = where_any(is_small, lambda flags: _counted(u, n, jnp.where(flags, p, 0.0)), -jnp.ones_like(u))
    return _whole(
        where_any(is_law & ~is_small, lambda flags: _from_the_mode(u, jnp.where(flags, n, 0.0), p), found), count
    )


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
    u, mean = jnp.broadcast_arrays(jnp.asarray(uniform, float), jnp.asarray(mean, float))
    is_small, is_large = (mean >= 0) & (mean < LARGE), (mean >= LARGE) & (mean < np.inf)
    found = where_any(is_small, lambda flags: _few(u, jnp.where(flags, mean, 0.0)), -jnp.ones_like(u))
    found, is_doubtful = where_any(
        is_large, lambda flags: guessed(u, jnp.where(flags, mean, LARGE)), (found, jnp.zeros_like(is_large))
    )
    return _whole(where_any(is_doubtful, lambda flags: settled(u, mean, found, flags), found), 0)


def _few(uniform: Array, mean: Array) -> Array:
    return counted(uniform, jnp.exp(-mean), lambda k: mean)


def _counted(uniform: Array, n: Array, p: Array) -> Array:
    """Binomial numbers with few successes or few failures, whichever are fewer."""
    is_few = p <= 0.5
    fewer = jnp.where(is_few, p, 1 - p)
    odds = fewer / (1 - fewer)
    found = counted(uniform, jnp.exp(n * jnp.log1p(-fewer)), lambda k: odds * (n - k))
    return jnp.where(is_few, found, n - found)


def _from_the_mode(uniform: Array, n: Array, p: Array) -> Array:
    mode = jnp.floor((n + 1) * p)
    log_density = log_factorial(n) - log_factorial(mode) - log_factorial(n - mode)
    log_density += mode * jnp.log(p) + (n - mode) * jnp.log1p(-p)
    odds = p / (1 - p)
    return _searched(
        uniform, mode, jnp.exp(log_density), lambda x: odds * (n - x) / (x + 1), lambda x: x / (odds * (n - x + 1))
    )


def _searched(uniform: Array, mode: Array, density: Array, above: Any, below: Any) -> Array:
    """The outcome in whose share of [0, 1) a uniform number falls: the mode, then those above and below it in turn.

    ``above(x)`` and ``below(x)`` are the ratios of the densities at x + 1 and x - 1 to that at x.
    """
    rest = uniform - density
    is_done = rest < 0

    def search(carry: Any) -> Any:
        rest, high, low, up, down, found, is_done = carry
        for _ in range(4):  # at once
            up, high = up * above(high), high + 1
            rest = rest - up
            is_here = ~is_done & (rest < 0)
            found, is_done = jnp.where(is_here, high, found), is_done | is_here
            down, low = jnp.where(low > 0, down * below(low), 0.0), low - 1
            rest = rest - down
            is_here = ~is_done & (rest < 0)
            found, is_done = jnp.where(is_here, low, found), is_done | is_here
        # What is left beyond the last outcome is rounding: the mode stands for it.
        return rest, high, low, up, down, found, is_done | ~(up + down > 0)

    carry = (rest, mode, mode, density, density, mode, is_done)
    return jax.lax.while_loop(lambda carry: ~jnp.all(carry[-1]), search, carry)[5]


def _whole(found: Array, like: Any) -> Array:
    """Whole numbers of the kind that was given, for states must stay of one kind; else the usual ones."""
    dtype = jnp.result_type(like)
    is_whole = jnp.issubdtype(dtype, jnp.integer) and not isinstance(like, int)
    return found.astype(dtype if is_whole else jnp.result_type(int))
