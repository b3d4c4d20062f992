"""Models of the tests of durable and distributed runs: importable by workers, cheap to compile."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls

CHAINS, SEED, DRAWS, WARMUP, THIN = 3, 5, 300, 37, 3
START = np.zeros(2)


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def normals(key, count):
    return jr.normal(key, (count,))


def one_sample(noise, position, candidate):
    return log_density(candidate) - log_density(position) + noise


def single(scale=1.2):
    return ls.standard(log_density, ls.RandomWalk(scale))


def coupled():
    walk, noisy = ls.RandomWalk(1.2), ls.estimators.mean(one_sample, 4, draw=normals)
    return ls.Coupled(ls.penalty(ls.estimators.known_variance(noisy, 1 / 4), walk), ls.naive(noisy, walk))


def shadowed():
    walk, noisy = ls.RandomWalk(1.2), ls.estimators.mean(one_sample, 4, draw=normals)
    return ls.Shadowed(ls.penalty(ls.estimators.known_variance(noisy, 1 / 4), walk), ls.naive(noisy, walk))


def box_log_density(theta):
    return -0.5 * float(np.sum(theta**2))


def box_sample(rng, position, candidate):
    return box_log_density(candidate) - box_log_density(position) + rng.normal()


def single_box():
    return ls.standard(ls.blackbox(box_log_density), ls.RandomWalk(1.2))


def coupled_box():
    walk, noisy = ls.RandomWalk(1.2), ls.estimators.mean(ls.blackbox(box_sample), 4)
    return ls.Coupled(ls.penalty(ls.estimators.known_variance(noisy, 1 / 4), walk), ls.naive(noisy, walk))


MODELS = {"single": single, "coupled": coupled}
if "blackbox" in ls.__all__:
    MODELS |= {"single black box": single_box, "coupled black box": coupled_box}


def sample(kernel, draws=DRAWS, initial=START, **options):
    settings = {"chains": CHAINS, "seed": SEED, "warmup": WARMUP, "thin": THIN, "progress": False}
    return ls.sample(kernel, initial, draws, **{**settings, **options})


GRID = {"scale": [0.7, 1.2], "seed": [3, 4]}
SWEEP = {"draws": 40, "chains": 1, "thin": 500, "progress": False}
LONG = {**SWEEP, "thin": 10_000}


def make(scale):
    return single(scale)
