"""Functions that take arrays entry by entry: to batch them is to give them one more axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from lockstep.core.types import Array


def elementwise(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of arrays of one shape, for arrays that broadcast, alone or batched.

    JAX would batch its loops: trace them again for every level of batches, and let each entry choose in every turn
    whether it takes part. Here loops see all entries, and one program is traced for each shape.
    """
    batched: Any = custom_vmap(jax.jit(function))

    def rule(size: int, is_batched: Sequence[bool], *arguments: Array) -> tuple[Array, bool]:
        with_axis = (
            one if is_already else jnp.broadcast_to(one, (size, *one.shape))
            for one, is_already in zip(arguments, is_batched, strict=True)
        )
        return batched(*with_axis), True

    batched.def_vmap(rule)

    def broadcast(*arguments: Array) -> Array:
        return batched(*jnp.broadcast_arrays(*arguments))

    return broadcast
