"""The target of section 5, an equal mixture of two bivariate normals, and the proposals."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.proposals import IndependentNormal, RandomWalk
from lockstep.types import Array, Key

MEANS = np.array([[3.0, 3.0], [6.0, 6.0]])
COVARIANCES = np.array([[[1.0, 0.5], [0.5, 1.0]], [[1.0, -0.5], [-0.5, 1.0]]])
PRECISIONS = np.linalg.inv(COVARIANCES)
CHOLESKY = np.linalg.cholesky(COVARIANCES)

RANDOM_WALK = RandomWalk(4.0)
INDEPENDENCE = IndependentNormal(4.5, 2.5)
PROPOSALS = {"random walk": RANDOM_WALK, "independence": INDEPENDENCE}


def log_density(theta: Array) -> Array:
    """The log density up to a constant; both components have the same determinant."""
    centred = theta - jnp.asarray(MEANS)
    exponents = -0.5 * jnp.einsum("ki,kij,kj->k", centred, jnp.asarray(PRECISIONS), centred)
    return jnp.logaddexp(exponents[0], exponents[1])


def difference(position: Array, candidate: Array) -> Array:
    """D, the log ratio."""
    return log_density(candidate) - log_density(position)


def draw_target(key: Key) -> Array:
    """An exact draw from the target: a start in equilibrium."""
    key_component, key_normal = jr.split(key)
    component = jr.bernoulli(key_component).astype(int)
    return jnp.asarray(MEANS)[component] + jnp.asarray(CHOLESKY)[component] @ jr.normal(key_normal, (2,), float)


def density_of_sum(values: Any) -> np.ndarray:
    """The density of θ₁ + θ₂: normal components with means 6 and 12, variances 3 and 1."""
    values = np.asarray(values, float)
    total = np.zeros_like(values)
    for mean, covariance in zip(MEANS.sum(axis=1), COVARIANCES, strict=True):
        variance = covariance.sum()
        total += 0.5 * np.exp(-((values - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return total
