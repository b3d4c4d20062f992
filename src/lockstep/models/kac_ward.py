"""Normalising constants of Ising models without a field on free lattices of any size, exactly, by a determinant."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import lu_factor, lu_solve

from lockstep.core.types import Array, Position

RIGHT, DOWN, LEFT, UP = range(4)  # each is a quarter turn from the one before


@functools.partial(jax.jit, static_argnames="shape")
def log_normalizer(theta: Position, shape: tuple[int, int]) -> Array:
    """``log Σ_x exp(θ S(x))`` over all configurations of a lattice with free boundaries (Kac and Ward).

    ``Z = 2^N (cosh θ)^E √det(1 - W)`` with N sites and E bonds. W leads from a site that was entered in one direction
    to a neighbour, in any direction but back, with the weight ``tanh θ · e^{i turn/2}``. It joins a row of the lattice
    to itself and to the rows beside it, so that the determinant is the product of those of the rows, each after the
    rows above it are eliminated.
    """
    rows, width = max(shape), min(shape)
    within, down, up = (jnp.tanh(theta) * block for block in _blocks(width))
    whole = jnp.eye(4 * width) - within
    below, above = (d * width + np.arange(width) for d in (DOWN, UP))  # the states entered from above, from below

    def eliminate(row: Array, _: None) -> tuple[Array, Array]:
        factors = lu_factor(row)
        solved = lu_solve(factors, down)
        return whole.at[:, below].add(-up @ solved[above]), log_abs(factors)

    def log_abs(factors: tuple[Array, Array]) -> Array:
        return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(factors[0]))))

    last, logs = jax.lax.scan(eliminate, whole, None, length=rows - 1)
    log_determinant = logs.sum() + log_abs(lu_factor(last))
    sites, bonds = rows * width, rows * (width - 1) + (rows - 1) * width
    log_cosh = jnp.logaddexp(theta, -theta) - np.log(2)
    return sites * np.log(2) + bonds * log_cosh + log_determinant / 2


def _blocks(width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The phases from the states of a row to its own, to those below entered downwards, to those above entered upwards.

    State ``d * width + c`` is the site of column c, entered in direction d.
    """
    # Straight on, a quarter turn, never back, a quarter turn the other way.
    turn = np.array([1, np.exp(1j * np.pi / 4), 0, np.exp(-1j * np.pi / 4)])
    phases = turn[(np.arange(4)[None] - np.arange(4)[:, None]) % 4]  # from a direction to a direction
    here, right = np.eye(width), np.eye(width, k=1)
    within = np.zeros((4, width, 4, width), complex)
    within[:, :, RIGHT] = np.einsum("d,ab->dab", phases[:, RIGHT], right)
    within[:, :, LEFT] = np.einsum("d,ab->dab", phases[:, LEFT], right.T)
    down, up = (np.einsum("d,ab->dab", phases[:, d], here).reshape(4 * width, width) for d in (DOWN, UP))
    return within.reshape(4 * width, 4 * width), down, up
