"""What perfect simulation returns, and how it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.precision import double_precision
from lockstep.core.trees import describe, is_concrete, is_key
from lockstep.core.types import Array, Key, Position
from lockstep.host.callback import on_host


class PerfectDraw(NamedTuple):
    """An exact draw, and how many steps into the past it had to begin."""

    value: Any
    steps: Array


class PerfectSimulationError(RuntimeError):
    """A perfect draw that would have taken too long, or whose conditions are broken."""


@contextmanager
def precision_of(*arguments: Any) -> Iterator[bool]:
    """Double precision of its own, and True; within a compiled program the program's precision, and False."""
    if not is_concrete(arguments):
        yield False
        return
    with double_precision():
        yield True


def require_key(key: Key) -> None:
    """Refuse what is no random key, of the new kind or the old."""
    is_old = isinstance(key, (np.ndarray, jax.Array)) and np.shape(key)[-1:] == (2,) and key.dtype == np.uint32
    if is_concrete((key,)) and not is_key(key) and not is_old:
        raise TypeError(f"key is {key!r}; it must be a random key, such as jax.random.key(0)")


def require_position(position: Position, name: str) -> None:
    """Refuse what is no position, or holds what is no number."""
    leaves = jax.tree.leaves(position)
    if any(is_key(leaf) for leaf in leaves) or not any(np.size(leaf) for leaf in leaves):
        raise TypeError(f"{name} is {position!r}; it must be a position")
    if is_concrete(leaves) and not all(np.all(np.isfinite(leaf)) for leaf in leaves):
        raise ValueError(f"{name} is {describe(position)}; give finite numbers")


def require(is_met: Array, message: str, value: object) -> Any:
    """``value``; an error if a condition is not met, also within compiled programs."""

    def look(flags: Any) -> Any:
        if not np.all(flags):
            raise PerfectSimulationError(message)
        return flags

    flag = on_host(look, jax.ShapeDtypeStruct((), np.bool_), jnp.asarray(is_met))
    # The values depend on the answer, so that the compiler cannot leave the question out.
    return jax.tree.map(lambda leaf: jnp.where(flag, leaf, jnp.zeros_like(leaf)), value)
