"""Quantiles of Poisson laws with large means: by an expansion, and by sums where that is in doubt."""

from __future__ import annotations

import jax.numpy as jnp

from lockstep.core.types import Array
from lockstep.models import cornish_fisher
from lockstep.models.factorials import HALF_LOG, stirling_rest_of_any
from lockstep.models.settling import settled


def guessed(uniform: Array, mean: Array) -> tuple[Array, Array]:
    """A quantile by the expansion, and whether it is in doubt."""
    whole = jnp.floor(mean)
    guess, is_doubtful = cornish_fisher.guessed(uniform, whole, mean - whole, mean, 1.0)
    return jnp.maximum(guess, 0.0), is_doubtful


def settled_from(uniform: Array, mean: Array, guess: Array, is_doubtful: Array) -> Array:
    """Quantiles from doubtful guesses."""
    guess = jnp.where(is_doubtful, jnp.maximum(guess, 1.0), 1.0)
    density = jnp.exp(log_density(guess, mean))
    return settled(uniform, guess, density, lambda k: mean / (k + 1), lambda k: k / mean, is_doubtful)


def log_density(outcome: Array, mean: Array) -> Array:
    """The log density from 1 on: by the distance from the mean, for logarithms of factorials would cancel."""
    distance = outcome - mean
    far = outcome * jnp.log1p(distance / mean) - distance
    return -far - 0.5 * jnp.log(outcome) - HALF_LOG - stirling_rest_of_any(outcome)
