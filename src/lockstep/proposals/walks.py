"""Random walks."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core import random
from lockstep.core.flat import flatten, require_floating, size, unflatten
from lockstep.core.parts import part, set_field, static
from lockstep.core.proposal import Proposal
from lockstep.core.trees import choose, namespace
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.proposals.layout import LEAVES, laid_out, require_layout, require_order
from lockstep.proposals.reflection import reflected
from lockstep.proposals.scales import as_factor, best_walk, first_of, normal_fit, scale_of, stretch, unstretch


@part
class RandomWalk(Proposal):
    """Normal random walk: θ' = θ + L z, z standard normal.

    Parameters
    ----------
    scale
        A standard deviation for all components, a vector of them, or a lower triangular Cholesky factor L of the
        covariance matrix. For positions that are dicts, a number for all or a dict with the same keys.
    order
        ``"leaves"``: an array counts the components of a dict in the order of ``jax.tree.leaves``, by sorted keys.

    Examples
    --------
    >>> import lockstep as ls
    >>> ls.RandomWalk([1.0, 0.1])
    RandomWalk(scale=[1.0, 0.1])
    >>> walk = ls.RandomWalk({"rate": 1e-4, "size": 100.0})
    """

    scale: Any
    order: str | None = static(default=None)

    computes_on_numpy = True
    can_stay = False

    def __post_init__(self) -> None:
        require_order(self.order, "RandomWalk")
        set_field(self, "scale", scale_of(self.scale, "scale of RandomWalk"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        require_floating(position, "RandomWalk")
        scale = require_layout(self.scale, position, "scale of RandomWalk", self.order, is_matrix_allowed=True)
        z = random.normal(key, (*shape, size(position)))
        return unflatten(stretch(scale, z), position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0

    def coupled(
        self, noise: Position, meet: Array, position: Position, candidate: Position, other: Position
    ) -> tuple[Position, Array]:
        """The same candidate as often as the two normal laws overlap, else the step reflected."""
        array_module, scale = namespace(meet), laid_out(self.scale, position)
        here, there, step = (flatten(value, array_module) for value in (position, other, noise))
        z, is_same = reflected(unstretch(scale, step), unstretch(scale, here - there), meet)
        return choose(is_same, candidate, _add(other, unflatten(stretch(scale, z), noise))), 0.0

    def adapted(self, positions: Position, step: float) -> RandomWalk:
        """With the covariance of positions that were seen, and a step in units of what suits a normal target."""
        mean, factor = normal_fit(positions)
        if factor is None:
            return RandomWalk(step * as_factor(laid_out(self.scale, first_of(positions)), len(mean)), LEAVES)
        return RandomWalk(step * best_walk(len(mean)) * factor, LEAVES)


@part
class UniformWalk(Proposal):
    """Uniform random walk: θ' = θ + half_width · u, u uniform on [-1, 1] in each component.

    ``half_width`` is a number, a vector, or a dict for positions that are dicts; ``order`` as for `RandomWalk`.
    """

    half_width: Any
    order: str | None = static(default=None)

    computes_on_numpy = True
    can_stay = False

    def __post_init__(self) -> None:
        require_order(self.order, "UniformWalk")
        set_field(self, "half_width", scale_of(self.half_width, "half_width of UniformWalk", is_matrix_allowed=False))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        require_floating(position, "UniformWalk")
        half_width = require_layout(self.half_width, position, "half_width of UniformWalk", self.order)
        u = 2.0 * random.uniform(key, (*shape, size(position))) - 1.0
        return unflatten(half_width * u, position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0

    def coupled(
        self, noise: Position, meet: Array, position: Position, candidate: Position, other: Position
    ) -> tuple[Position, Array]:
        """The same candidate where it lies in the other box too, else the step to the other side.

        A reflection at the middle between the two maps one box to the other and their overlap to itself.
        """
        array_module = namespace(meet)
        ahead = flatten(candidate, array_module) - flatten(other, array_module)
        is_same = (abs(ahead) <= laid_out(self.half_width, position)).all()
        back = jax.tree.map(lambda step: -step, noise)
        return choose(is_same, candidate, _add(other, back)), 0.0

    def adapted(self, positions: Position, step: float) -> UniformWalk:
        """With half widths from the spread of positions that were seen, and a step as for `RandomWalk`."""
        mean, factor = normal_fit(positions)
        if factor is None:
            half_width = laid_out(self.half_width, first_of(positions))
            return UniformWalk(step * np.broadcast_to(half_width, mean.shape), LEAVES)
        spread = np.sqrt(3 * np.sum(factor**2, axis=1))
        return UniformWalk(step * best_walk(len(factor)) * spread, LEAVES)


def _add(position: Position, increment: Position) -> Position:
    if isinstance(position, (np.ndarray, np.generic)):
        return position + increment
    return jax.tree.map(lambda here, step: here + step, position, increment)
