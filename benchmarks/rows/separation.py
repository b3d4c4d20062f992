"""The sweep of the paper's figure of separation times, against a program written by hand and compiled by Numba.

Both give, for two pairs of kernels, two proposals and m = 8 … 256: ρ from the gaps of a run, and τ from 1,000
replicates that stop when they separate. One peer draws the m samples of every estimate, as the algorithm is written;
the other draws their sufficient statistics, as ours does. A peer is one thread; ours has two tasks under way at a time.
"""

import ctypes
import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from numba.extending import get_cython_function_address

import lockstep as ls
from benchmarks.harness import Builder, Row, timed
from lockstep.separation import first_passage
from lockstep.studies import nicholls2012

COUNTS = (8, 16, 32, 64, 128, 256)
REPLICATES = 1000
UPDATES = 2**17
CHAINS = 16

_SPECIAL = "scipy.special.cython_special"
_two = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
_one = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
gammaincc = _two(get_cython_function_address(_SPECIAL, "gammaincc"))
ndtri = _one(get_cython_function_address(_SPECIAL, "ndtri"))


@numba.njit
def log_density(x, y):
    a, b, c, d = x - 3, y - 3, x - 6, y - 6
    first, second = -(a * a - a * b + b * b) / 1.5, -(c * c + c * d + d * d) / 1.5
    return max(first, second) + math.log1p(math.exp(-abs(first - second)))


@numba.njit
def draw_target():
    mean, correlation = (3.0, 0.5) if np.random.random() < 0.5 else (6.0, -0.5)
    u, v = np.random.normal(), np.random.normal()
    return mean + u, mean + correlation * u + math.sqrt(0.75) * v


@numba.njit
def sum_of_exponentials(m, draws_samples):
    if not draws_samples:
        return np.random.gamma(m, 1.0)
    total = 0.0
    for _ in range(m):
        total -= math.log(np.random.random())
    return total


@numba.njit
def mean_and_variance_of_normals(m, draws_samples):
    if not draws_samples:
        return np.random.normal() / math.sqrt(m), np.random.gamma((m - 1) / 2, 2.0) / (m - 1)
    total, squares = 0.0, 0.0
    for _ in range(m):
        one = np.random.normal()
        total, squares = total + one, squares + one * one
    return total / m, (squares - total * total / m) / (m - 1)


@numba.njit
def log_ratios(difference, m, is_naive, draws_samples):
    """The log ratios of the penalty method and of the approximate kernel, from the same noise."""
    if is_naive:
        total = sum_of_exponentials(m, draws_samples)
        score = ndtri(gammaincc(m, total))
        return difference + score / math.sqrt(m) - 0.5 / m, difference - 1 + m / total
    error, variance = mean_and_variance_of_normals(m, draws_samples)
    estimate = difference + error
    return estimate - 0.5 / m, estimate - 0.5 * variance / m


@numba.njit
def run(m, is_naive, is_walk, draws_samples, updates, stops):
    """One shadowed chain from equilibrium: how many updates it took, and the sum of its gaps."""
    x, y = draw_target()
    value, gaps = log_density(x, y), 0.0
    for t in range(updates):
        u, v = np.random.normal(), np.random.normal()
        new_x, new_y = (x + 4 * u, y + 4 * v) if is_walk else (4.5 + 2.5 * u, 4.5 + 2.5 * v)
        new_value = log_density(new_x, new_y)
        difference = new_value - value
        if not is_walk:
            old = (x - 4.5) ** 2 + (y - 4.5) ** 2
            difference += (6.25 * (u * u + v * v) - old) / 12.5
        exact, approximate = log_ratios(difference, m, is_naive, draws_samples)
        log_uniform = math.log(np.random.random())
        gaps += abs(math.exp(min(exact, 0.0)) - math.exp(min(approximate, 0.0)))
        if stops and (log_uniform <= exact) != (log_uniform <= approximate):
            return t + 1, gaps
        if log_uniform <= exact:
            x, y, value = new_x, new_y, new_value
    return updates, gaps


@numba.njit
def separation(m, is_naive, is_walk, draws_samples):
    _, gaps = run(m, is_naive, is_walk, draws_samples, UPDATES, False)
    total = 0
    for _ in range(REPLICATES):
        total += run(m, is_naive, is_walk, draws_samples, 10**9, True)[0]
    return UPDATES / gaps, total / REPLICATES


TASKS = list(itertools.product(("naive", "penalty_estimate"), ("random walk", "independence"), COUNTS))
SHORTER = [task for task in TASKS if task[0] == "naive" or task[2] <= 64]  # drawing all samples takes its time


def by_hand(tasks, draws_samples: bool) -> Builder:
    def sweep():
        return [separation(m, pair == "naive", walk == "random walk", draws_samples) for pair, walk, m in tasks]

    name = "Numba program, all samples" if draws_samples else "Numba program, sufficient statistics"
    return lambda updates: timed(name, updates, sweep)


def lockstep(tasks) -> Builder:
    def measure(pair, proposal, m):
        kernel = ls.Shadowed(*nicholls2012.coupled_pair(proposal, m, pair))
        start = nicholls2012.draw_target
        chain = ls.sample(kernel, start, draws=UPDATES // CHAINS, chains=CHAINS, progress=False)
        passages = first_passage(kernel, start, replicates=REPLICATES, progress=False)
        return 1 / chain.info.gaps.mean(), passages.tau

    def sweep():
        with ThreadPoolExecutor(2) as executor:
            return list(executor.map(lambda task: measure(*task), tasks))

    return lambda updates: timed("lockstep", updates, sweep)


def row(name: str, measures: str, tasks, draws_samples: bool) -> Row:
    ours, peer = lockstep(tasks), by_hand(tasks, draws_samples)
    return Row(name, measures, ours, (peer,), 1.0, updates=1, unit="sweep", repeats=2)


ROWS = [
    row("separation-numba-samples", "separation times, m = 8 … 256 (Penalty Estimate: … 64)", SHORTER, True),
    row("separation-numba", "separation times, m = 8 … 256", TASKS, False),
]
