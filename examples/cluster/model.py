"""A model for `lockstep run`: the file defines `kernel` and `initial`."""

import jax.numpy as jnp

import lockstep as ls


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


kernel = ls.standard(log_density, ls.RandomWalk(1.5))
initial = jnp.zeros(2)
