"""Proposals around a normal approximation of the target: independent with heavy tails, or steps that leave it alone."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.random as jr

from lockstep.core import random
from lockstep.core.arguments import is_number, positive
from lockstep.core.flat import flatten, size, unflatten
from lockstep.core.parts import part, set_field, static
from lockstep.core.proposal import Proposal
from lockstep.core.trees import choose, is_concrete, namespace
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.proposals.independent import Candidate, require_fit
from lockstep.proposals.layout import LEAVES, laid_out, require_order
from lockstep.proposals.reflection import reflected
from lockstep.proposals.scales import (
    first_of,
    normal_columns,
    normal_fit,
    scale_of,
    stretch,
    stretched_rows,
    unstretch,
    vector_of,
)

SHORT = 0.3  # of a step of Crank and Nicolson: it remembers where it was for 20 accepted updates and more


@part
class IndependentStudent(Proposal):
    """Independent candidates from a multivariate Student t: like `IndependentNormal`, with heavier tails.

    Tails that are heavier than the target's keep an independence chain from getting stuck.

    Parameters
    ----------
    mean, scale
        As for `IndependentNormal`; the scale is that of the normal numbers, before they are stretched by the t.
    degrees
        Degrees of freedom: the fewer, the heavier the tails.
    order
        As for `RandomWalk`.
    """

    mean: Any
    scale: Any
    degrees: Array = 5.0
    order: str | None = static(default=None)

    is_independent = True
    can_stay = False

    def __post_init__(self) -> None:
        require_order(self.order, "IndependentStudent")
        set_field(self, "mean", vector_of(self.mean, "mean of IndependentStudent"))
        set_field(self, "scale", scale_of(self.scale, "scale of IndependentStudent"))
        set_field(self, "degrees", positive(self.degrees, "degrees of IndependentStudent"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Candidate:
        mean, scale = require_fit(self.mean, self.scale, position, "IndependentStudent", self.order)
        key_normal, key_square = random.split(key)
        z = normal_columns(key_normal, size(position), shape)
        # A normal vector over the root of an independent χ²/ν.
        z = z / jnp.sqrt(jr.gamma(key_square, self.degrees / 2, shape, float) * (2 / self.degrees)).reshape(-1)
        candidate = unflatten(mean + stretched_rows(scale, z, shape), position, shape)
        return Candidate(candidate, self._log_density(z, jnp).reshape(shape))

    def __call__(self, noise: Candidate, position: Position) -> tuple[Position, Array]:
        array_module = namespace(noise.log_density)
        mean, scale = laid_out(self.mean, position), laid_out(self.scale, position)
        z = unstretch(scale, flatten(position, array_module) - mean)
        return noise.position, self._log_density(z, array_module) - noise.log_density

    def _log_density(self, z: Array, array_module: object) -> Array:
        square = (z * z).sum(axis=0) / self.degrees
        return -0.5 * (self.degrees + len(z)) * array_module.log1p(square)  # type: ignore[attr-defined]


@part
class CrankNicolson(Proposal):
    """Preconditioned Crank–Nicolson: θ' = mean + √(1 - step²) (θ - mean) + step L z.

    Its steps leave N(mean, L Lᵀ) alone, so that only the target's deviation from that normal law is left in the ratio:
    the acceptance does not fall with the dimension. ``step=1`` draws independently.

    Parameters
    ----------
    mean, scale
        As for `IndependentNormal`.
    step
        Above 0, at most 1.
    order
        As for `RandomWalk`.
    """

    mean: Any
    scale: Any
    step: Array = 0.5
    order: str | None = static(default=None)

    def __post_init__(self) -> None:
        require_order(self.order, "CrankNicolson")
        set_field(self, "mean", vector_of(self.mean, "mean of CrankNicolson"))
        set_field(self, "scale", scale_of(self.scale, "scale of CrankNicolson"))
        if is_concrete(self.step) and not (is_number(self.step) and 0 < self.step <= 1):
            raise ValueError(f"step of CrankNicolson is {self.step!r}; it must be one number, above 0 and at most 1")

    @property
    def is_short(self) -> bool:
        return bool(self.step < SHORT)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Array:
        _, scale = require_fit(self.mean, self.scale, position, "CrankNicolson", self.order)
        return self.step * stretched_rows(scale, normal_columns(key, size(position), shape), shape)

    def __call__(self, noise: Array, position: Position) -> tuple[Position, Array]:
        mean, scale = laid_out(self.mean, position), laid_out(self.scale, position)
        here = flatten(position, namespace(noise)) - mean
        there = (1 - self.step**2) ** 0.5 * here + noise
        old, new = unstretch(scale, here), unstretch(scale, there)
        return unflatten(mean + there, position), 0.5 * ((new * new).sum() - (old * old).sum())

    def coupled(
        self, noise: Array, meet: Array, position: Position, candidate: Position, other: Position
    ) -> tuple[Position, Array]:
        """The same candidate as often as the two normal laws overlap, else the normal step reflected."""
        array_module = namespace(meet)
        mean, scale = laid_out(self.mean, position), laid_out(self.scale, position)
        here, there, shared = (flatten(value, array_module) - mean for value in (position, other, candidate))
        apart = (1 - self.step**2) ** 0.5 * unstretch(scale, here - there) / self.step
        z, is_same = reflected(unstretch(scale, noise) / self.step, apart, meet)
        second, log_proposal_ratio = self(self.step * stretch(scale, z), other)
        old, new = unstretch(scale, there), unstretch(scale, shared)
        same_log_ratio = 0.5 * ((new * new).sum() - (old * old).sum())
        return choose(is_same, (candidate, same_log_ratio), (second, log_proposal_ratio))

    def adapted(self, positions: Position, step: float) -> CrankNicolson:
        """Around the mean and covariance of positions that were seen, with another step."""
        mean, factor = normal_fit(positions)
        if factor is None:
            mean, scale = (laid_out(value, first_of(positions)) for value in (self.mean, self.scale))
            return CrankNicolson(mean, scale, min(1.0, self.step * step), LEAVES)
        return CrankNicolson(mean, factor, min(1.0, 0.5 * step), LEAVES)
