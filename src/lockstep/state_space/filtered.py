"""What a particle filter says: likelihood, effective sample sizes, filtered means and quantiles, and paths."""

from __future__ import annotations

import dataclasses
import functools
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import real_numbers, whole
from lockstep.core.parts import show
from lockstep.core.precision import canonical, double_precision
from lockstep.core.trees import is_key, namespace
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.core.warnings import warn
from lockstep.host.scope import quiet
from lockstep.state_space.faults import SHOULD, fault, seen
from lockstep.state_space.figure import draw
from lockstep.state_space.filter import Cloud, Filter, FilterNoise, effective, require_filter
from lockstep.state_space.paths import traced
from lockstep.state_space.resampling import ancestors
from lockstep.state_space.series import series


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Filtered:
    """The result of `StateSpace.filter`; arrays of NumPy.

    Attributes
    ----------
    log_likelihood
        The logarithm of an unbiased estimate of the likelihood.
    increments
        Its summands, one for each observation.
    effective
        Effective sample sizes, one for each observation.
    means
        Means of the states given the data until each observation, with the structure of a state.
    quantiles
        Quantiles of the states, with a second axis over ``levels``.
    paths
        Paths, with a row for each time from 0; None if none were asked for.
    collapsed
        At how many observations no particle had a weight: the estimate of the likelihood is then 0, and its logarithm
        minus infinity.
    """

    log_likelihood: float
    increments: np.ndarray
    effective: np.ndarray
    means: Any
    quantiles: Any
    levels: tuple[float, ...]
    times: np.ndarray
    particles: int
    paths: Any = None

    @property
    def collapsed(self) -> int:
        return int(np.isneginf(self.increments).sum())

    def figure(self, data: Tree = None, path: str | PathLike[str] | None = None) -> Any:
        """Filtered states with a band between the outer quantiles, and effective sample sizes; saved to a path."""
        return draw(self, data, path)

    def __repr__(self) -> str:
        return (
            f"Filtered: log likelihood {self.log_likelihood:.4f} from {len(self.times)} observations with "
            f"{self.particles:,} particles, effective sample sizes from {np.min(self.effective):,.1f} to "
            f"{np.max(self.effective):,.1f}"
            + (f", no weight at {self.collapsed} observations" if self.collapsed else "")
        )


def filtered(
    model: Any,
    key: Key,
    theta: Position,
    data: Tree,
    particles: Any,
    times: Array,
    inputs: Tree,
    resampling: Any,
    threshold: Any,
    quantiles: Any,
    paths: Any,
    is_sorted: bool,
) -> Filtered:
    """Run a filter once, and look at each of its clouds."""
    levels = _levels(quantiles)
    count = whole(paths, "paths", 0)
    with double_precision():
        made = require_filter(model, series(data, times, inputs), particles, resampling, threshold, is_sorted)
        made, theta = canonical(made, "model"), canonical(theta, "theta")
        if not is_key(key):
            raise TypeError(f"key is {show(key)}; it must be a random key, such as jax.random.key(1)")
        key_filter, key_paths = random.split(key)
        if model.is_boxed:
            made, theta = jax.tree.map(_on_numpy, (made, theta))
            generator = np.random.default_rng(np.asarray(jr.key_data(key_filter)))
            noise = made.noise(key_filter) if model.draw is not None else made.generated(generator)
            noise = noise if model.draw is None else FilterNoise(*jax.tree.map(np.asarray, tuple(noise)))
            with quiet():
                found = _looked(made, noise, theta, levels, np.sort(generator.uniform(size=count)))
        else:
            found = _compiled(made, key_filter, theta, levels, jnp.sort(jr.uniform(key_paths, (count,))))
        cloud, ((increments, are_right), sizes, means, values), drawn = jax.tree.map(np.asarray, found)
    _require_weights(made, increments, are_right)
    return Filtered(
        float(cloud.log_likelihood),
        increments,
        sizes,
        means,
        values,
        levels,
        np.asarray(made.series.times),
        made.particles,
        drawn if count else None,
    )


@functools.partial(jax.jit, static_argnames="levels")
def _compiled(made: Filter, key: Key, theta: Position, levels: tuple[float, ...], chosen: Array) -> Any:
    return _looked(made, made.noise(key), theta, levels, chosen)


def _looked(made: Filter, noise: Tree, theta: Position, levels: tuple[float, ...], chosen: Array) -> Any:
    """The last cloud, increments, effective sizes, means and quantiles, and paths that end where ``chosen`` say."""

    def look(cloud: Cloud) -> Any:
        share = cloud.weights / namespace(cloud.weights).sum(cloud.weights)
        means = jax.tree.map(lambda leaf: namespace(leaf).tensordot(share, leaf * 1.0, 1), cloud.states)
        values = jax.tree.map(lambda leaf: weighted_quantiles(leaf, share, levels), cloud.states)
        return seen(cloud), effective(cloud.weights), means, values

    is_kept = bool(chosen.shape[0])
    cloud, views, (history, lineage) = made(noise, theta, look, is_kept)
    paths: Any = ()
    if is_kept:
        last = ancestors(chosen, cloud.weights)
        if isinstance(last, np.ndarray):
            found = [traced(made.series, history, lineage, one) for one in last]
            paths = jax.tree.map(lambda *leaves: np.stack(leaves), *found)
        else:
            paths = jax.vmap(lambda one: traced(made.series, history, lineage, one))(last)
    return cloud._replace(states=(), weights=(), ancestors=()), views, paths


def weighted_quantiles(values: Array, share: Array, levels: tuple[float, ...]) -> Array:
    """Quantiles of weighted values along the first axis, each one of the values."""
    xp = namespace(share)
    order = xp.argsort(values, axis=0)
    ordered = xp.take_along_axis(values, order, axis=0)
    sums = xp.cumsum(share[order], axis=0)
    rows = [xp.argmax(sums >= level * sums[-1:], axis=0) for level in levels]
    return xp.stack([xp.take_along_axis(ordered, row[None], axis=0)[0] for row in rows])


def _on_numpy(leaf: Array) -> Any:
    array = np.asarray(leaf)
    return array if array.ndim else array[()]


def _levels(quantiles: Any) -> tuple[float, ...]:
    levels = tuple(float(level) for level in np.atleast_1d(real_numbers(quantiles, "quantiles")))
    if not all(0 <= level <= 1 for level in levels):
        raise ValueError(f"quantiles is {quantiles!r}; they must be between 0 and 1")
    return levels


def _require_weights(made: Filter, increments: np.ndarray, are_right: np.ndarray) -> None:
    """Refuse weights that are no numbers, and warn of clouds without any."""
    found = fault(made, increments, are_right)
    if found is not None:
        raise FloatingPointError(f"the weights of particles are NaN or plus infinity: {found}; {SHOULD}")
    empty = np.flatnonzero(np.isneginf(increments))
    if empty.size:
        warn(
            f"no particle had a weight at {empty.size} of {len(increments)} observations, first at number {empty[0]}: "
            f"the estimate of the likelihood is 0. Take more particles, or a guided filter, unless these parameters "
            f"cannot have made the data"
        )
