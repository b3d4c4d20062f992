"""The delta method: cumulants of a smooth function of an average, from its derivatives there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import shapes
from lockstep.core.declared import Part
from lockstep.core.estimator import Estimate
from lockstep.core.parts import part, static
from lockstep.core.trees import namespace
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators.differences import by_differences
from lockstep.estimators.samples import Pooled, Samples, are_moments, moments, moments_of, pooled_moments
from lockstep.host.black_box import blackbox
from lockstep.host.boxes import boxes, called_back, is_box, returning
from lockstep.host.compiled import Compiled
from lockstep.host.functions import Function, Scalar, wrapped


@part
class Delta(Part):
    """``D̂ = g(average of W₁..W_m)`` and its cumulants, from the samples.

    With μ the average, Σ the covariance of W, a_i = ∇g·(W_i - μ) and H = ∇²g, derivatives taken at μ:
    bias = tr(H Σ)/(2m), variance = ∇gᵀ Σ ∇g/m, third = [E a³ + 3 (Σ∇g)ᵀ H (Σ∇g)]/m². A g that is written in JAX is
    differentiated; a black box has differences along the standard errors of the average.
    """

    combine: Any
    count: int = static()
    name: str = static()  # of the estimator
    is_black: bool = static(default=False)
    is_vectorized: bool = static(default=False)  # a black box of many averages at once

    @property
    def hosted(self) -> Callable[[dict[Any, Any]], Any] | None:
        return None if self.is_black else lambda _: Attempted(self)

    def __call__(self, samples: Tree, position: Position, candidate: Position) -> Estimate:
        """G at the average of the samples (numbers, vectors, or the moments of numbers), and its cumulants."""
        return self._parts(samples, self.count, position, candidate)[0]

    def value(self, samples: Tree, position: Position, candidate: Position) -> Array:
        """G at the average alone."""
        _require_samples(samples, self.count, self.name)
        mean = samples.mean if are_moments(samples) else samples.mean(axis=0)
        if self.is_black:
            return self._at_many(position, candidate)(mean[None])[0]
        return self.combine(mean, position, candidate)

    def pooled(self, groups: Any, position: Position, candidate: Position) -> Pooled:
        """The same from groups of ``count`` samples along the first axis, with the linear part of each group."""
        if are_moments(groups):
            means, together = groups.mean, pooled_moments(groups, self.count)
        else:
            means, together = groups.mean(axis=1), groups.reshape(-1, *groups.shape[2:])
        estimate, along, third = self._parts(together, len(means) * self.count, position, candidate)
        return Pooled(estimate, along(means - means.mean(axis=0)), third)

    def _parts(self, samples: Tree, count: int, position: Position, candidate: Position) -> tuple[Estimate, Any, Array]:
        """The estimate, ∇g·(difference of an average from that of all), and the third cumulant of the linear part."""
        _require_samples(samples, count, self.name)
        if self.is_black:
            return by_differences(self._at_many(position, candidate), samples, count, f"combine of {self.name}")
        return by_derivatives(lambda average: self.combine(average, position, candidate), samples, count)

    def _at_many(self, position: Position, candidate: Position) -> Callable[[Array], Array]:
        """A black box at several averages, a row each: in one call, or one after the other."""

        def at_many(averages: Array) -> Array:
            if self.is_vectorized:
                return self._at_once(averages, position, candidate)
            if namespace(averages) is np:
                return np.array([self.combine(average, position, candidate) for average in averages])
            return jax.vmap(self.combine, in_axes=(0, None, None))(averages, position, candidate)

        return at_many

    def _at_once(self, averages: Array, position: Position, candidate: Position) -> Array:
        combine, number = self.combine, len(averages)
        if namespace(averages) is not np:  # a callback must know what it returns
            like = jax.ShapeDtypeStruct((number,), np.float64)
            combine = Function(returning(combine.function, like), combine.name)
        values = combine(averages, position, candidate)
        if np.shape(values) != (number,):
            raise ValueError(
                f"combine of {self.name} returned {shapes(values)} for {number} averages; a vectorized black box gets "
                f"several averages, a row each, and must return a number for each"
            )
        return values

    def suited(self, source: Samples, samples: Tree, position: Position, candidate: Position) -> Delta:
        """The same as compiled code can call it: next to a black-box sample, g may be plain Python too."""
        if self.is_black or not source.is_boxed or self.is_traceable(samples, position, candidate):
            return self
        return called_back(self.as_black())

    def is_traceable(self, samples: Tree, position: Position, candidate: Position) -> bool:
        """Whether g is a JAX function: one that can be called without the values of its arguments."""
        try:
            jax.eval_shape(self.value, samples, position, candidate)
        except TypeError as error:
            if isinstance(error.__cause__, (jax.errors.JAXTypeError, jax.errors.JAXIndexError)):
                return False
            raise
        return True

    def as_black(self) -> Delta:
        """The same with g as a black box."""
        given = self.combine
        is_plain = isinstance(given.function, jax.tree_util.Partial) and not given.function.args
        box = blackbox(given.function.func if is_plain else given.function.__call__)
        return Delta(Scalar(box, given.name), self.count, self.name, is_black=True)

    def with_count(self, count: int) -> Delta:
        return Delta(self.combine, count, self.name, self.is_black, self.is_vectorized)


class Attempted:
    """A `Delta` in an interpreted kernel: compiled if its function is one of JAX, else that is a black box too."""

    def __init__(self, delta: Delta) -> None:
        self.delta = delta
        self.found: Any = None

    def suited(self, _: Any, *arguments: Any) -> Any:
        if self.found is None:
            is_compiled = self.delta.is_traceable(*arguments)
            self.found = Compiled(self.delta) if is_compiled else _straight(self.delta.as_black())
        return self.found


def _straight(delta: Delta) -> Delta:
    return dataclasses.replace(delta, combine=delta.combine.hosted({}))


def delta_of(combine: Callable[..., Any], count: int, name: str) -> Delta:
    """Check and wrap what a user gave an estimator."""
    is_black = bool(boxes(combine))
    is_vectorized = is_box(combine) and combine.is_vectorized and not combine.is_batched
    function: Any = wrapped(Function if is_vectorized else Scalar, combine, f"combine of {name}")
    return Delta(function, count, name, is_black, is_vectorized)


def by_derivatives(g: Callable[[Array], Array], samples: Tree, count: int) -> tuple[Estimate, Any, Array]:
    """The delta method for a function that JAX can differentiate."""
    if (of := moments_of(samples)) is not None:
        slope, curvature = jax.grad(g)(of.mean), jax.grad(jax.grad(g))(of.mean)
        bias = curvature * of.variance / 2
        variance = slope**2 * of.variance
        straight = slope**3 * of.third
        third = straight + 3 * curvature * (slope * of.variance) ** 2
        estimate = Estimate(g(of.mean), bias / count, variance / count, third / count**2, count)
        return estimate, lambda apart: apart * slope, straight / count**2
    mean = samples.mean(axis=0)
    gradient, hessian = jax.grad(g)(mean), jax.hessian(g)(mean)
    centred = samples - mean
    along = moments(centred @ gradient)  # of the a_i
    spread = centred.T @ (centred @ gradient) / (count - 1) if count > 1 else np.nan * mean  # Σ∇g
    bias = ((centred @ hessian) * centred).sum() / (count - 1) / 2 if count > 1 else np.nan
    third = along.third + 3 * spread @ hessian @ spread
    estimate = Estimate(g(mean), bias / count, along.variance / count, third / count**2, count)
    return estimate, lambda apart: apart @ gradient, along.third / count**2


def _require_samples(samples: Tree, count: int, name: str) -> None:
    """Refuse samples that have no average, or none that is real."""
    if are_moments(samples):
        return
    is_array = isinstance(samples, (np.ndarray, jax.Array))
    if not is_array or samples.ndim not in (1, 2):
        raise ValueError(
            f"the {count} samples of {name} are {shapes(samples)}; each must be a number or a vector: flatten or "
            f"concatenate it"
        )
    if np.issubdtype(samples.dtype, np.complexfloating):
        raise TypeError(f"the samples of {name} have dtype {samples.dtype}; they must be real numbers")
