"""A black box of 0.1 ms: what running it through a kernel costs, against a loop by hand and against emcee."""

import time

import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.walk import DIMENSION

SECONDS = 1e-4
WALKERS = 8


def slow_log_density(position):
    """Takes 0.1 ms by the clock, whatever else the machine does."""
    end = time.perf_counter() + SECONDS
    value = -0.5 * float(position @ position)
    while time.perf_counter() < end:
        pass
    return value


def lockstep(kernel) -> Builder:
    def build(updates: int) -> Task:
        def run():
            return ls.sample(kernel, np.zeros(DIMENSION), draws=updates, chains=1, progress=False).positions

        return timed("lockstep", updates, run)

    return build


def loop_with(log_density) -> Builder:
    return lambda updates: plain_loop(updates, log_density)


def plain_loop(updates: int, log_density) -> Task:
    def run():
        rng = np.random.default_rng(0)
        steps, accepts = rng.normal(size=(updates, DIMENSION)), -rng.exponential(size=updates)
        position, draws = np.zeros(DIMENSION), np.empty((updates, DIMENSION))
        value = log_density(position)
        for i in range(updates):
            candidate = position + steps[i]
            candidate_value = log_density(candidate)
            if accepts[i] <= candidate_value - value:
                position, value = candidate, candidate_value
            draws[i] = position
        return draws

    return timed("NumPy loop", updates, run)


def emcee(updates: int) -> Task:
    import emcee

    def run():
        sampler = emcee.EnsembleSampler(WALKERS, DIMENSION, slow_log_density)
        start = np.random.default_rng(0).normal(size=(WALKERS, DIMENSION))
        sampler.run_mcmc(start, updates // WALKERS)
        return sampler.get_chain()

    return timed(f"emcee, {WALKERS} walkers", updates, run)


def row(name: str, what: str, ours: Builder, peer: Builder, at_least: float | None, updates: int) -> Row:
    return Row(name, what, ours, (peer,), at_least, updates=updates, unit="update", repeats=5)


standard = lockstep(ls.standard(ls.blackbox(slow_log_density), ls.RandomWalk(1.0)))

ROWS = [
    row("blackbox-loop", "black box of 0.1 ms, 1 chain", standard, loop_with(slow_log_density), 1 / 1.15, 10_000),
    row("blackbox-emcee", "black box of 0.1 ms, as many evaluations", standard, emcee, 1 / 1.15, 10_000),
]
