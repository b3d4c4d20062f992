"""Independence proposals: a candidate that does not depend on the position."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import shapes
from lockstep.core.flat import flatten, require_floating, size, unflatten
from lockstep.core.parts import part, set_field, static
from lockstep.core.proposal import Proposal
from lockstep.core.trees import is_alike, is_concrete, is_floating, namespace, vectorize
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.draws import require_random
from lockstep.host.functions import Function, Scalar
from lockstep.proposals.layout import laid_out, require_layout, require_order
from lockstep.proposals.scales import normal_columns, scale_of, stretched_rows, unstretch, vector_of


class Candidate(NamedTuple):
    """The noise of an independence proposal: the candidate itself, and its log density."""

    position: Position
    log_density: Array


@part
class IndependentNormal(Proposal):
    """Independent normal candidates: θ' = mean + L z, whatever the position.

    Parameters
    ----------
    mean
        A number, a vector, or a dict for positions that are dicts.
    scale
        A standard deviation, a vector of them, a dict, or a Cholesky factor, as in `RandomWalk`.
    order
        As for `RandomWalk`.
    """

    mean: Any
    scale: Any
    order: str | None = static(default=None)

    computes_on_numpy = True
    is_independent = True
    can_stay = False

    def __post_init__(self) -> None:
        require_order(self.order, "IndependentNormal")
        set_field(self, "mean", vector_of(self.mean, "mean of IndependentNormal"))
        set_field(self, "scale", scale_of(self.scale, "scale of IndependentNormal"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Candidate:
        mean, scale = require_fit(self.mean, self.scale, position, "IndependentNormal", self.order)
        z = normal_columns(key, size(position), shape)
        candidate = unflatten(mean + stretched_rows(scale, z, shape), position, shape)
        return Candidate(candidate, -0.5 * jnp.sum(z**2, axis=0).reshape(shape))

    def __call__(self, noise: Candidate, position: Position) -> tuple[Position, Array]:
        mean, scale = laid_out(self.mean, position), laid_out(self.scale, position)
        z = unstretch(scale, flatten(position, namespace(noise.log_density)) - mean)
        return noise.position, -0.5 * (z * z).sum() - noise.log_density


@part
class IndependentUniform(Proposal):
    """Independent candidates, uniform on the box from ``low`` to ``high`` in each component.

    Each is a number, a vector, or a dict for positions that are dicts; ``order`` as for `RandomWalk`.
    """

    low: Any
    high: Any
    order: str | None = static(default=None)

    computes_on_numpy = True
    is_independent = True
    can_stay = False

    def __post_init__(self) -> None:
        require_order(self.order, "IndependentUniform")
        set_field(self, "low", vector_of(self.low, "low of IndependentUniform"))
        set_field(self, "high", vector_of(self.high, "high of IndependentUniform"))
        if not is_concrete((self.low, self.high)) or isinstance(self.low, dict) or isinstance(self.high, dict):
            return  # by name they are compared where the position is known
        if self.low.ndim and self.high.ndim and self.low.shape != self.high.shape:
            raise ValueError(
                f"low of IndependentUniform has shape {self.low.shape} but high has shape {self.high.shape}; give each "
                f"a number or one for each component"
            )
        _require_below(self.low, self.high)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        require_floating(position, "IndependentUniform")
        low = require_layout(self.low, position, "low of IndependentUniform", self.order)
        high = require_layout(self.high, position, "high of IndependentUniform", self.order)
        u = random.uniform(key, (*shape, size(position)))
        return unflatten(low + (high - low) * u, position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        array_module = namespace(jax.tree.leaves(noise)[0])
        here = flatten(position, array_module)
        low, high = self._box(position)
        is_inside = ((low <= here) & (here <= high)).all()
        return noise, array_module.where(is_inside, 0.0, -np.inf)

    def require_start(self, position: Position) -> None:
        """Refuse to start where no candidate would ever be accepted."""
        here = flatten(position, np)
        low, high = self._box(position)
        _require_below(low, high)
        if not np.all((low <= here) & (here <= high)):
            raise ValueError(
                f"initial is {here.tolist()}, outside the box from low to high of IndependentUniform; start inside it"
            )

    def _box(self, position: Position) -> tuple[Array, Array]:
        return laid_out(self.low, position), laid_out(self.high, position)


def _require_below(low: Array, high: Array) -> None:
    """Refuse an empty box, where its bounds are known."""
    if is_concrete((low, high)) and not np.all(np.less(low, high)):
        raise ValueError(
            f"low of IndependentUniform is {np.asarray(low).tolist()}, not below high, {np.asarray(high).tolist()}; "
            f"swap or widen them"
        )


def require_fit(mean: Array, scale: Array, position: Position, name: str, order: str | None) -> tuple[Array, Array]:
    """Mean and scale for the flat vector of a position; positions that are not floating-point are refused."""
    require_floating(position, name)
    return (
        require_layout(mean, position, f"mean of {name}", order),
        require_layout(scale, position, f"scale of {name}", order, is_matrix_allowed=True),
    )


@part
class Independent(Proposal):
    """Independent candidates from a sampler of your own.

    Parameters
    ----------
    sample
        ``sample(key)`` returns a candidate with the structure of the position.
    log_density
        ``log_density(position)``, the log density of what ``sample`` draws, up to a constant.
    """

    sample: Any
    log_density: Any

    computes_on_numpy = True
    is_independent = True

    def __post_init__(self) -> None:
        set_field(self, "sample", Function(self.sample, "sample of Independent"))
        set_field(self, "log_density", Scalar(self.log_density, "log_density of Independent"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Candidate:
        def draw(key: Key) -> Candidate:
            candidate = require_random(self.sample(key), key, self.sample)
            if not is_alike(candidate, position) or any(
                np.shape(new) != np.shape(old) or (is_floating(new) and not is_floating(old))
                for new, old in zip(jax.tree.leaves(candidate), jax.tree.leaves(position), strict=True)
            ):
                raise ValueError(
                    f"sample of Independent returned {_kind(candidate)}, but the position is {_kind(position)}; it "
                    f"must return a candidate like the position"
                )
            candidate = jax.tree.map(lambda new, old: jnp.asarray(new, jnp.result_type(old)), candidate, position)
            return Candidate(candidate, self.log_density(candidate))

        return vectorize(draw, len(shape))(key if not shape else random.split(key, shape))

    def __call__(self, noise: Candidate, position: Position) -> tuple[Position, Array]:
        return noise.position, self.log_density(position) - noise.log_density


def _kind(tree: Tree) -> str:
    dtypes = sorted({str(jnp.result_type(leaf)) for leaf in jax.tree.leaves(tree)})
    return f"{shapes(tree)} and dtype {', '.join(dtypes)}"
