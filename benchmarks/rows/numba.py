"""Random walk Metropolis against loops written by hand and compiled by Numba."""

import math

import numba
import numpy as np

from benchmarks.harness import Builder, Row, timed
from benchmarks.walk import lockstep


@numba.njit
def with_mersenne_twister(seed, draws):
    """The generator of ``np.random`` within Numba."""
    np.random.seed(seed)
    positions, is_accepted = np.empty((draws, 2)), np.empty(draws, np.bool_)
    x, y, value = 0.0, 0.0, 0.0
    for t in range(draws):
        new_x, new_y = x + np.random.normal(), y + np.random.normal()
        new_value = -0.5 * (new_x * new_x + new_y * new_y)
        is_accepted[t] = math.log(np.random.random()) <= new_value - value
        if is_accepted[t]:
            x, y, value = new_x, new_y, new_value
        positions[t, 0], positions[t, 1] = x, y
    return positions, is_accepted


@numba.njit
def with_pcg64(generator, draws):
    """NumPy's `Generator`: ziggurat normals and exponentials, the fastest that Numba has."""
    positions, is_accepted = np.empty((draws, 2)), np.empty(draws, np.bool_)
    x, y, value = 0.0, 0.0, 0.0
    for t in range(draws):
        new_x, new_y = x + generator.standard_normal(), y + generator.standard_normal()
        new_value = -0.5 * (new_x * new_x + new_y * new_y)
        is_accepted[t] = -generator.standard_exponential() <= new_value - value
        if is_accepted[t]:
            x, y, value = new_x, new_y, new_value
        positions[t, 0], positions[t, 1] = x, y
    return positions, is_accepted


def loop(walk, source) -> Builder:
    """A run of a loop, with what makes its random numbers: a seed or a generator."""
    name = f"Numba loop {walk.__name__.replace('_', ' ')}"
    return lambda updates: timed(name, updates, lambda: walk(source, updates))


def row(name: str, peer: Builder, at_least: float | None) -> Row:
    return Row(name, "random walk, 1 chain", lockstep(1), (peer,), at_least)


# The loop that people write, and the one with ziggurat tables, the fastest that there is.
ROWS = [
    row("walk-1-numba", loop(with_mersenne_twister, 0), 1 / 1.5),
    row("walk-1-numba-pcg64", loop(with_pcg64, np.random.default_rng(0)), 0.7),
]
