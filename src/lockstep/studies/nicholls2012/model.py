"""The target of section 5, an equal mixture of two bivariate normals, and the proposals."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.types import Array, Key
from lockstep.proposals import IndependentNormal, RandomWalk

MEANS = np.array([[3.0, 3.0], [6.0, 6.0]])
CORRELATIONS = (0.5, -0.5)
COVARIANCES = np.array([[[1.0, r], [r, 1.0]] for r in CORRELATIONS])
CHOLESKY = np.linalg.cholesky(COVARIANCES)

RANDOM_WALK = RandomWalk(4.0)
INDEPENDENCE = IndependentNormal(4.5, 2.5)
PROPOSALS = {"random walk": RANDOM_WALK, "independence": INDEPENDENCE}


def log_density(theta: Array) -> Array:
    """The log density up to a constant; both components have unit variances and the same determinant.

    Written out, since compilers fuse sums and products, but not products of small matrices.
    """
    first, second = (_exponent(theta, *component) for component in zip(MEANS, CORRELATIONS, strict=True))
    return jnp.logaddexp(first, second)


def _exponent(theta: Array, mean: np.ndarray, correlation: float) -> Array:
    x, y = theta[0] - mean[0], theta[1] - mean[1]
    return -(x * x - 2 * correlation * x * y + y * y) / (2 * (1 - correlation**2))


def difference(position: Array, candidate: Array) -> Array:
    """D, the log ratio."""
    return log_density(candidate) - log_density(position)


def draw_target(key: Key) -> Array:
    """An exact draw from the target: a start in equilibrium."""
    key_component, key_normal = jr.split(key)
    component = jr.bernoulli(key_component).astype(int)
    return jnp.asarray(MEANS)[component] + jnp.asarray(CHOLESKY)[component] @ random.normal(key_normal, (2,))


def density_of_sum(values: object) -> np.ndarray:
    """The density of θ₁ + θ₂: normal components with means 6 and 12, variances 3 and 1."""
    values = np.asarray(values, float)
    total = np.zeros_like(values)
    for mean, covariance in zip(MEANS.sum(axis=1), COVARIANCES, strict=True):
        variance = covariance.sum()
        total += 0.5 * np.exp(-((values - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return total
