"""Lagged pairs: what an update of two coupled chains costs against one of a chain, and pairs on two processes."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed

PAIRS = 64
MANY = 1000


def log_density(theta):
    """A mixture of two normal laws in the plane."""
    return jnp.logaddexp(-0.5 * jnp.sum((theta - 3) ** 2), -0.5 * jnp.sum((theta + 3) ** 2))


KERNEL = ls.standard(log_density, ls.RandomWalk(4.0))
APART = ls.standard(log_density, ls.RandomWalk(1e-9))  # whose chains never come near each other


def start(key):
    return 5 * jr.normal(key, (2,))


def pair(key):
    return ls.Pair(start(key), start(jr.fold_in(key, 1)))


def sampled(name: str, kernel, initial) -> Builder:
    def build(updates: int) -> Task:
        def run():
            return ls.sample(kernel, initial, draws=updates // PAIRS, chains=PAIRS, progress=False).positions

        return timed(name, updates, run)

    return build


def many(workers: int) -> Builder:
    def build(updates: int) -> Task:
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
        end = updates // MANY
        options = dict(pairs=MANY, lag=100, start=100, end=end, most=end, executor=pool, progress=False)

        def run():
            return np.asarray(ls.unbiased(KERNEL, start, **options).values)

        return timed(f"{workers} process{'es' * (workers > 1)}", updates, run)

    return build


ROWS = [
    Row(
        "lagged-pair",
        f"lagged pair that has not met, {PAIRS} pairs, mixture in the plane (updates of the pair)",
        sampled("a pair", ls.Lagged(APART, 1), pair),
        (sampled("a chain", APART, start),),
        1 / 2.3,
    ),
    Row(
        "lagged-met",
        f"lagged pair that has met, {PAIRS} pairs, mixture in the plane (updates of the pair)",
        sampled("a pair", ls.Lagged(KERNEL, 1), pair),
        (sampled("a chain", KERNEL, start),),
        None,
    ),
    Row(
        "lagged-processes",
        f"{MANY:,} pairs on two processes",
        many(2),
        (many(1),),
        1.7,
        updates=MANY * 20_000,
        repeats=3,
    ),
]
