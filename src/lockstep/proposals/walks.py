"""Random walks."""

from __future__ import annotations

import jax
import jax.random as jr
import jax.scipy.linalg
import numpy as np

from lockstep import flat
from lockstep.parts import part, set_field
from lockstep.proposals.scales import scale_of, stretch
from lockstep.types import Array, Key, Position, Shape


@part
class RandomWalk:
    """Normal random walk: θ' = θ + L z, z standard normal.

    Parameters
    ----------
    scale
        A standard deviation for all components, a vector of them, or a lower triangular Cholesky factor L of the
        covariance matrix. Components of a structured position are counted in the order of its leaves.

    Examples
    --------
    >>> import lockstep as ls
    >>> ls.RandomWalk([1.0, 0.1])
    RandomWalk(scale=[1.0, 0.1])
    """

    scale: Array

    def __post_init__(self) -> None:
        set_field(self, "scale", scale_of(self.scale, "scale of RandomWalk"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        flat.require_floating(position, "RandomWalk")
        flat.require_size(self.scale, position, "scale of RandomWalk", is_matrix_allowed=True)
        z = jr.normal(key, (*shape, flat.size(position)), float)
        return flat.unflatten(stretch(self.scale, z), position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0


@part
class UniformWalk:
    """Uniform random walk: θ' = θ + half_width · u, u uniform on [-1, 1] in each component."""

    half_width: Array

    def __post_init__(self) -> None:
        set_field(self, "half_width", scale_of(self.half_width, "half_width of UniformWalk", is_matrix_allowed=False))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        flat.require_floating(position, "UniformWalk")
        flat.require_size(self.half_width, position, "half_width of UniformWalk")
        u = jr.uniform(key, (*shape, flat.size(position)), float, -1.0, 1.0)
        return flat.unflatten(self.half_width * u, position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0


def _add(position: Position, increment: Position) -> Position:
    if isinstance(position, (np.ndarray, np.generic)):
        return position + increment
    return jax.tree.map(lambda here, step: here + step, position, increment)
