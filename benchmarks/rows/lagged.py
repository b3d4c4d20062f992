"""Lagged pairs: what an update of two coupled chains costs against one of a chain, and pairs on two processes."""

import math
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.rows.durable import regression

PAIRS = 64
MANY = 1000
MOST = 20_000


def log_density(theta):
    """A mixture of two normal laws in the plane."""
    return jnp.logaddexp(-0.5 * jnp.sum((theta - 3) ** 2), -0.5 * jnp.sum((theta + 3) ** 2))


KERNEL = ls.standard(log_density, ls.RandomWalk(4.0))
REGRESSION = regression()
APART = ls.standard(log_density, ls.RandomWalk(1e-9))  # whose chains never come near each other


def boxed(theta):
    """The same as a program of Python alone, which takes a while."""
    far = [sum((x - centre) ** 2 for x in theta) for centre in (3.0, -3.0) for _ in range(20)]
    return math.log(math.exp(-0.5 * far[0]) + math.exp(-0.5 * far[-1]) + 1e-300)


BLACKBOX = ls.standard(ls.blackbox(boxed), ls.RandomWalk(4.0))


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


def take_a_core(cores) -> None:
    """Let a worker compute on one processor alone, each on another, with the threads that JAX has started already."""
    core = cores.get()
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def many(workers: int, kernel, begin, pairs: int = MANY, is_pinned: bool = False) -> Builder:
    def build(updates: int) -> Task:
        context, pinning = multiprocessing.get_context("spawn"), {}
        if is_pinned:
            cores = context.SimpleQueue()
            for core in sorted(os.sched_getaffinity(0))[:workers]:
                cores.put(core)
            pinning = dict(initializer=take_a_core, initargs=(cores,))
        pool = ProcessPoolExecutor(workers, context, **pinning)
        end = updates // pairs
        lag = min(100, end // 10)
        options = dict(pairs=pairs, lag=lag, start=lag, end=end, most=MOST, executor=pool, progress=False)

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
            f"{pairs:,} pairs on two processes, {what}",
            many(2, kernel, begin, pairs, is_pinned),
            (many(1, kernel, begin, pairs, is_pinned),),
            target,
            updates=pairs * updates,
            repeats=3,
        )
        for suffix, what, kernel, begin, pairs, updates, is_pinned, target in (
            ("", "mixture in the plane", KERNEL, start, MANY, 20_000, False, 1.7),
            ("-pinned", "mixture in the plane, a processor for each", KERNEL, start, MANY, 20_000, True, 1.7),
            ("-regression", "logistic regression with 200 data", REGRESSION, near, MANY, 2_000, False, None),
            ("-blackbox", "a black box", BLACKBOX, start, 64, 400, False, 1.7),
        )
    ),
]
