"""What is known of small lattices by enumeration: configurations, probabilities, and tests of frequencies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from lockstep.core.precision import double_precision


def configurations(shape) -> np.ndarray:
    """All configurations of spins; number b has spin +1 at site i where bit i of b is set."""
    sites = shape[0] * shape[1]
    return (2 * ((np.arange(2**sites)[:, None] >> np.arange(sites)) & 1) - 1).reshape(-1, *shape).astype(np.int8)


def index_of(x) -> np.ndarray:
    flat = np.asarray(x, int).reshape(len(x), -1)
    return ((flat + 1) // 2) @ (2 ** np.arange(flat.shape[1]))


def probabilities(log_weights) -> np.ndarray:
    log_weights = np.asarray(log_weights, float)
    return np.exp(log_weights - np.logaddexp.reduce(log_weights))


def log_weights(model, theta, x) -> np.ndarray:
    with double_precision():
        return np.asarray(jax.vmap(lambda one: model.log_likelihood(theta, one))(jnp.asarray(x)))


def drawn(draw, count, seed=0):
    """``count`` draws of a function of a key, in one compiled batch."""
    with double_precision():
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(draw))(jax.random.split(jax.random.key(seed), count)))


def frequency_test(indices, expected_probabilities) -> float:
    """The p-value of a chi-square test; rare states are pooled until ten of them are expected."""
    count = len(indices)
    order = np.argsort(expected_probabilities)
    pool = np.floor(np.cumsum(expected_probabilities[order]) * count / 10).astype(int)
    pool = np.unique(np.minimum(pool, pool[-1] - 1), return_inverse=True)[1]
    observed = np.bincount(pool, np.bincount(indices, minlength=len(order))[order])
    expected = np.bincount(pool, expected_probabilities[order] * count)
    return float(stats.chisquare(observed, expected).pvalue)
