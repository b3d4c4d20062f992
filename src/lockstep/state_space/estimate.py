"""The log posterior density of parameters, with the likelihood estimated by a particle filter."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.evaluation import Evaluation
from lockstep.core.parts import part, set_field, static
from lockstep.core.precision import canonical
from lockstep.core.ratio import surely_below
from lockstep.core.trees import is_concrete, is_key, namespace
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.black_box import replaced
from lockstep.host.boxes import is_box, map_boxes
from lockstep.host.generator import RandomKey, as_keys, is_generator
from lockstep.host.limit import limit_now
from lockstep.host.prior import prior_of
from lockstep.host.scope import quiet
from lockstep.state_space.faults import emptied, exceeded, fault, looked, seen
from lockstep.state_space.filter import Filter, FilterNoise
from lockstep.state_space.forecast import Forecaster, forecaster_of
from lockstep.state_space.noisiness import cure_of
from lockstep.state_space.paths import traced
from lockstep.state_space.resampling import ancestors
from lockstep.state_space.stopping import run_until

TRIES = 64  # filters, to find what is wrong with some


@part
class ParticleEstimate(Evaluation):
    """The log prior density plus the log likelihood estimate of a filter, and perhaps one path of the hidden states.

    The noise of an update is a key, from which all noise of the filter is drawn at once: kept for a block of updates,
    it would fill the memory.
    """

    log_prior: Any
    filter: Filter
    has_path: bool = static(default=False)

    is_random = True
    gains_by_correlation = True
    exact_when = "the log densities and log weights of the model are right (any number of particles will do)"
    name = "the likelihood estimate"

    def __post_init__(self) -> None:
        if is_box(self.log_prior) and not self.filter.model.is_boxed:
            raise TypeError(
                "log_prior is a black box, but the model's functions are compiled; write log_prior with jax.numpy, or "
                "the model with functions on NumPy arrays"
            )
        set_field(self, "log_prior", prior_of(self.log_prior))

    @property
    def when_stuck(self) -> str:
        return (
            f"take more than {self.filter.particles:,} particles, so that the standard deviation of the log likelihood "
            f"estimate is near 1 (ls.advise(kernel, initial) measures it), or a guided filter"
        )

    @property
    def can_stop(self) -> bool:
        return self.filter.model.log_bound is not None

    @property
    def is_of_keys(self) -> bool:
        return self.filter.model.draw is None

    @property
    def forecaster(self) -> Forecaster | None:
        return forecaster_of(self.filter) if self.has_path else None

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return random.split(key, shape) if shape else key

    def opened(self, noise: Tree) -> FilterNoise:
        if not is_generator(noise):  # all is drawn
            return noise
        if self.filter.model.is_boxed:
            noise = RandomKey.of(noise)
            if self.filter.model.draw is None:
                return self.filter.generated(noise.generator())
            return jax.tree.map(np.asarray, self.filter.noise(as_keys(noise)))
        return self.filter.noise(noise)

    def __call__(self, noise: Tree, position: Position) -> Any:
        if self.filter.model.is_boxed and not is_concrete((noise, position)):
            raise NotImplementedError("a particle filter with black boxes cannot be called back from compiled code")
        full = self.opened(noise)
        log_prior = self.log_prior(position)
        if self.can_stop:
            least = surely_below(limit_now(), -log_prior)
            cloud, (history, lineage) = run_until(self.filter, full, position, least, self.has_path)
        else:
            cloud, _, (history, lineage) = self.filter(full, position, is_kept=self.has_path)
        xp = namespace(full.resampling)
        # Outside of the support of the prior the model need not have a meaning.
        value = xp.where(log_prior == -np.inf, -np.inf, log_prior + cloud.log_likelihood)[()]
        if not self.has_path:
            return value
        last = ancestors(self.chosen(full), cloud.weights)[0]
        path = traced(self.filter.series, history, lineage, last)
        return value, jax.tree.map(lambda leaf: leaf.astype(np.uint8) if leaf.dtype == bool else leaf, path)

    def chosen(self, noise: FilterNoise) -> Array:
        """The position, among the last particles, of the one whose path is taken."""
        found = jax.scipy.special.ndtr(jnp.asarray(noise.path))[None]
        return np.asarray(found) if isinstance(noise.resampling, np.ndarray) else found

    def cure(self, positions: Position) -> str | None:
        return cure_of(self, positions)

    def with_particles(self, particles: int, is_sorted: bool) -> ParticleEstimate:
        """The same with another number of particles."""
        made = dataclasses.replace(self.filter, particles=particles, is_sorted=is_sorted)
        return dataclasses.replace(self, filter=made)

    def probed(self, noise: Tree, candidates: Position) -> Any:
        plain = dataclasses.replace(self, has_path=False)
        if not self.filter.model.is_boxed:
            return jax.vmap(plain)(noise, candidates)
        plain = map_boxes(lambda box: replaced(box, is_callback=False), plain)
        rows = range(len(jax.tree.leaves(candidates)[0]))
        with quiet():
            found = [jax.tree.map(lambda leaf: _on_numpy(leaf[row]), (noise, candidates)) for row in rows]  # noqa: B023
            return np.array([plain(*one) for one in found])

    def blame(self, position: Position, noise: Tree = None) -> str:
        """The likelihood estimate, with the function that made it no number, and the step."""
        made: Filter = map_boxes(lambda box: replaced(box, is_callback=False), self.filter)
        for key in random.split(random.seeded(0), TRIES) if noise is None else [noise]:
            full = self.opened(key)
            if made.model.is_boxed:
                with quiet():
                    found = made(full, jax.tree.map(_on_numpy, position), seen)[1]
            else:
                found = looked(canonical(made, "model"), full, canonical(position, "position"))
            increments, are_right = jax.tree.map(np.asarray, found)
            said = (
                fault(made, increments, are_right) or emptied(made, increments) or exceeded(made, increments, position)
            )
            if said is not None:
                return f"{self.name} ({said})"
        return self.name


def _on_numpy(leaf: Array) -> Any:
    return leaf if is_key(leaf) else np.asarray(leaf)[()]
