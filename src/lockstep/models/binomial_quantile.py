"""Quantiles of binomial laws with large variances: by an expansion, and by sums where that is in doubt."""

from __future__ import annotations

import jax.numpy as jnp

from lockstep.core.types import Array
from lockstep.models import cornish_fisher
from lockstep.models.factorials import HALF_LOG, stirling_rest_of_any
from lockstep.models.settling import settled

HALF = 2.0**26  # parts the digits of a number in two


def guessed(uniform: Array, n: Array, p: Array) -> tuple[Array, Array]:
    """A quantile by the expansion, and whether it is in doubt."""
    guess, is_doubtful = cornish_fisher.guessed(uniform, *mean_of(n, p), n * p * (1 - p), 1 - 2 * p)
    return jnp.clip(guess, 0.0, n), is_doubtful


def mean_of(n: Array, p: Array) -> tuple[Array, Array]:
    """The mean n p as a whole number and a rest, whose digits one product would lose where n is huge."""
    high = jnp.floor(p * HALF) / HALF
    many = jnp.floor(n / HALF) * HALF
    most, some = many * high, (n - many) * high  # without rounding, up to n = 2⁵³
    whole = jnp.floor(most) + jnp.floor(some)
    return whole, (most - jnp.floor(most)) + (some - jnp.floor(some)) + n * (p - high)


def settled_from(uniform: Array, n: Array, p: Array, guess: Array, is_doubtful: Array) -> Array:
    """Quantiles from doubtful guesses."""
    n = jnp.where(is_doubtful, n, 2.0)
    guess = jnp.clip(guess, 1.0, n - 1)
    odds, density = p / (1 - p), jnp.exp(log_density(guess, n, p))
    return settled(
        uniform, guess, density, lambda k: odds * (n - k) / (k + 1), lambda k: k / (odds * (n - k + 1)), is_doubtful
    )


def log_density(outcome: Array, n: Array, p: Array) -> Array:
    """The log density at 1 … n - 1: by the distance from the mean, for logarithms of factorials would cancel."""
    mean, others = n * p, n - outcome
    distance = outcome - mean
    far = outcome * jnp.log1p(distance / mean) + others * jnp.log1p(-distance / (n * (1 - p)))
    rests = stirling_rest_of_any(n) - stirling_rest_of_any(outcome) - stirling_rest_of_any(others)
    return rests - far - 0.5 * jnp.log(outcome * (others / n)) - HALF_LOG
