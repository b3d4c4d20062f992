"""Quantiles of whole numbers from guesses: the distribution function there by a sum, then outcome by outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from lockstep.core.types import Array, Tree

NOTHING = 1e-17  # a share of a sum that it would not notice


def settled(
    uniform: Array,
    guess: Array,
    density: Array,
    above: Callable[[Array], Array],
    below: Callable[[Array], Array],
    is_doubtful: Array,
) -> Array:
    """Quantiles where guesses are in doubt; elsewhere the guesses.

    ``density`` is that at the guess; ``above(k)`` and ``below(k)`` are the densities at k + 1 and k - 1 over that at k.
    """

    def add(carry: Tree) -> Any:
        outcome, term, total = carry
        term = term * below(outcome)
        return outcome - 1, term, total + term

    def is_summing(carry: Tree) -> Array:
        return jnp.any(is_doubtful & (carry[0] > 0) & (carry[1] > NOTHING * carry[2]))

    total = jax.lax.while_loop(is_summing, add, (guess, density, density))[2]

    def directions(carry: Tree) -> tuple[Array, Array]:
        outcome, density, total = carry
        is_open = is_doubtful & (density > NOTHING * total)
        return is_open & (uniform >= total), is_open & (outcome > 0) & (uniform < total - density)

    def step(carry: Tree) -> Any:
        outcome, density, total = carry
        is_above, is_below = directions(carry)
        next_density = density * above(outcome)
        total = jnp.where(is_above, total + next_density, jnp.where(is_below, total - density, total))
        density = jnp.where(is_above, next_density, jnp.where(is_below, density * below(outcome), density))
        return outcome + is_above - is_below, density, total

    start = guess, density, total
    return jax.lax.while_loop(lambda carry: jnp.any(jnp.logical_or(*directions(carry))), step, start)[0]
