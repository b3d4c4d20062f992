"""Proposals: a candidate and its log proposal ratio, returned together so that they cannot disagree.

Whatever does not depend on the position is computed with the noise: increments ``L z`` of a walk, the candidate of an
independence proposal and its density.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg
import numpy as np

from lockstep import flat
from lockstep.part import Function, Scalar, is_alike, is_concrete, namespace, part, set_field, static, vectorize
from lockstep.types import Array, Key, Position, Proposal, Shape

__all__ = [
    "Component",
    "Finite",
    "Independent",
    "IndependentNormal",
    "IndependentUniform",
    "RandomWalk",
    "UniformWalk",
]


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
        set_field(self, "scale", _scale(self.scale, "scale of RandomWalk"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        flat.require_floating(position, "RandomWalk")
        flat.require_size(self.scale, position, "scale of RandomWalk")
        z = jr.normal(key, (*shape, flat.size(position)), float)
        return flat.unflatten(_stretch(self.scale, z), position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0


@part
class UniformWalk:
    """Uniform random walk: θ' = θ + half_width · u, u uniform on [-1, 1] in each component."""

    half_width: Array

    def __post_init__(self) -> None:
        set_field(self, "half_width", _scale(self.half_width, "half_width of UniformWalk", is_matrix_allowed=False))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        flat.require_floating(position, "UniformWalk")
        flat.require_size(self.half_width, position, "half_width of UniformWalk")
        u = jr.uniform(key, (*shape, flat.size(position)), float, -1.0, 1.0)
        return flat.unflatten(self.half_width * u, position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        return _add(position, noise), 0.0


class Candidate(NamedTuple):
    """The noise of an independence proposal: the candidate itself, and its log density."""

    position: Position
    log_density: Array


@part
class IndependentNormal:
    """Independent normal candidates: θ' = mean + L z, whatever the position.

    Parameters
    ----------
    mean
        A number, a vector, or a structure like the position.
    scale
        A standard deviation, a vector of them, or a Cholesky factor, as in `RandomWalk`.
    """

    mean: Array
    scale: Array

    is_independent = True

    def __post_init__(self) -> None:
        set_field(self, "mean", _numbers(self.mean, "mean of IndependentNormal"))
        set_field(self, "scale", _scale(self.scale, "scale of IndependentNormal"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Candidate:
        flat.require_floating(position, "IndependentNormal")
        flat.require_size(self.mean, position, "mean of IndependentNormal")
        flat.require_size(self.scale, position, "scale of IndependentNormal")
        z = jr.normal(key, (*shape, flat.size(position)), float)
        candidate = flat.unflatten(self.mean + _stretch(self.scale, z), position, shape)
        return Candidate(candidate, -0.5 * jnp.sum(z**2, axis=-1))

    def __call__(self, noise: Candidate, position: Position) -> tuple[Position, Array]:
        centred = flat.flatten(position, namespace(noise.log_density)) - self.mean
        if np.ndim(self.scale) < 2:
            z = centred / self.scale
        else:
            z = jax.scipy.linalg.solve_triangular(self.scale, centred, lower=True)
        return noise.position, -0.5 * (z * z).sum() - noise.log_density


@part
class IndependentUniform:
    """Independent candidates, uniform on the box from ``low`` to ``high`` in each component."""

    low: Array
    high: Array

    is_independent = True

    def __post_init__(self) -> None:
        set_field(self, "low", _numbers(self.low, "low of IndependentUniform"))
        set_field(self, "high", _numbers(self.high, "high of IndependentUniform"))
        if is_concrete((self.low, self.high)) and not np.all(np.asarray(self.low) < np.asarray(self.high)):
            raise ValueError(
                f"low of IndependentUniform is {self.low}, not below high, {self.high}; swap or widen them"
            )

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Position:
        flat.require_floating(position, "IndependentUniform")
        flat.require_size(self.low, position, "low of IndependentUniform")
        flat.require_size(self.high, position, "high of IndependentUniform")
        u = jr.uniform(key, (*shape, flat.size(position)), float)
        return flat.unflatten(self.low + (self.high - self.low) * u, position, shape)

    def __call__(self, noise: Position, position: Position) -> tuple[Position, Array]:
        array_module = namespace(jax.tree.leaves(noise)[0])
        here = flat.flatten(position, array_module)
        is_inside = ((self.low <= here) & (here <= self.high)).all()
        return noise, array_module.where(is_inside, 0.0, -np.inf)


@part
class Independent:
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

    is_independent = True

    def __post_init__(self) -> None:
        set_field(self, "sample", Function(self.sample, "sample of Independent"))
        set_field(self, "log_density", Scalar(self.log_density, "log_density of Independent"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Candidate:
        def draw(key: Key) -> Candidate:
            candidate = self.sample(key)
            if not is_alike(candidate, position):
                raise ValueError(
                    f"sample of Independent returned {jax.tree.structure(candidate)}; the position is "
                    f"{jax.tree.structure(position)}"
                )
            candidate = jax.tree.map(lambda new, old: jnp.asarray(new, np.result_type(old)), candidate, position)
            return Candidate(candidate, self.log_density(candidate))

        return vectorize(draw, len(shape))(key if not shape else jr.split(key, shape))

    def __call__(self, noise: Candidate, position: Position) -> tuple[Position, Array]:
        return noise.position, self.log_density(position) - noise.log_density


@part
class Finite:
    """A proposal on the states 0..n-1: from state i to state j with probability ``matrix[i, j]``."""

    matrix: Array

    def __post_init__(self) -> None:
        if is_concrete(self.matrix):
            set_field(self, "matrix", _stochastic(self.matrix))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Array:
        leaves = jax.tree.leaves(position)
        if len(leaves) != 1 or np.shape(leaves[0]) or not np.issubdtype(np.result_type(leaves[0]), np.integer):
            raise TypeError(
                f"Finite moves one integer state, but the position is {jax.tree.map(np.result_type, position)} of "
                f"shape {jax.tree.map(np.shape, position)}; start from an integer such as jnp.array(0)"
            )
        return jr.uniform(key, shape, float)

    def __call__(self, noise: Array, position: Position) -> tuple[Position, Array]:
        array_module = namespace(noise)
        matrix = array_module.asarray(self.matrix)
        row = array_module.cumsum(matrix[position])
        # Dividing by the last sum makes it exactly 1, so that a state of probability 0 is never chosen.
        candidate = (row / row[-1] <= noise).sum().astype(np.result_type(position))
        return candidate, array_module.log(matrix[candidate, position] / matrix[position, candidate])

    def law(self, position: Position) -> tuple[Array, Array]:
        """One noise value for each candidate that can be proposed, and its probability."""
        row = np.asarray(self.matrix)[int(position)]
        cumulative = np.cumsum(row) / np.sum(row)
        is_possible = row > 0
        return (cumulative - row / 2)[is_possible], row[is_possible]


@part
class Component:
    """Moves one component of a position, named by its key, index or attribute; for component-wise updates.

    Examples
    --------
    >>> import lockstep as ls
    >>> ls.Component("sigma", ls.RandomWalk(0.1))
    Component(where='sigma', proposal=RandomWalk(scale=0.1))
    """

    where: str | int = static()
    proposal: Proposal

    @property
    def is_independent(self) -> bool:
        return False

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.proposal.noise(key, self._get(position), shape)

    def __call__(self, noise: Any, position: Position) -> tuple[Position, Array]:
        component, log_proposal_ratio = self.proposal(noise, self._get(position))
        return self._set(position, component), log_proposal_ratio

    def _get(self, position: Position) -> Position:
        try:
            return getattr(position, self.where) if hasattr(position, "_fields") else position[self.where]  # type: ignore[arg-type]
        except (KeyError, IndexError, AttributeError, TypeError) as error:
            raise ValueError(
                f"Component: the position has no component {self.where!r}; its structure is "
                f"{jax.tree.structure(position)}"
            ) from error

    def _set(self, position: Position, component: Position) -> Position:
        if hasattr(position, "_fields"):
            return position._replace(**{str(self.where): component})
        if isinstance(position, dict):
            return {**position, self.where: component}
        if isinstance(position, (tuple, list)):
            return type(position)(component if i == self.where else old for i, old in enumerate(position))
        return position.at[self.where].set(component)


def _add(position: Position, increment: Position) -> Position:
    return jax.tree.map(lambda here, step: here + step, position, increment)


def _stretch(scale: Array, z: Array) -> Array:
    return scale * z if np.ndim(scale) < 2 else z @ scale.T


def _numbers(value: Any, name: str) -> Array:
    """Hyperparameters as a float array, flat if they come with the structure of a position."""
    if not is_concrete(value):
        return value
    try:
        if not jax.tree_util.all_leaves([value]) and not isinstance(value, (list, tuple)):
            value = flat.flatten(value, np)
        numbers = np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, not {value!r}") from error
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} is {numbers.tolist()}; it must be finite")
    return numbers


def _scale(value: Any, name: str, is_matrix_allowed: bool = True) -> Array:
    if not is_concrete(value):
        return value
    scale = _numbers(value, name)
    if scale.ndim == 2 and is_matrix_allowed:
        if scale.shape[0] != scale.shape[1] or not np.array_equal(scale, np.tril(scale)):
            raise ValueError(
                f"{name} is a matrix of shape {scale.shape} that is not lower triangular; give the Cholesky factor of "
                f"the covariance, np.linalg.cholesky(covariance)"
            )
        diagonal = np.diag(scale)
    elif scale.ndim > 1:
        raise ValueError(f"{name} has shape {scale.shape}; give a number or a vector")
    else:
        diagonal = scale
    if not np.all(diagonal > 0):
        raise ValueError(f"{name} is {np.asarray(diagonal).tolist()}; it must be positive")
    return scale


def _stochastic(matrix: Any) -> Array:
    matrix = _numbers(matrix, "matrix of Finite")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix of Finite has shape {matrix.shape}; it must be square, a row for each state")
    if np.any(matrix < 0):
        raise ValueError(f"matrix of Finite has a negative entry, {matrix.min()}; probabilities cannot be negative")
    sums = matrix.sum(axis=1)
    if not np.allclose(sums, 1.0, atol=1e-8):
        row = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(f"matrix of Finite: row {row} sums to {sums[row]}, not to 1; divide it by its sum")
    if np.any((matrix > 0) != (matrix.T > 0)):
        i, j = np.argwhere((matrix > 0) & ~(matrix.T > 0))[0]
        raise ValueError(
            f"matrix of Finite proposes {j} from {i} but never {i} from {j}; such moves are never accepted: make both "
            f"entries positive or both zero"
        )
    return matrix
