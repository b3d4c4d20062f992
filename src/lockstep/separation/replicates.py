"""Many estimates at pairs (θ, θ') of a run: the data of a prediction."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.precision import canonical, double_precision
from lockstep.core.proposal import Proposal
from lockstep.core.trees import have_equal_values
from lockstep.core.types import Array, Key, Position
from lockstep.estimators.samples import influences, pooled, taken
from lockstep.host.boxes import called_back
from lockstep.host.callback import raised_here

ROUNDING = 1e-12  # of an estimate of D
MOST_SAMPLES = 2**21  # held at once
MOST_INFLUENCES, FEWEST_INFLUENCES = 2**18, 16  # of single samples that are looked at: of all pairs, and of one


class Cumulants(NamedTuple):
    """D and the cumulants of one estimate of it, to first order, from all samples of half of the replicates.

    ``straight`` is the third cumulant of the linear part of an estimate.
    """

    difference: Array
    bias: Array
    variance: Array
    third: Array
    straight: Array

    def of_variance(self, times: float) -> Cumulants:
        """The same shape with so many times the variance."""
        cube = times**1.5
        return Cumulants(
            self.difference, self.bias * times, self.variance * times, self.third * cube, self.straight * cube
        )


class Replicates(NamedTuple):
    """K estimates at each of P pairs, and what their samples tell together.

    ``each`` and ``linear``, the linear part of each estimate, have the shape (P, K); ``halves``, from the samples of
    the first and of the second half of the K, the shape (2, P). ``influences``, what single samples add to the linear
    part, has the shape (P, L), and is NaN where an estimator cannot tell. ``does_move``: the candidate of a pair is
    another position.
    """

    log_proposal_ratio: Array
    each: Estimate
    linear: Array
    halves: Cumulants
    influences: Array
    does_move: Array

    @property
    def is_constant(self) -> np.ndarray:
        """At which pairs the estimates differ by no more than rounding: they have no noise, or D is infinite."""
        values, first = self.each.value, self.each.value[:, :1]
        are_finite = np.isfinite(values) & np.isfinite(first)
        apart = np.abs(np.subtract(values, first, where=are_finite, out=np.zeros_like(values)))
        is_near = apart <= ROUNDING * (1 + np.abs(np.where(are_finite, first, 0.0)))
        return np.asarray(np.where(are_finite, is_near, values == first).all(axis=1))

    @property
    def is_noisy(self) -> np.ndarray:
        """At which pairs D is finite and the noise of its estimates has a scale, from either half of them."""
        is_known = np.isfinite(self.halves.difference).all(axis=0)
        return is_known & ~self.is_constant & np.all(self.halves.variance > 0, axis=0)


def draw_replicates(
    estimator: Estimator,
    proposal: Proposal,
    positions: Position,
    replicates: int,
    seed: int,
    width: int | None = None,
) -> tuple[Replicates, Replicates]:
    """Propose from each position (a leading axis) and estimate D that many times, forward and in reverse.

    One program takes ``width`` pairs after the other (None: all); another number of pairs does not need another.
    """
    pairs = len(jax.tree.leaves(positions)[0])
    width = width or pairs
    with double_precision():
        estimator, proposal = canonical(called_back(estimator), "estimator"), canonical(proposal, "proposal")
        batch = int(np.clip(MOST_SAMPLES // (replicates * estimator.count), 1, width))
        most = max(FEWEST_INFLUENCES, MOST_INFLUENCES // (4 * width))

        def draw(some: slice) -> Replicates:
            keys = random.fold_in(random.seeded(seed), np.arange(pairs)[some])
            places = canonical(jax.tree.map(lambda leaf: leaf[some], positions), "positions")
            with raised_here():
                found = jax.block_until_ready(_draw(estimator, proposal, keys, places, replicates // 2, batch, most))
            return jax.tree.map(np.asarray, found)

        pieces = [draw(slice(start, start + width)) for start in range(0, pairs, width)]
    found = jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)
    forward, reverse = (jax.tree.map(lambda leaf: leaf[:, way], found) for way in (0, 1))  # noqa: B023
    return _arranged(forward), _arranged(reverse)


class Singles(NamedTuple):
    """One estimate at each of N pairs."""

    estimate: Estimate
    log_proposal_ratio: Array


def draw_singles(estimator: Estimator, proposal: Proposal, positions: Position, seed: int) -> Singles:
    """Propose from each position (a leading axis) and estimate D once."""
    with double_precision():
        estimator, proposal = canonical(called_back(estimator), "estimator"), canonical(proposal, "proposal")
        places = canonical(positions, "positions")
        keys = random.split(random.seeded(seed), len(jax.tree.leaves(places)[0]))
        batch = int(np.clip(MOST_SAMPLES // estimator.count, 1, len(keys)))
        with raised_here():
            found = jax.block_until_ready(_draw_once(estimator, proposal, keys, places, batch))
        return jax.tree.map(np.asarray, found)


@jax.jit(static_argnums=4)
def _draw_once(estimator: Estimator, proposal: Proposal, keys: Key, places: Position, batch: int) -> Singles:
    def at_place(key_and_position: tuple[Key, Position]) -> Singles:
        key, position = key_and_position
        key_proposal, key_noise = random.split(key)
        candidate, log_q = proposal(proposal.noise(key_proposal, position), position)
        estimate = estimator(estimator.noise(key_noise, position), position, candidate)
        return Singles(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), estimate), log_q)

    return jax.lax.map(at_place, (keys, places), batch_size=batch)


def _arranged(found: Replicates) -> Replicates:
    """From (P, 2, K/2) to (P, K), and from (P, 2) to (2, P)."""
    each, linear, single = jax.tree.map(
        lambda leaf: leaf.reshape(len(leaf), -1), (found.each, found.linear, found.influences)
    )
    halves = jax.tree.map(np.transpose, found.halves)
    return Replicates(found.log_proposal_ratio, each, linear, halves, single, found.does_move)


@jax.jit(static_argnums=(4, 5, 6))
def _draw(
    estimator: Estimator, proposal: Proposal, keys: Key, places: Position, half: int, batch: int, most: int
) -> Replicates:
    """All arrays have the axes pair, way and half in front."""

    def one_half(key: Key, here: Position, there: Position) -> tuple[Estimate, Array, Cumulants, Array]:
        # A user's function is called here, once for each sample, and nowhere below.
        known, samples = taken(estimator, key, here, there, half)
        each = jax.vmap(known, in_axes=(0, None, None))(samples, here, there)
        together, linear, straight = pooled(known, samples, here, there, each)
        single = influences(known, samples, here, there)
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
            single[:: max(1, -(-len(single) // most))],
        )

    def at_pair(key_and_position: tuple[Key, Position]) -> Replicates:
        key, position = key_and_position
        key_proposal, key_ways = random.split(key)
        candidate, log_q = proposal(proposal.noise(key_proposal, position), position)
        here = jax.tree.map(lambda a, b: jnp.stack([a, b]), position, candidate)
        there = jax.tree.map(lambda leaf: leaf[::-1], here)
        halves = jax.vmap(one_half, in_axes=(0, None, None))
        each, linear, cumulants, single = jax.vmap(halves)(random.split(key_ways, (2, 2)), here, there)
        does_move = jnp.broadcast_to(~have_equal_values(position, candidate), (2,))
        return Replicates(jnp.stack([log_q, -log_q]), each, linear, cumulants, single, does_move)

    return jax.lax.map(at_pair, (keys, places), batch_size=batch)
