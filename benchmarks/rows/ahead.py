"""Updates ahead: one run on all processors, and not one draw another. Early rejection."""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import numpy as np

from benchmarks.harness import Builder, Row, Task, timed

SECONDS = 0.02  # of a call of the black box
FEATURES = 100
TERMS = np.random.default_rng(1).normal(size=(1000, 2)).tolist()
TENS = [TERMS[i : i + 10] for i in range(0, 1000, 10)]


def slow_density(theta: np.ndarray) -> float:
    """A function that keeps a processor busy for a while."""
    end = time.perf_counter() + SECONDS
    total = 0.0
    while time.perf_counter() < end:
        total += math.sin(total)
    return -0.5 * float(theta @ theta)


@functools.cache
def processes() -> Any:
    """Two worker processes that have started and imported everything."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    import lockstep as ls

    executor = ProcessPoolExecutor(2, get_context("spawn"))
    kernel = ls.standard(ls.blackbox(slow_density), ls.RandomWalk(3.0))
    ls.sample(kernel, np.zeros(2), draws=8, chains=1, ahead=2, executor=executor)
    return executor


def called(scale: float, ahead: int | str) -> Builder:
    """One chain of the slow function: alone, or with two processes that call it ahead."""

    def build(updates: int) -> Task:
        import lockstep as ls

        kernel = ls.standard(ls.blackbox(slow_density), ls.RandomWalk(scale))
        more = {} if ahead == 1 else {"ahead": ahead, "executor": processes()}

        def run() -> Any:
            return ls.sample(kernel, np.ones(2), draws=updates, chains=1, seed=1, **more).positions

        return timed("one process" if ahead == 1 else f"two processes, ahead={ahead}", updates, run)

    return build


@functools.cache
def regression() -> Any:
    """A logistic regression with 100,000 rows; its scale of steps is about right for an acceptance of a quarter."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(1)
    x = rng.normal(size=(100_000, FEATURES))
    y = rng.random(100_000) < 1 / (1 + np.exp(-x @ np.full(FEATURES, 0.1)))

    def log_density(x: Any, y: Any, theta: Any) -> Any:
        slope = x @ theta
        return jnp.sum(jnp.where(y, slope, 0.0) - jnp.logaddexp(0.0, slope))

    return (
        jax.tree_util.Partial(log_density, x, y),
        np.full(FEATURES, 0.1),
        2.4 / math.sqrt(FEATURES) / math.sqrt(100_000 * 0.2),
    )


def passes(ahead: int) -> Builder:
    def build(updates: int) -> Task:
        import lockstep as ls

        log_density, start, scale = regression()
        kernel = ls.standard(log_density, ls.RandomWalk(scale))

        def run() -> Any:
            return ls.sample(kernel, start, draws=updates, chains=1, seed=1, ahead=ahead).positions

        return timed(f"ahead={ahead}", updates, run)

    return build


def squares(is_early: bool) -> Builder:
    """A sum of 1,000 squares, added up one after the other and looked at after every ten; acceptance about 0.2."""

    def whole(theta: np.ndarray) -> float:
        first, second = theta.tolist()
        total = 0.0
        for x, y in TERMS:
            total -= (first * x + second * y) ** 2
        return total / 2000

    def early(theta: np.ndarray, stop_below: float = -math.inf) -> float:
        first, second = theta.tolist()
        total, limit = 0.0, 2000 * stop_below
        for some in TENS:
            for x, y in some:
                total -= (first * x + second * y) ** 2
            if total < limit:
                return -math.inf
        return total / 2000

    def build(updates: int) -> Task:
        import lockstep as ls

        kernel = ls.standard(ls.blackbox(early if is_early else whole), ls.RandomWalk(2.75))

        def run() -> Any:
            return ls.sample(kernel, np.zeros(2), draws=updates, chains=1, seed=1).positions

        return timed("stops early" if is_early else "to the end", updates, run)

    return build


ROWS = (
    Row(
        "ahead-seldom",
        "one chain of a function of 20 ms, acceptance about 0.07, two processes against one",
        called(4.8, 2),
        (called(4.8, 1),),
        at_least=1.7,
        updates=512,
        repeats=3,
    ),
    Row(
        "ahead-often",
        "the same, acceptance about 0.25",
        called(2.2, "auto"),
        (called(2.2, 1),),
        at_least=1.5,
        updates=512,
        repeats=3,
    ),
    Row(
        "ahead-compiled",
        f"logistic regression, 10⁵ rows and {FEATURES} columns, one chain, acceptance about 0.25, ahead=8",
        passes(8),
        (passes(1),),
        at_least=2.0,
        updates=512,
        repeats=5,
    ),
    Row(
        "early-rejection",
        "a sum of 1,000 squares that may stop, acceptance about 0.2",
        squares(True),
        (squares(False),),
        at_least=1 / 0.6,
        updates=4096,
        repeats=7,
    ),
)
