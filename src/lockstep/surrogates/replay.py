"""What a run proposed: noise is data, so that the candidates of every update can be made again, without evaluations."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import flat, random
from lockstep.core.kernel import Simple
from lockstep.core.precision import canonical, double_precision
from lockstep.core.sampled import Sampled
from lockstep.core.types import Array, Key, Position
from lockstep.engine.block import CELL
from lockstep.host.boxes import forgotten


class Proposed(NamedTuple):
    """Positions and candidates of updates as vectors (updates, components), and what D was there."""

    positions: np.ndarray
    candidates: np.ndarray
    differences: np.ndarray


def replayed(run: Sampled) -> Proposed:
    """The candidates of all updates of a run but the first of each chain, and D = log ratio - log proposal ratio."""
    with double_precision():
        kernel, positions = canonical(forgotten(run.kernel), "kernel"), canonical(run.walked, "positions")
        keys = random.fold_in(random.two_keys(random.seeded(run.seed))[1], np.arange(run.chains))
        here = jax.tree.map(lambda leaf: leaf[:, :-1], positions)
        there = jax.tree.map(lambda leaf: leaf[:, 1:], positions)
        is_accepted, log_ratio = (np.asarray(leaf)[:, 1:] for leaf in (run.info.is_accepted, run.info.log_ratio))
        # Draws begin after the warm-up, unless that was an adaptation, which has a noise of its own.
        for start in dict.fromkeys((run.warmup, 0)):
            first = start + 1
            cells = (first + run.draws - 2) // CELL - first // CELL + 1
            candidates, log_q = _candidates(kernel, keys, here, first, cells)
            vectors, reached = _vectors(candidates), _vectors(there)
            if np.allclose(vectors[is_accepted.ravel()], reached[is_accepted.ravel()], rtol=1e-6, atol=1e-9):
                differences = log_ratio.ravel() - np.asarray(log_q).ravel()
                return Proposed(_vectors(here), vectors, differences)
    raise ValueError(
        "run: its candidates cannot be made again from its seed; give a run as ls.sample returned it, of chains "
        "without coupling"
    )


@functools.partial(jax.jit, static_argnames="cells")
def _candidates(kernel: Simple, keys: Key, here: Position, first: Array, cells: int) -> tuple[Position, Array]:
    """Candidates and log proposal ratios of the steps from ``first`` on, with leading axes (chains, steps)."""
    start = jax.tree.map(lambda leaf: leaf[0, 0], here)

    def of_cell(key: Key, cell: Array) -> Any:
        return kernel.noise(random.fold_in(key, cell), start, (CELL,)).proposal

    numbers = first // CELL + jnp.arange(cells)
    noise = jax.vmap(jax.vmap(of_cell, (None, 0)), (0, None))(keys, numbers)
    steps = jax.tree.leaves(here)[0].shape[1]

    def taken(leaf: Array) -> Array:
        rows = leaf.reshape((leaf.shape[0], cells * CELL, *leaf.shape[3:]))
        return jax.lax.dynamic_slice_in_dim(rows, first % CELL, steps, axis=1)

    candidates, log_q = jax.vmap(jax.vmap(kernel.proposal))(jax.tree.map(taken, noise), here)
    return candidates, jnp.broadcast_to(log_q, (len(keys), steps))


def _vectors(positions: Position) -> np.ndarray:
    """All components of positions with two leading axes, a row each."""
    return np.asarray(jax.vmap(jax.vmap(lambda one: flat.flatten(one, jnp)))(positions)).reshape(
        -1, flat.size(jax.tree.map(lambda leaf: leaf[0, 0], positions))
    )
