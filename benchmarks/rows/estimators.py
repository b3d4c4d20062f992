"""Noise of an estimator's samples: drawn in bulk, or from a key for each sample."""

import jax.numpy as jnp
import jax.random as jr

import lockstep as ls
from benchmarks.harness import Row
from benchmarks.walk import log_density, sampled

CHAINS = 64
COUNT = 32


def from_noise(noise, position, candidate):
    return log_density(candidate) - log_density(position) + noise


def from_key(key, position, candidate):
    return from_noise(jr.normal(key, (), jnp.float64), position, candidate)


def draw(key, count):
    return jr.normal(key, (count,), jnp.float64)


def naive(estimator, name):
    return sampled(ls.naive(estimator, ls.RandomWalk(1.0)), CHAINS, name)


ROWS = [
    Row(
        "naive-64-keys",
        f"naive, mean of {COUNT} samples drawn in bulk, {CHAINS} chains",
        naive(ls.estimators.mean(from_noise, COUNT, draw), "lockstep, bulk draw"),
        (naive(ls.estimators.mean(from_key, COUNT), "lockstep, a key a sample"),),
        updates=2**18,
    )
]
