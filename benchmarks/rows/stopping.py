"""Filters that stop where their candidate is certain to be rejected, against the same that do not: one chain."""

import functools

import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed

LENGTH = PARTICLES = 200
PROPOSALS = {"near": ls.RandomWalk(0.8), "far": ls.IndependentNormal(0.0, 2.0)}


def model(log_bound=None) -> ls.models.StateSpace:
    """A level that walks, seen with a normal error; the logarithm of the size of its steps is unknown."""
    return ls.models.StateSpace(
        initial=lambda z, theta: z,
        transition=lambda z, x, theta, t: 0.95 * x + jnp.exp(theta) * z,
        log_observation=lambda theta, x, y, t: jst.norm.logpdf(y, x),
        draw=lambda key, count: ls.random.normal(key, (count,)),
        observe=lambda key, x, theta, t: x + jr.normal(key),
        log_bound=log_bound,
    )


@functools.cache
def data() -> np.ndarray:
    return model().simulate(jr.key(1), -1.0, times=LENGTH).data


def filtered(name: str, log_bound=None) -> Builder:
    def build(updates: int) -> Task:
        def log_prior(theta):
            return jst.norm.logpdf(theta, 0.0, 2.0)

        kernel = ls.particle_marginal(log_prior, model(log_bound), data(), PROPOSALS[name], PARTICLES)

        def run():
            return ls.sample(kernel, -1.0, draws=updates, chains=1, seed=1, progress=False).positions

        return timed("stops early" if log_bound else "to the end", updates, run)

    return build


def highest(theta, y, t):
    return jst.norm.logpdf(0.0)


ROWS = [
    Row(
        f"filter-stops-{name}",
        f"particle MCMC, T = {LENGTH}, {PARTICLES} particles, {what}",
        filtered(name, highest),
        (filtered(name),),
        updates=2048,
        repeats=7,
    )
    for name, what in (("near", "a random walk of long steps"), ("far", "candidates from the prior"))
]
