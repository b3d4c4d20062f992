"""What a kernel adds to the time of a black box: an update against nothing but the calls that it makes."""

import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.walk import DIMENSION

COUNT = 8
UPDATES = 20_000
AT_MOST = 15e-6
WALK = ls.RandomWalk(1.0)
HERE = np.zeros(DIMENSION)
DATA = np.linspace(-1.0, 1.0, DIMENSION)
RNG = np.random.default_rng(0)


def log_density(theta):
    return -0.5 * float(theta @ theta)


def log_estimate(theta, rng):
    return -0.5 * float(theta @ theta) + 0.1 * rng.standard_normal()


def samples(rng, position, candidate, count):
    """All samples of an estimate of D, in hardly more time than one takes."""
    return -0.5 * float(candidate @ candidate - position @ position) + rng.standard_normal(count)


def log_likelihood(theta, x):
    return -0.5 * float((x - theta) @ (x - theta))


def simulate(rng, theta):
    return theta + rng.standard_normal(DIMENSION)


def evaluate():
    log_density(HERE)


def estimate():
    log_estimate(HERE, RNG)


def sample(count=COUNT):
    samples(RNG, HERE, HERE, count)


def exchange():
    log_density(HERE)
    log_likelihood(HERE, DATA)
    x = simulate(RNG, HERE)
    log_likelihood(HERE, x)
    log_likelihood(HERE, x)


def both():
    evaluate()
    sample()


def kernel(made) -> Builder:
    def build(updates: int) -> Task:
        def run():
            return ls.sample(made, HERE, draws=updates, chains=1, progress=False).positions

        return timed("lockstep", updates, run)

    return build


def alone(calls) -> Builder:
    def build(updates: int) -> Task:
        def run():
            for _ in range(updates):
                calls()

        return timed("the function alone", updates, run)

    return build


def row(name: str, what: str, made, calls, at_most: float | None = AT_MOST) -> Row:
    measures = f"black box of microseconds, {what}"
    return Row(f"overhead-{name}", measures, kernel(made), (alone(calls),), updates=UPDATES, at_most_more=at_most)


boxed = ls.blackbox(samples, vectorized=True)
mean = ls.estimators.mean(boxed, COUNT)
exact = ls.standard(ls.blackbox(log_density), WALK)
exchanged = ls.exchange(
    ls.blackbox(log_density), ls.blackbox(log_likelihood), ls.blackbox(simulate), data=DATA, proposal=WALK
)

ROWS = [
    row("standard", "standard", exact, evaluate),
    row("estimate", "pseudo-marginal", ls.pseudo_marginal(ls.blackbox(log_estimate), WALK), estimate),
    row("naive", f"naive, average of {COUNT} samples", ls.naive(mean, WALK), sample),
    row("corrected", f"corrected, average of {COUNT} samples", ls.corrected(mean, WALK), sample),
    row("log", f"log of an average of {COUNT}", ls.naive(ls.estimators.log_mean_exp(boxed, COUNT), WALK), sample),
    row("batches", "64 samples in batches", ls.naive(ls.estimators.batch_means(boxed, 64), WALK), lambda: sample(64)),
    row("exchange", "exchange, five calls", exchanged, exchange),
    # Two chains, or two estimates, in one update: twice the bound.
    row("coupled", "standard and corrected coupled", ls.Coupled(exact, ls.corrected(mean, WALK)), both, 2 * AT_MOST),
    row(
        *("two-sided", f"two-sided, 2 x {COUNT} samples", ls.corrected(ls.estimators.two_sided(mean), WALK)),
        *(lambda: (sample(), sample()), 2 * AT_MOST),
    ),
]
