"""How noisy log likelihood estimates are, and how many particles make them quiet enough."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.precision import canonical, double_precision
from lockstep.core.types import Key, Position
from lockstep.host.generator import RandomKey
from lockstep.host.scope import quiet

BEST, MOST = 1.2, 1.7  # standard deviations of the log estimate: a good one, and the largest that is good


def estimates(
    estimate: Any, positions: Position, replicates: int, seed: int = 0, correlation: Any = None
) -> np.ndarray:
    """Log density estimates at positions (a leading axis), each with noise of its own: (positions, replicates).

    With a correlation the differences of two estimates with correlated noise.
    """
    count = len(jax.tree.leaves(positions)[0])
    with double_precision():
        estimate, positions = canonical(estimate, "kernel"), canonical(positions, "positions")
        keys = random.split(random.seeded(seed), (count, replicates))
        if estimate.filter.model.is_boxed:
            return _on_host(estimate, positions, keys)
        found = jnp.zeros(()) if correlation is None else jnp.asarray(float(correlation))
        compute = _values if correlation is None else _differences
        return np.asarray(compute(estimate, positions, keys, found))


@jax.jit
def _values(estimate: Any, positions: Position, keys: Key, _: Any) -> Any:
    def one(position: Position, key: Any) -> Any:
        found = estimate(key, position)
        return found[0] if estimate.has_path else found

    return jax.vmap(jax.vmap(one, in_axes=(None, 0)))(positions, keys)


@jax.jit
def _differences(estimate: Any, positions: Position, keys: Key, correlation: Any) -> Any:
    root = jnp.sqrt(1 - correlation**2)

    def one(position: Position, key: Any) -> Any:
        first, fresh = estimate.opened(key), estimate.opened(random.fold_in(key, 1))
        second = jax.tree.map(lambda old, new: correlation * old + root * new, first, fresh)
        values = [estimate(noise, position) for noise in (first, second)]
        first_value, second_value = [value[0] if estimate.has_path else value for value in values]
        return second_value - first_value

    return jax.vmap(jax.vmap(one, in_axes=(None, 0)))(positions, keys)


def _on_host(estimate: Any, positions: Position, keys: Key) -> np.ndarray:
    words, positions = np.asarray(jr.key_data(keys)), jax.tree.map(np.asarray, positions)

    def one(row: int, column: int) -> float:
        found = estimate(RandomKey(words[row, column]), jax.tree.map(lambda leaf: leaf[row], positions))
        return float(found[0] if estimate.has_path else found)

    with quiet():
        return np.array([[one(row, column) for column in range(words.shape[1])] for row in range(words.shape[0])])


def deviation(values: np.ndarray) -> float:
    """The standard deviation of log estimates at a typical position; infinite where some are estimates of 0."""
    with np.errstate(invalid="ignore"):
        variances = np.var(values, axis=1, ddof=1)
    return float(np.sqrt(np.median(np.where(np.isfinite(variances), variances, np.inf))))


def needed(particles: int, spread: float) -> int:
    """How many particles bring a standard deviation down to a good one: the variance falls as one over their number."""
    count = particles * (spread / BEST) ** 2
    digits = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return int(math.ceil(count / digits) * digits)


def cure_of(estimate: Any, positions: Position) -> str:
    """What would cure chains that stick at these positions: more particles, if their estimates are too noisy there."""
    spread, particles = deviation(estimates(estimate, positions, 24)), estimate.filter.particles
    if not spread > MOST:
        return (
            f"not for want of particles: the standard deviation of its log likelihood estimates is {spread:.1f} there, "
            f"with {particles:,} particles, and good up to {MOST}. Take smaller steps, let ls.sample(..., adapt=True) "
            f"find their size, or run longer"
        )
    if not math.isfinite(spread):
        return (
            f"the {particles:,} particles often lose all of their weights, and the likelihood is estimated to be 0: "
            f"take many more, or a guided filter"
        )
    return (
        f"its log likelihood estimates are too noisy: their standard deviation is {spread:.1f} with {particles:,} "
        f"particles, and good at 1.0 to {MOST}; about {needed(particles, spread):,} particles would cure it"
    )
