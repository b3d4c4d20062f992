"""Where chains begin around a mode: scattered more widely than the posterior, so that R-hat can tell if they agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.flat import flatten, unflatten
from lockstep.core.precision import canonical, double_precision
from lockstep.core.types import Key, Position
from lockstep.subsampling.mode import Mode
from lockstep.subsampling.objective import prior_derivatives
from lockstep.subsampling.rows import Rows
from lockstep.subsampling.sums import all_derivatives, all_values, prior_values

FACTORS = (2.0, 1.0, 0.5)  # of the scale of the normal approximation; the mode itself if none will do
MOST_ABOVE = 2.0  # of the log posterior above its normal approximation: independent candidates would stick there
ENOUGH = 2**15  # rows that tell of this


class Scattered(NamedTuple):
    """The surroundings of a mode, as a fit hands them over for the starts of chains."""

    mode: Mode
    log_prior: Any
    log_likelihood: Any
    rows: Rows

    def draw(self, keys: Key) -> Position:
        """A position for each key: the mode plus a normal step of twice the scale of the approximation there.

        A step of once or half the scale if the posterior is zero there, or so far above its approximation that a chain
        would not leave for long; the mode itself if that is so too.
        """
        with double_precision():
            mode = self.mode
            normals = jax.vmap(lambda key: random.normal(key, (len(mode.center),)))(keys)
            steps = np.asarray(normals) @ mode.factor.T
            places, left = np.tile(mode.center, (len(steps), 1)), np.arange(len(steps))
            for factor in FACTORS:
                tried = mode.center + factor * steps[left]
                above = self._above(tried)
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

    def _above(self, vectors: np.ndarray) -> np.ndarray:
        """How far the log posterior lies above its normal approximation at flat positions, by `ENOUGH` rows.

        The approximation is the quadratic at the mode, so that this is what each row lies above its own: a number of
        the third order, of which a share of the rows tells enough where there are many.
        """
        like, center = self._like, jnp.asarray(self.mode.center)
        log_prior, log_likelihood = canonical((self.log_prior, self.log_likelihood), "log_likelihood")
        few = self.rows.some(ENOUGH)
        is_all = few is self.rows
        sums = self.mode.likelihood if is_all else all_derivatives(log_likelihood, few, center, like)
        steps, places = vectors - self.mode.center, jnp.asarray(vectors)
        of_rows = all_values(log_likelihood, few, places, like) - sums.quadratic(steps)
        prior = np.asarray(prior_values(log_prior, places, like))
        expanded = jax.tree.map(np.asarray, prior_derivatives(log_prior, center, like)).quadratic(steps)
        return np.asarray(self.rows.size / few.size * of_rows + prior - expanded)
