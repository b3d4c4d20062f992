"""A black box of 10 ms with a screen in front of it: effective draws a second, against the same black box without one.

Both take steps of the shape that a pilot run found: without a screen of the usual size, which gives the most effective
draws for an evaluation; with a screen twice as large, for what it rejects costs next to nothing. The pilot run is the
same for both, and is not timed.
"""

import functools
import time

import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.rows.intractable import effective

SECONDS = 1e-2
CHAINS = 4
GENERATOR = np.random.default_rng(5)
FEATURES = np.column_stack([np.ones(60), GENERATOR.normal(size=(60, 2))])
ANSWERS = GENERATOR.random(60) < 1 / (1 + np.exp(-FEATURES @ np.array([0.3, 1.0, -0.7])))


def log_posterior(theta):
    """A logistic regression."""
    rates = FEATURES @ theta
    return float(ANSWERS @ rates - np.logaddexp(0, rates).sum() - theta @ theta / 18)


def dear(theta):
    """The same, in 10 ms by the clock."""
    end = time.perf_counter() + SECONDS
    value = log_posterior(theta)
    time.sleep(max(0.0, end - time.perf_counter()))
    return value


@functools.cache
def pilot():
    kernel = ls.standard(ls.blackbox(dear), ls.RandomWalk(0.4))
    return ls.sample(kernel, np.zeros(3), draws=200, chains=CHAINS, warmup=50, seed=9, progress=False)


def steps(size: float) -> ls.RandomWalk:
    covariance = np.cov(pilot().positions.reshape(-1, 3).T)
    return ls.RandomWalk(size * 2.38 / np.sqrt(3) * np.linalg.cholesky(covariance))


def sampling(name: str, make, more: int = 1) -> Builder:
    def build(updates: int) -> Task:
        kernel, start = make(), np.array([0.3, 1.0, -0.7])

        def run():
            return ls.sample(kernel, start, draws=more * updates // CHAINS, chains=CHAINS, progress=False).positions

        # The component that mixes slowest counts.
        positions = run()
        return timed(name, max(1, round(min(effective(positions[..., i]) for i in range(3)))), run)

    return build


def plain():
    return ls.standard(ls.blackbox(dear), steps(1.0))


def screened():
    return ls.screened(ls.standard(ls.blackbox(dear), steps(2.0)), ls.surrogates.quadratic(pilot()))


ROWS = [
    Row(
        "screened-blackbox",
        "black box of 10 ms, 3 coefficients, screened by a fitted quadratic",
        sampling("with a screen", screened, more=8),
        (sampling("without a screen", plain),),
        3.0,
        updates=2400,
        unit="effective draw",
        repeats=2,
    ),
]
