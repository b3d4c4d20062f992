"""Normalising constants of Ising models on narrow lattices, exactly."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Array, Position

MOST_WIDTH = 16
MOST_PERIODIC_WIDTH = 11


@functools.partial(jax.jit, static_argnames="is_periodic")
def log_normalizer(theta: Position, field: Array, is_periodic: bool) -> Array:
    """``log Σ_x exp(θ S(x) + Σ_i h_i x_i)`` over all configurations, built up site by site along the longer side.

    ``field`` has the shape of the lattice.
    """
    field = field if field.shape[0] >= field.shape[1] else field.T
    rows, width = field.shape
    most = MOST_PERIODIC_WIDTH if is_periodic else MOST_WIDTH
    if width > most:
        raise ValueError(
            f"log_normalizer of a lattice of {rows} by {width}: the shorter side may have {most} sites at the most, "
            f"since 2^{width} configurations of it are summed. (Without a field and with free boundaries it may have "
            f"any size: Ising(shape).)"
        )
    spins = 1 - 2 * ((np.arange(2**width)[:, None] >> np.arange(width)[::-1]) & 1)  # configurations of a row
    along = (spins[:, :-1] * spins[:, 1:]).sum(axis=1) + (spins[:, 0] * spins[:, -1] if is_periodic else 0)
    log_first = theta * along + spins @ field[0]
    # Axes: the configuration of the last row; that of the first one, where both will be joined.
    weights = jnp.diag(jnp.exp(log_first - log_first.max())) if is_periodic else jnp.exp(log_first - log_first.max())
    weights = weights.reshape(2**width, -1)
    pair = jnp.exp(theta * np.array([[1.0, -1.0], [-1.0, 1.0]]))

    def add_row(carry: tuple[Array, Array], row: Array) -> tuple[tuple[Array, Array], None]:
        weights, log_scale = carry
        for c in range(width):
            weights = weights.reshape(2**c, 2, -1)
            weights = jnp.einsum("aib,ij->ajb", weights, pair)
            weights = weights * jnp.exp(row[c] * np.array([1.0, -1.0]))[:, None]
        weights = weights.reshape(2**width, -1) * jnp.exp(theta * along)[:, None]
        largest = weights.max()
        return (weights / largest, log_scale + jnp.log(largest)), None

    (weights, log_scale), _ = jax.lax.scan(add_row, (weights, log_first.max()), field[1:])
    if is_periodic:
        weights = weights * jnp.exp(theta * (spins @ spins.T))
    return log_scale + jnp.log(weights.sum())
