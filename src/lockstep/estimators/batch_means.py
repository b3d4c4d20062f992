"""Averages of consecutive samples of a Markov chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import shapes, whole
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part, static
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.delta import Delta, delta_of
from lockstep.estimators.mean import average, average_of
from lockstep.estimators.samples import Pooled, Samples, mean_of, moments
from lockstep.host.boxes import vectorized
from lockstep.host.functions import Function, wrapped


@part
class BatchMeans(Estimator):
    """The average of ``count`` dependent samples; cumulants from the averages of ``batches`` consecutive batches."""

    samples: Samples
    delta: Delta | None
    batches: int = static()

    count = property(lambda self: self.samples.count)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.samples.noise(key, shape)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        averages = self._averages(noise, position, candidate)
        if self.delta is None:
            return average_of(averages)
        return self.delta.suited(self.samples, averages, position, candidate)(averages, position, candidate)

    def value(self, noise: Tree, position: Position, candidate: Position) -> Array:
        """The estimate alone, without its cumulants."""
        averages = self._averages(noise, position, candidate)
        if self.delta is None:
            return mean_of(averages)
        return self.delta.suited(self.samples, averages, position, candidate).value(averages, position, candidate)

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        groups = jax.vmap(self._averages, in_axes=(0, None, None))(noise, position, candidate)
        if self.delta is not None:
            delta = self.delta.suited(self.samples, groups[0], position, candidate)
            return delta.pooled(groups, position, candidate)
        estimate = average(moments(groups.ravel()), groups.size)
        return Pooled(estimate, groups.mean(axis=1) - estimate.value, estimate.third)

    def _averages(self, noise: Tree, position: Position, candidate: Position) -> Array:
        """The averages of the batches, a row each."""
        samples, count = self.samples(noise, position, candidate), self.count
        if not isinstance(samples, (np.ndarray, jax.Array)) or samples.ndim not in (1, 2) or len(samples) != count:
            raise ValueError(
                f"samples of batch_means returned {shapes(samples)}; it must return the {count} consecutive samples "
                f"of one chain, a row each"
            )
        if samples.ndim == 1:
            return mean_of(samples.reshape(self.batches, -1))
        if self.delta is None:
            raise ValueError("samples of batch_means are vectors; give combine(average, position, candidate)")
        return samples.reshape(self.batches, count // self.batches, -1).mean(axis=1)

    def taken(self, key: Key, position: Position, candidate: Position, estimates: int) -> tuple[BatchMeans, Any]:
        samples, values = self.samples.taken(key, position, candidate, estimates)
        return BatchMeans(samples, self.delta, self.batches), values

    def with_count(self, count: int) -> BatchMeans:
        """The same estimator with more or fewer samples in as many batches."""
        return BatchMeans(self.samples.with_count(_split(count, self.batches)), self.delta, self.batches)


def batch_means(
    samples: Tree,
    count: int,
    batches: int = 16,
    draw: Callable[..., Any] | None = None,
    combine: Callable[..., Any] | None = None,
) -> BatchMeans:
    """Estimate D by the average of ``count`` consecutive samples of a Markov chain.

    Parameters
    ----------
    samples
        ``samples(noise, position, candidate)`` returns all m consecutive samples, a row each. Without a ``draw``,
        ``noise`` is one random key.
    count
        The number of samples m, a multiple of ``batches``.
    batches
        The number of batches. Each must be long against the chain's autocorrelation time, for then its averages are
        nearly independent, and their variance tells that of the average; ``Estimate.count`` is the number of batches.
    draw
        ``draw(key, count)``: noise of ``count`` transitions, a row each.
    combine
        ``combine(average, position, candidate)``: D̂ as a smooth function of the average, as in `smooth`.

    Notes
    -----
    A chain that starts away from its equilibrium adds a bias of order 1/m that no batch can show.
    """
    batches = whole(batches, "batches of batch_means", 2)
    return BatchMeans(
        Samples(
            wrapped(Function, vectorized(samples), "samples of batch_means"),
            None if draw is None else wrapped(Function, draw, "draw of batch_means"),
            _split(count, batches),
            is_chain=True,
        ),
        None if combine is None else delta_of(combine, batches, "batch_means"),
        batches,
    )


def _split(count: int, batches: int) -> int:
    """The number of samples, refused if it is no multiple of the number of batches."""
    count = whole(count, "count of batch_means", batches)
    if count % batches:
        raise ValueError(
            f"count of batch_means is {count}, no multiple of batches, {batches}; take {count - count % batches}"
        )
    return count
