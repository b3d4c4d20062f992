"""Lagged pairs: what an update of two coupled chains costs against one of a chain, and pairs on two processes."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.rows.durable import regression

PAIRS = 64
MANY = 1000


def log_density(theta):
    """A mixture of two normal laws in the plane."""
    return jnp.logaddexp(-0.5 * jnp.sum((theta - 3) ** 2), -0.5 * jnp.sum((theta + 3) ** 2))


KERNEL = ls.standard(log_density, ls.RandomWalk(4.0))
REGRESSION = regression()
APART = ls.standard(log_density, ls.RandomWalk(1e-9))  # whose chains never come near each other


def start(key):
    return 5 * jr.normal(key, (2,))


def pair(key):
    return ls.Pair(start(key), start(jr.fold_in(key, 1)))


def near(key):
    return 1 + 0.3 * jr.normal(key, (4,))


def sampled(name: str, kernel, initial) -> Builder:
    def build(updates: int) -> Task:
        def run():
            return ls.sample(kernel, initial, draws=updates // PAIRS, chains=PAIRS, progress=False).positions

        return timed(name, updates, run)

    return build


def many(workers: int, kernel, begin) -> Builder:
    def build(updates: int) -> Task:
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
        end = updates // MANY
        options = dict(pairs=MANY, lag=100, start=100, end=end, most=end, executor=pool, progress=False)

        def run():
            return np.asarray(ls.unbiased(kernel, begin, **options).values)

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
    # One process computes on several threads already: random numbers of many chains, and products of matrices.
    *(
        Row(
            f"lagged-processes{suffix}",
            f"{MANY:,} pairs on two processes, {what}",
            many(2, kernel, begin),
            (many(1, kernel, begin),),
            target,
            updates=MANY * updates,
            repeats=3,
        )
        for suffix, what, kernel, begin, target, updates in (
            ("", "mixture in the plane", KERNEL, start, 1.7, 20_000),
            ("-regression", "logistic regression with 200 data", REGRESSION, near, None, 2_000),
        )
    ),
]
