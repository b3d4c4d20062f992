"""Which particles have offspring: sorted positions in [0, 1), and the particles whose shares they fall into."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import namespace
from lockstep.core.types import Array

SCHEMES = ("systematic", "multinomial")
WIDTH = 16  # of the rows in which sums are made


def normals_of(scheme: str, particles: int) -> int:
    """How many standard normal numbers a scheme needs for one resampling."""
    return 1 if scheme == "systematic" else particles + 1


def positions_of(normals: Array, scheme: str, particles: int) -> Array:
    """Sorted positions in [0, 1), a row for each resampling, from normal numbers.

    Systematic ones are (i + u)/N with one uniform u; multinomial ones are N uniform numbers in order, made from the
    spacings of N + 1 exponential ones.
    """
    if scheme == "systematic":
        return jax.scipy.special.ndtr(normals)[..., 0]
    spacings = jnp.cumsum(-jax.scipy.special.log_ndtr(normals), axis=-1)
    return spacings[..., :-1] / spacings[..., -1:]


def ancestors(positions: Array, weights: Array) -> Array:
    """The particle of each position, whose share of the weights it falls into.

    One number u stands for the systematic positions, (i + u)/N. The weights need not sum to 1.
    """
    xp, count = namespace(weights), weights.shape[0]
    shares = cumulative(weights)
    if np.ndim(positions):
        found = xp.searchsorted(shares, positions * shares[-1], side="right")
    else:
        # How many positions lie below the end of each share; a position is that of as many shares as end before it.
        below = xp.ceil(shares * (count / shares[-1]) - positions).astype(np.int32)
        found = cumulative(_counts(below, count)[:count])
    # Rounding may not lead to a particle beyond the last that has a weight.
    return xp.minimum(found, last_of(weights)).astype(np.int32)


def _counts(values: Array, most: int) -> Array:
    """How often each of the numbers 0 … most occurs."""
    if isinstance(values, np.ndarray):
        return np.bincount(np.clip(values, 0, most), minlength=most + 1)  # NaN is no number at all as a whole one
    # Of floating-point numbers sums are faster, and exact for whole ones.
    return jnp.zeros(most + 1, float).at[jnp.clip(values, 0, most)].add(1.0, mode="promise_in_bounds")


def last_of(weights: Array) -> Array:
    """The last particle that has a weight."""
    xp = namespace(weights)
    return xp.max(xp.where(weights > 0, xp.arange(weights.shape[0], dtype=np.int32), 0))


def cumulative(values: Array) -> Array:
    """Cumulative sums, in time that grows with their number.

    XLA's own are slow: in compiled code they are those of short rows, each by a product with a triangle of ones, and
    to them is added what the rows before sum to, which is found in the same way.
    """
    if isinstance(values, np.ndarray):
        return np.cumsum(values)
    count = values.shape[0]
    width = min(count, WIDTH)
    rows = jnp.pad(values, (0, -count % width)).reshape(-1, width)
    sums = rows @ np.triu(np.ones((width, width)))
    if rows.shape[0] > 1:
        totals = sums[:, -1]
        sums += (cumulative(totals) - totals)[:, None]
    return sums.reshape(-1)[:count]


def require_scheme(scheme: Any) -> str:
    """A name of a scheme, or an error that lists them."""
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        raise ValueError(f"resampling is {scheme!r}; it must be one of {', '.join(map(repr, SCHEMES))}")
    return scheme
