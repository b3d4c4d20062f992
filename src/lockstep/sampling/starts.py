"""Where chains begin, and the check that they can begin there."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.part import is_floating, part
from lockstep.precision import canonical
from lockstep.types import Key, Position, describe, one_of


@part
class Starts:
    """A start for each chain: positions with a leading axis over the chains."""

    positions: Position


def initial_states(kernel: Any, initial: Any, chains: int, key: Key) -> Any:
    """States of all chains, from one position, a function of a key, or `Starts`; refused where no chain can start."""
    key_positions, key_memory = jr.split(key)
    positions = _positions(initial, chains, _chain_keys(key_positions, chains))
    if not jax.tree.leaves(positions):
        raise ValueError(f"initial is {initial!r}, which holds no array; give a position")
    _require_finite(positions, positions, chains, "initial holds {value}")
    keys = _chain_keys(key_memory, chains)
    for one in getattr(kernel, "kernels", (kernel,)):
        memory = _init(one, positions, keys).memory
        message = "the log density at the initial position is {value}"
        _require_finite(memory, positions, chains, message)
    return _init(kernel, positions, keys)


def _chain_keys(key: Key, chains: int) -> Key:
    return jax.vmap(lambda chain: jr.fold_in(key, chain))(jnp.arange(chains))


@jax.jit
def _init(kernel: Any, positions: Position, keys: Key) -> Any:
    return jax.vmap(kernel.init)(positions, keys)


def _positions(initial: Any, chains: int, keys: Key) -> Position:
    if isinstance(initial, Starts):
        positions = canonical(initial.positions, "initial")
        for leaf in jax.tree.leaves(positions):
            if leaf.ndim == 0 or leaf.shape[0] != chains:
                raise ValueError(
                    f"initial: Starts holds an array of shape {leaf.shape}; its first axis must be the {chains} chains"
                )
        return positions
    if callable(initial):
        return canonical(jax.vmap(initial)(keys), "initial")
    position = canonical(initial, "initial")
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (chains, *leaf.shape)), position)


def _require_finite(values: Any, positions: Position, chains: int, message: str) -> None:
    for leaf in jax.tree.leaves(values):
        if not is_floating(leaf):
            continue
        numbers = np.asarray(leaf).reshape(chains, -1)
        is_bad = ~np.isfinite(numbers).all(axis=1)
        if is_bad.any():
            chain = int(np.argmax(is_bad))
            value = numbers[chain][~np.isfinite(numbers[chain])][0]
            position = one_of(positions, chain)
            raise ValueError(
                f"{message.format(value=value)}, in chain {chain} at {describe(position)}; start where the "
                f"log density is finite"
            )
