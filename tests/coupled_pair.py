"""The coupled truth by `ls.Shadowed`: the exact penalty chain on the normal score of a kernel's own noise.

The score of an estimate comes from a table of the law of its noise, which is one law up to its scale. Beyond the table,
where few estimates tell a quantile, scores go on along a line. What the pair measures along its path is what
`coupled_truth` computes at exact draws.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr, ndtri

import lockstep as ls
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part
from lockstep.core.types import Array, Key, Position, Shape

POINTS = 4096  # of the table
BEYOND = 20  # estimates on each side of it
END = 0.5  # of scores on each side, which the line beyond goes along


@part
class Scored(Estimator):
    """``D + s z``, z the normal score of the estimate that another estimator makes of the same noise."""

    estimator: Any
    difference: Any
    scale: Any
    noises: Array
    scores: Array
    slopes: Array

    is_variance_known = True

    @property
    def count(self) -> int:
        return int(self.estimator.count)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.estimator.noise(key, position, shape)

    def __call__(self, noise: Any, position: Position, candidate: Position) -> Estimate:
        of, s = self.difference(position, candidate), self.scale(position, candidate)
        unit = (self.estimator(noise, position, candidate).value - of) / s
        (low, high), (first, last) = self.noises[jnp.array([0, -1])], self.slopes
        score = jnp.interp(unit, self.noises, self.scores)
        score = score + jnp.minimum(unit - low, 0.0) * first + jnp.maximum(unit - high, 0.0) * last
        return Estimate(of + s * score, 0.0 * s, s**2 + 0.0, 0.0 * s, self.count)


def coupled(case: Any, noise: np.ndarray) -> Any:
    """The pair of a case and its exact chain; ``noise``: many estimates minus D, in units of their scale."""
    known = noise[np.isfinite(noise)]
    edge = -ndtri(BEYOND / len(known))
    scores = np.linspace(-edge, edge, POINTS)
    noises = np.quantile(known, ndtr(scores))
    end = int(END / (scores[1] - scores[0]))
    slopes = (scores[[end, -1]] - scores[[0, -1 - end]]) / (noises[[end, -1]] - noises[[0, -1 - end]])
    difference, scale = jax.tree_util.Partial(case.target.difference), jax.tree_util.Partial(case.scale)
    exact = Scored(case.estimator, difference, scale, noises, scores, slopes)
    return ls.Shadowed(ls.penalty(exact, case.target.proposal), case.kernel)
