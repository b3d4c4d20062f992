"""A black box of 0.1 ms: what running it through a kernel costs, against a loop by hand and against emcee."""

import time

import numpy as np

import lockstep as ls
from benchmarks.harness import Row, Task, timed
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


def lockstep(updates: int) -> Task:
    kernel = ls.standard(ls.blackbox(slow_log_density), ls.RandomWalk(1.0))

    def run():
        return ls.sample(kernel, np.zeros(DIMENSION), draws=updates, chains=1, progress=False).positions

    return timed("lockstep", updates, run)


def plain_loop(updates: int) -> Task:
    def run():
        rng = np.random.default_rng(0)
        steps, accepts = rng.normal(size=(updates, DIMENSION)), -rng.exponential(size=updates)
        position, draws = np.zeros(DIMENSION), np.empty((updates, DIMENSION))
        value = slow_log_density(position)
        for i in range(updates):
            candidate = position + steps[i]
            candidate_value = slow_log_density(candidate)
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


ROWS = [
    Row(
        "blackbox-loop",
        "black box of 0.1 ms, 1 chain, against a plain NumPy loop",
        lockstep,
        (plain_loop,),
        at_least=1 / 1.15,
        updates=10_000,
        unit="evaluation",
        repeats=5,
    ),
    Row(
        "blackbox-emcee",
        "black box of 0.1 ms, as many evaluations by emcee",
        lockstep,
        (emcee,),
        at_least=1 / 1.15,
        updates=10_000,
        unit="evaluation",
        repeats=5,
    ),
]
