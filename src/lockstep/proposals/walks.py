"""Random walks."""

from __future__ import annotations

import jax
import jax.random as jr
import numpy as np

from lockstep.flat import require_floating, require_size, size, unflatten
from lockstep.parts import part, set_field
from lockstep.proposals.scales import as_factor, best_walk, normal_fit, scale_of, stretch
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
        require_floating(position, "RandomWalk")
        require_size(self.scale, position, "scale of RandomWalk", is_matrix_allowed=True)
        z = jr.normal(key, (*shape, size(position)), float)
        return unflatten(stretch(self.scale, z), position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0

    def adapted(self, positions: Position, step: float) -> RandomWalk:
        """With the covariance of positions that were seen, and a step in units of what suits a normal target."""
        mean, factor = normal_fit(positions)
        if factor is None:
            return RandomWalk(step * as_factor(self.scale, len(mean)))
        return RandomWalk(step * best_walk(len(mean)) * factor)


@part
class UniformWalk:
    """Uniform random walk: θ' = θ + half_width · u, u uniform on [-1, 1] in each component."""

    half_width: Array

    def __post_init__(self) -> None:
        set_field(self, "half_width", scale_of(self.half_width, "half_width of UniformWalk", is_matrix_allowed=False))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        require_floating(position, "UniformWalk")
        require_size(self.half_width, position, "half_width of UniformWalk")
        u = jr.uniform(key, (*shape, size(position)), float, -1.0, 1.0)
        return unflatten(self.half_width * u, position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0

    def adapted(self, positions: Position, step: float) -> UniformWalk:
        """With half widths from the spread of positions that were seen, and a step as for `RandomWalk`."""
        mean, factor = normal_fit(positions)
        if factor is None:
            return UniformWalk(step * np.broadcast_to(self.half_width, mean.shape))
        spread = np.sqrt(3 * np.sum(factor**2, axis=1))
        return UniformWalk(step * best_walk(len(factor)) * spread)


def _add(position: Position, increment: Position) -> Position:
    if isinstance(position, (np.ndarray, np.generic)):
        return position + increment
    return jax.tree.map(lambda here, step: here + step, position, increment)
