"""Where chains begin around a mode: scattered more widely than the posterior, so that R-hat can tell if they agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.flat import flatten, unflatten
from lockstep.core.precision import canonical, double_precision
from lockstep.core.types import Array, Key, Position
from lockstep.subsampling.mode import Mode
from lockstep.subsampling.rows import Rows
from lockstep.subsampling.sums import all_values, prior_values

FACTORS = (2.0, 1.0, 0.5)  # of the scale of the normal approximation; the mode itself if none will do
MOST_ABOVE = 2.0  # of the log posterior above its normal approximation: independent candidates would stick there


class Scattered(NamedTuple):
    """The surroundings of a mode, as a fit hands them over for the starts of chains."""

    mode: Mode
    log_prior: Any
    log_likelihood: Any
    rows: Rows

    def draw(self, keys: Key) -> Position:
        """A position for each key: the mode plus a normal step of twice the scale of the approximation there.

        A step of once or half the scale if the posterior is zero there, or so far above its approximation that a chain
        would not leave for long; the mode itself if that is so too. Each pass over the data looks at all that are left.
        """
        with double_precision():
            mode = self.mode
            normals = jax.vmap(lambda key: random.normal(key, (len(mode.center),)))(keys)
            steps = np.asarray(normals) @ mode.factor.T
            places, left = np.tile(mode.center, (len(steps), 1)), np.arange(len(steps))
            for factor in FACTORS:
                tried = mode.center + factor * steps[left]
                above = self._log_posterior(tried) - self._log_normal(tried)
                is_good = np.isfinite(above) & (above <= MOST_ABOVE)
                places[left[is_good]] = tried[is_good]
                left = left[~is_good]
                if not left.size:
                    break
            return jax.tree.map(np.asarray, unflatten(jnp.asarray(places), self._like, (len(places),)))

    def distances(self, positions: Position) -> np.ndarray:
        """How far positions with a leading axis are from the mode, in standard deviations (root mean square)."""
        with double_precision():
            vectors = np.asarray(jax.vmap(lambda position: flatten(position, jnp))(canonical(positions, "initial")))
            white = np.linalg.solve(self.mode.factor, (vectors - self.mode.center).T)
            return np.sqrt(np.mean(white**2, axis=0))

    @property
    def _like(self) -> Position:
        return canonical(self.mode.position, "position")

    def _log_posterior(self, vectors: Array) -> np.ndarray:
        """Of all rows, at flat positions."""
        like = self._like
        log_prior, log_likelihood = canonical((self.log_prior, self.log_likelihood), "log_likelihood")
        vectors = jnp.asarray(vectors)
        prior = prior_values(log_prior, vectors, like)
        return np.asarray(prior) + all_values(log_likelihood, self.rows, vectors, like)

    def _log_normal(self, vectors: np.ndarray) -> np.ndarray:
        white = np.linalg.solve(self.mode.factor, (vectors - self.mode.mean).T)
        return np.asarray(self.mode.height - 0.5 * np.sum(white**2, axis=0))
