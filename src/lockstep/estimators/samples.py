"""The samples of an estimator, and the moments that are estimated from them."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.arguments import shapes, whole
from lockstep.core.declared import Part
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part, static
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.boxed import HostSamples, all_samples
from lockstep.host.draws import draw_bulk, draw_each
from lockstep.host.functions import Function, arity, shown_by, wrapped
from lockstep.host.moments import host_mean, host_moments


class Moments(NamedTuple):
    """Mean, variance (with m-1) and third central moment (unbiased) of m numbers; NaN where m is too small."""

    mean: Array
    variance: Array
    third: Array


def moments(samples: Array) -> Moments:
    """Unbiased moments over the last axis."""
    if isinstance(samples, np.ndarray) and samples.ndim == 1:
        return Moments(*host_moments(samples))
    m = samples.shape[-1]
    mean = samples.mean(axis=-1)
    centred = samples - mean[..., None]
    squares = centred * centred
    return Moments(
        mean,
        squares.sum(axis=-1) * (1 / (m - 1) if m > 1 else np.nan),
        (squares * centred).sum(axis=-1) * (m / ((m - 1) * (m - 2)) if m > 2 else np.nan),
    )


def mean_of(samples: Array) -> Array:
    """The mean over the last axis."""
    return host_mean(samples) if isinstance(samples, np.ndarray) else samples.mean(axis=-1)


def pooled_moments(of: Moments, count: int) -> Moments:
    """The moments of all numbers together, from those of groups of ``count`` along the first axis."""
    total = len(of.mean) * count
    mean = of.mean.mean(axis=0)
    apart = of.mean - mean
    squares = of.variance * (count - 1) if count > 1 else np.zeros(())
    cubes = of.third * ((count - 1) * (count - 2) / count) if count > 2 else np.zeros(())  # two are symmetric
    variance = (squares + count * apart**2).sum(axis=0) / (total - 1)
    third = (cubes + 3 * apart * squares + count * apart**3).sum(axis=0) * (total / ((total - 1) * (total - 2)))
    return Moments(mean, variance, third)


@part
class Samples(Part):
    """``count`` samples from a user's ``sample`` function, with noise from keys or from a ``draw`` in bulk.

    Without a ``sample`` the draws are the samples themselves. They are free of the state then: if they are numbers,
    their moments are all that is kept of them, computed with the noise.
    """

    sample: Any
    draw: Any
    count: int = static()
    is_chain: bool = static(default=False)  # one call makes all samples

    @property
    def is_boxed(self) -> bool:
        """Whether the ``sample`` is a black box."""
        return self.sample is not None and self.sample.box is not None

    @property
    def hosted(self) -> Callable[[dict[Any, Any]], Any] | None:
        return (lambda _: HostSamples(self)) if self.is_boxed and self.sample.hosted is not None else None

    def noise(self, key: Key, shape: Shape = ()) -> Any:
        if self.draw is None and (self.is_chain or self.is_boxed):
            return draw_each(None, key, shape)  # one generator for all samples of an update
        draws = draw_bulk(self.draw, key, self.count, shape)
        is_number = isinstance(draws, (np.ndarray, jax.Array)) and draws.ndim == len(shape) + 1
        return moments(draws) if self.sample is None and is_number else draws

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Any:
        """The samples, or their moments if those are known already."""
        if self.sample is None:
            return noise
        if self.is_boxed:
            return all_samples(self.sample, self.count, (noise, position, candidate))
        if self.is_chain:
            return self.sample(noise, position, candidate)
        if is_on_host(noise):
            rows = (jax.tree.map(lambda leaf, i=i: leaf[i], noise) for i in range(self.count))
            return np.array([self.sample(row, position, candidate) for row in rows])
        return jax.vmap(self.sample, in_axes=(0, None, None))(noise, position, candidate)

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[Samples, Any]:
        """What takes samples in place of noise, and all samples of so many estimates: users' functions then rest."""
        if self.sample is None:
            samples = draw_bulk(self.draw, key, self.count, (estimates,))
        else:
            samples = jax.vmap(self.__call__, in_axes=(0, None, None))(
                self.noise(key, (estimates,)), position, candidate
            )
        return Samples(None, None, self.count, self.is_chain), samples

    def with_count(self, count: int) -> Samples:
        return Samples(self.sample, self.draw, whole(count, "count", 1), self.is_chain)


def is_on_host(noise: Tree) -> bool:
    """Whether noise has come to the host: an interpreted kernel with a black box somewhere inside its sample."""
    leaves = jax.tree.leaves(noise)
    return bool(leaves) and isinstance(leaves[0], np.ndarray)


class Pooled(NamedTuple):
    """One estimate from the samples of K, with the linear part of each of the K around it.

    ``linear`` is ∇g·(average of the samples of one - average of all), and ``third`` the third cumulant that this would
    have for one estimate from all samples; what else an estimate differs by from D is curvature.
    """

    estimate: Estimate
    linear: Array
    third: Array


def pooled(
    estimator: Estimator, noise: Tree, position: Position, candidate: Position, each: Estimate | None = None
) -> Pooled:
    """One estimate from K times as many samples: those of K estimates, whose noise has a leading axis.

    An estimator of a user's own may do without a ``pooled``: the average of its estimates stands in, less the bias that
    they state, with the cumulants that the spread of the estimates tells. ``each``: the K estimates, if known.
    """
    if estimator.pooled is not None:
        return estimator.pooled(noise, position, candidate)
    if each is None:
        each = jax.vmap(estimator, in_axes=(0, None, None))(noise, position, candidate)
    values = moments(each.value)
    total = len(each.value)
    bias = jnp.mean(each.bias)
    value, third = values.mean - bias + bias / total, values.third / total**2
    return Pooled(Estimate(value, bias / total, values.variance / total, third, total), each.value - values.mean, third)


def taken(
    estimator: Estimator, key: Key, position: Position, candidate: Position, estimates: int
) -> tuple[Estimator, Any]:
    """An estimator whose noise is its samples, and these, for so many estimates.

    What is computed from them afterwards calls no function of a user's. An estimator of a user's own may do without a
    ``taken``: it comes back as it is, with its noise.
    """
    if estimator.taken is not None:
        return estimator.taken(key, position, candidate, estimates)
    return estimator, estimator.noise(key, position, (estimates,))


def with_count(estimator: Estimator, count: int) -> Estimator:
    """The same estimator with another number of samples, or an error if it cannot have that."""
    if estimator.with_count is None:
        raise TypeError(
            f"estimator {estimator!r} has no with_count(count), a method that returns the same estimator with another "
            f"number of samples; give it one"
        )
    return estimator.with_count(count)


def influences(estimator: Estimator, samples: Tree, position: Position, candidate: Position) -> Array:
    """What each sample adds to the linear part of an estimate, from the samples of K; one NaN if that is not known.

    The linear part of an estimate is the average of these over its samples.
    """
    if estimator.influences is not None:
        return estimator.influences(samples, position, candidate)
    return jnp.full(1, jnp.nan)


class OfSamples(Estimator):
    """An estimator whose noise is that of independent samples, with cumulants that are estimated from them."""

    samples: Samples

    count = property(lambda self: self.samples.count)

    @property
    def has_variance(self) -> bool:
        return self.count > 1

    @property
    def shown(self) -> Any:
        return shown_by(self.samples.sample)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.samples.noise(key, shape)

    @abstractmethod
    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[Self, Any]:
        samples, values = self.samples.taken(key, position, candidate, estimates)
        return dataclasses.replace(self, samples=samples), values  # type: ignore[type-var]

    def influences(self, samples: Array, position: Position, candidate: Position) -> Array:
        """Each sample is an estimate of one."""
        singles = samples.reshape(-1, 1, *samples.shape[2:])
        return self.with_count(1).pooled(singles, position, candidate).linear

    def with_count(self, count: int) -> Self:
        """The same estimator with another number of samples."""
        return dataclasses.replace(self, samples=self.samples.with_count(count))  # type: ignore[type-var]


def as_estimator(estimator: Estimator, name: str) -> Estimator:
    """Adopt an estimator; a user's proposal has its methods, but takes one argument less."""
    remedy = "an estimator such as ls.estimators.mean(sample, count)"
    found = adopted(estimator, Estimator, name, remedy)
    if jax.tree_util.all_leaves([estimator]):
        raise TypeError(f"{name} is {estimator!r}, which is no pytree; decorate its class with ls.part")
    if arity(estimator) == 2:
        raise TypeError(f"{name} must be {remedy}; got {estimator!r}: are the arguments in the right order?")
    return found


def samples_of(
    kind: Any, sample: Callable[..., Any], count: int, draw: Callable[..., Any], name: str, argument: str = "sample"
) -> Samples:
    """Check and wrap what a user gave an estimator, which calls its sample by the name of an ``argument``."""
    if sample is None and draw is None:
        raise ValueError(
            f"sample of {name} is None and there is no draw; give a sample function, or a draw(key, count) whose draws "
            f"are the samples"
        )
    return Samples(
        None if sample is None else wrapped(kind, sample, f"{argument} of {name}"),
        None if draw is None else wrapped(Function, draw, f"draw of {name}"),
        whole(count, f"count of {name}", 1),
    )


def is_row(samples: Tree) -> bool:
    """Whether samples are numbers on the host."""
    return type(samples) is np.ndarray and samples.ndim == 1


def are_moments(samples: Tree) -> TypeGuard[Moments]:
    """Whether all that is kept of samples are their moments."""
    return isinstance(samples, Moments)


def moments_of(samples: Tree) -> Moments | None:
    """The moments of samples that are numbers; None for vectors."""
    if are_moments(samples):
        return samples
    return moments(samples) if samples.ndim == 1 else None


def as_moments(samples: Tree, name: str) -> Moments:
    """The moments of samples that must be numbers."""
    if are_moments(samples):
        return samples
    if not isinstance(samples, (np.ndarray, jax.Array)) or samples.ndim != 1:
        raise ValueError(
            f"draw of {name} made {shapes(samples)} as the samples; each must be one number, or give a sample function"
        )
    return moments(samples)
