"""Invariance on continuous targets: chains that start from exact draws stay there, and only exact ones do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen
from scipy import stats

import lockstep as ls
from lockstep.core.precision import canonical, double_precision

# Not for speed (compiling is what takes time here): these see the programs of users.
pytestmark = pytest.mark.optimized

CHAINS, UPDATES, SIGNIFICANCE = 40_000, 12, 1e-6
GENERATOR = np.random.default_rng(1)
EXACT = GENERATOR.gamma(3.0, 1.0, CHAINS)


def log_gamma(theta):
    return jnp.where(theta > 0, 2 * jnp.log(jnp.maximum(theta, 1e-300)) - theta, -jnp.inf)


@jax.jit
def advance(kernel, states, key):
    def update(states, key):
        return jax.vmap(kernel.step)(jr.split(key, CHAINS), states)[0], None

    return jax.lax.scan(update, states, jr.split(key, UPDATES))[0]


def p_value(kernel, noise=None) -> float:
    """Of a Kolmogorov–Smirnov test after some updates of independent chains that begin in equilibrium.

    ``noise`` is that of the estimates that a pseudo-marginal kernel remembers at the start.
    """
    with double_precision():
        kernel, positions = canonical(kernel, "kernel"), jnp.asarray(EXACT)
        if noise is None:
            states = jax.vmap(kernel.init)(positions)
        else:
            states = ls.State(positions, jax.vmap(kernel.ratio.init)(jnp.asarray(noise), positions))
        moved = np.asarray(advance(kernel, states, jr.key(2)).position)
    assert np.mean(moved != EXACT) > 0.3
    return float(stats.kstest(moved, stats.gamma(3.0).cdf).pvalue)


def noisy(scale, count):
    def sample(noise, position, candidate):
        return log_gamma(candidate) - log_gamma(position) + scale * noise

    return ls.estimators.mean(sample, count, draw=lambda key, count: jr.normal(key, (count,)))


WALK = ls.RandomWalk(2.0)
INDEPENDENT = ls.Independent(lambda key: 4.0 * jr.exponential(key), lambda theta: -theta / 4.0)
EXACT_KERNELS = {
    "standard": ls.standard(log_gamma, WALK),
    "standard, uniform walk": ls.standard(log_gamma, ls.UniformWalk(3.0)),
    "standard, independence proposal": ls.standard(log_gamma, INDEPENDENT),
    "standard, independent normal": ls.standard(log_gamma, ls.IndependentNormal(3.0, 3.0)),
    "standard, independent Student": ls.standard(log_gamma, ls.IndependentStudent(3.0, 1.7, 4.0)),
    "standard, Crank–Nicolson": ls.standard(log_gamma, ls.CrankNicolson(3.0, 2.0, 0.7)),
    "penalty, known variance": ls.penalty(ls.estimators.known_variance(noisy(1.5, 4), 1.5**2 / 4), WALK),
    "tempering": ls.randomized(log_gamma, ls.RandomWalk(0.7), ls.tempering(log_gamma)),
    "cycle": ls.Cycle([ls.standard(log_gamma, WALK), ls.standard(log_gamma, INDEPENDENT)]),
}


@ls.part
class Unweighted:
    """A proposal whose ratio was forgotten."""

    proposal: ls.CrankNicolson

    def noise(self, key, position, shape=()):
        return self.proposal.noise(key, position, shape)

    def __call__(self, noise, position):
        return self.proposal(noise, position)[0], 0.0


INEXACT_KERNELS = {
    "Crank–Nicolson without its ratio": ls.standard(log_gamma, Unweighted(ls.CrankNicolson(3.0, 2.0, 0.7))),
    "naive": ls.naive(noisy(1.5, 4), WALK),
    "half a penalty": ls.penalty(ls.estimators.known_variance(noisy(1.5, 4), 0.5 * 1.5**2 / 4), WALK),
    "a proposal density that is wrong": ls.standard(
        log_gamma, ls.Independent(lambda key: 4.0 * jr.exponential(key), lambda theta: -theta / 3.0)
    ),
}


# Every kernel and proposal alone is exact by its matrix or its ratio: these are one of each kind of noise.
HERE = {"standard, Crank–Nicolson", "penalty, known variance", "tempering", "cycle"}


@pytest.mark.parametrize("name", chosen(EXACT_KERNELS, HERE))
def test_exact_kernels_leave_their_target_alone(name):
    assert p_value(EXACT_KERNELS[name]) > SIGNIFICANCE


@pytest.mark.parametrize("name", chosen(INEXACT_KERNELS, {"naive", "Crank–Nicolson without its ratio"}))
def test_other_kernels_do_not(name):
    assert p_value(INEXACT_KERNELS[name]) < SIGNIFICANCE


# --- pseudo-marginal: the noise of the estimate is part of the state --------------------------------------------------
def spread(theta):
    return 0.2 + 0.4 * theta


def log_estimate(z, theta):
    """The target times an average of 3 lognormal weights of mean 1, noisier for larger θ."""
    s = spread(theta)
    return log_gamma(theta) + jnp.log(jnp.mean(jnp.exp(s * z - s**2 / 2)))


def normals(key):
    return jr.normal(key, (3,))


def equilibrium_noise() -> np.ndarray:
    """Noise under the extended target: one of the three normals, chosen at random, is tilted by its weight."""
    z = GENERATOR.normal(size=(CHAINS, 3))
    z[np.arange(CHAINS), GENERATOR.integers(3, size=CHAINS)] += spread(EXACT)
    return z


NOISE = equilibrium_noise()


@pytest.mark.parametrize("correlation", [0.5, *(pytest.param(c, marks=pytest.mark.study) for c in (0.0, 0.97))])
def test_pseudo_marginal_kernels_leave_their_target_alone(correlation):
    kernel = ls.pseudo_marginal(log_estimate, WALK, correlation=correlation, draw=normals)
    assert p_value(kernel, NOISE) > SIGNIFICANCE


def test_correlated_noise_that_is_not_standard_normal_is_found_out():
    kernel = ls.pseudo_marginal(log_estimate, WALK, correlation=0.5, draw=lambda key: 0.5 * normals(key))
    assert p_value(kernel, NOISE) < SIGNIFICANCE
