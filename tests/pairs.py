"""An exact kernel and an approximate one for a normal target, to be coupled."""

import jax.numpy as jnp
import jax.random as jr

import lockstep as ls

WALK = ls.RandomWalk(1.5)
INDEPENDENT = ls.IndependentNormal(0.0, 2.0)
M = 4


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def one_sample(noise, position, candidate):
    return log_density(candidate) - log_density(position) + noise


def normals(key, count):
    return jr.normal(key, (count,))


NOISY = ls.estimators.mean(one_sample, M, draw=normals)


def penalty(proposal):
    return ls.penalty(ls.estimators.known_variance(NOISY, 1 / M), proposal)


def naive(proposal):
    return ls.naive(NOISY, proposal)
