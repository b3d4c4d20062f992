"""Outcomes of a law on 0, 1, 2, … counted until their densities sum to a uniform number: for small means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from lockstep.core.types import Array, Tree

AT_ONCE = 8  # outcomes that one turn of the loop goes through
NOTHING = 1e-17  # a share of a sum that it would not notice


def counted(uniform: Array, first: Array, growth: Callable[[Array], Array]) -> Array:
    """How many outcomes have a distribution function that is not above a uniform number.

    ``first`` is the density at 0, and ``growth(k)/(k + 1)`` the ratio of those at k + 1 and k. All particles are at the
    same outcome, so that nothing is divided for each of them.
    """

    def is_beyond(density: Array, total: Array) -> Array:
        return (uniform >= total) & (density > NOTHING * total)

    def count(carry: Tree) -> Any:
        outcome, density, total, found = carry
        inverse = 1 / (outcome + 1 + jnp.arange(AT_ONCE))
        for step in range(AT_ONCE):
            found = found + is_beyond(density, total)
            density = density * (growth(outcome + step) * inverse[step])
            total = total + density
        return outcome + AT_ONCE, density, total, found

    start = jnp.zeros((), first.dtype), first, first, jnp.zeros_like(first)
    return jax.lax.while_loop(lambda carry: jnp.any(is_beyond(carry[1], carry[2])), count, start)[3]


def where_any(flags: Array, compute: Callable[[Array], Any], otherwise: Any) -> Any:
    """What is computed where there are flags, else ``otherwise``; without a flag nothing is computed.

    A loop of at most one turn: a branch would become both of its sides where chains are batched. ``compute(flags)``
    should use the flags that it is given from the start: what does not depend on them is moved out of the loop.
    """

    def once(carry: Tree) -> Any:
        flags, otherwise = carry
        return jnp.zeros_like(flags), jax.tree.map(
            lambda new, old: jnp.where(flags, new, old), compute(flags), otherwise
        )

    return jax.lax.while_loop(lambda carry: jnp.any(carry[0]), once, (flags, otherwise))[1]
