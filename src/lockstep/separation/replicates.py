"""Many estimates at pairs (θ, θ') of a run: the data of a prediction."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.estimators.samples import pooled
from lockstep.host.boxes import called_back
from lockstep.host.callback import raised_here
from lockstep.precision import canonical, double_precision
from lockstep.types import Array, Estimate, Key, Position

MOST_SAMPLES = 2**21  # held at once


class Cumulants(NamedTuple):
    """D and the cumulants of one estimate of it, to first order, from all samples of half of the replicates.

    ``straight`` is the third cumulant of the linear part of an estimate.
    """

    difference: Array
    bias: Array
    variance: Array
    third: Array
    straight: Array


class Replicates(NamedTuple):
    """K estimates at each of P pairs, and what their samples tell together.

    ``each`` and ``linear``, the linear part of each estimate, have the shape (P, K); ``halves``, from the samples of
    the first and of the second half of the K, the shape (2, P).
    """

    log_proposal_ratio: Array
    each: Estimate
    linear: Array
    halves: Cumulants


def draw_replicates(
    estimator: Any, proposal: Any, positions: Position, replicates: int, seed: int
) -> tuple[Replicates, Replicates]:
    """Propose from each position (a leading axis) and estimate D that many times, forward and in reverse."""
    with double_precision():
        estimator, proposal = canonical(called_back(estimator), "estimator"), canonical(proposal, "proposal")
        places = canonical(positions, "positions")
        pairs = len(jax.tree.leaves(places)[0])
        samples = replicates * int(getattr(estimator, "count", 1))
        batch = int(np.clip(MOST_SAMPLES // samples, 1, pairs))
        keys = jr.split(jr.key(seed), pairs)
        with raised_here():
            found = jax.block_until_ready(_draw(estimator, proposal, keys, places, replicates // 2, batch))
        forward, reverse = (jax.tree.map(lambda leaf: np.asarray(leaf)[:, way], found) for way in (0, 1))  # noqa: B023
    return _arranged(forward), _arranged(reverse)


def _arranged(found: Replicates) -> Replicates:
    """From (P, 2, K/2) to (P, K), and from (P, 2) to (2, P)."""
    each, linear = jax.tree.map(lambda leaf: leaf.reshape(len(leaf), -1), (found.each, found.linear))
    return Replicates(found.log_proposal_ratio, each, linear, jax.tree.map(np.transpose, found.halves))


@jax.jit(static_argnums=(4, 5))
def _draw(estimator: Any, proposal: Any, keys: Key, places: Position, half: int, batch: int) -> Replicates:
    """All arrays have the axes pair, way and half in front."""

    def one_half(key: Key, here: Position, there: Position) -> tuple[Estimate, Array, Cumulants]:
        noise = estimator.noise(key, here, (half,))
        each = jax.vmap(estimator, in_axes=(0, None, None))(noise, here, there)
        together, linear, straight = pooled(estimator, noise, here, there)
        # Cumulants of one estimate from those of an estimate with that many times its samples.
        cumulants = Cumulants(
            together.value - together.bias,
            together.bias * half,
            together.variance * half,
            together.third * half**2,
            straight * half**2,
        )
        return (
            jax.tree.map(lambda leaf: jnp.broadcast_to(jnp.asarray(leaf, float), (half,)), each),
            linear,
            jax.tree.map(lambda leaf: jnp.asarray(leaf, float), cumulants),
        )

    def at_pair(key_and_position: tuple[Key, Position]) -> Replicates:
        key, position = key_and_position
        key_proposal, key_ways = jr.split(key)
        candidate, log_q = proposal(proposal.noise(key_proposal, position), position)
        here = jax.tree.map(lambda a, b: jnp.stack([a, b]), position, candidate)
        there = jax.tree.map(lambda leaf: leaf[::-1], here)
        halves = jax.vmap(one_half, in_axes=(0, None, None))
        each, linear, cumulants = jax.vmap(halves)(jr.split(key_ways, (2, 2)), here, there)
        return Replicates(jnp.stack([log_q, -log_q]), each, linear, cumulants)

    return jax.lax.map(at_pair, (keys, places), batch_size=batch)
