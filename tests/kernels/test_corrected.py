"""The corrected rule: the table of total variations, its order, and the case in which it fails."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from registry import LOG_PI, PROPOSALS, STATES, difference

import lockstep as ls
from lockstep.check import Law, product, stationary, symmetry, total_variation, transition_matrix
from lockstep.core.precision import double_precision

DRAWS, BATCHES = 2**18, 8


def inverse(average, position, candidate):
    """The paper's estimator: D - 1 + 1/average of exponential variables."""
    return difference(position, candidate) - 1 + 1 / average


def logarithm(average, position, candidate):
    """The log of an unbiased ratio: D + log(average of e^{Z - 1/2})."""
    return difference(position, candidate) + jnp.log(average)


def exponentials(key, count):
    return jr.exponential(key, (count,))


def lognormals(key, count):
    return jnp.exp(jr.normal(key, (count,)) - 0.5)


ESTIMATORS = {
    "inverse": functools.partial(ls.estimators.smooth, None, inverse, draw=exponentials),
    "logarithm": functools.partial(ls.estimators.smooth, None, logarithm, draw=lognormals),
}
RULES = {"naive": ls.naive, "penalty": ls.penalty, "corrected": ls.corrected}

# Total variations computed by an independent program, rounded to four places.
TABLE = {
    ("inverse", 8): {"naive": 0.0424, "penalty": 0.0235, "corrected": 0.0054},
    ("inverse", 32): {"naive": 0.0120, "penalty": 0.0077, "corrected": 0.0002},
    ("logarithm", 8): {"naive": 0.0015, "penalty": 0.0159, "corrected": 0.0015},
    ("logarithm", 32): {"naive": 0.0002, "penalty": 0.0057, "corrected": 0.0002},
}


@functools.cache
def noise_batches(name, count):
    """Monte Carlo laws of the estimator's noise: the moments of ``count`` samples."""
    estimator = ESTIMATORS[name](count=count)
    with double_precision():
        draw = jax.jit(lambda key: estimator.noise(key, 0, (DRAWS,)))
        return [jax.tree.map(np.asarray, draw(jr.fold_in(jr.key(3), batch))) for batch in range(BATCHES)]


@functools.cache
def deviations(name, count, rule):
    """Stationary law minus target: the mean over batches of noise, and its standard error."""
    kernel = RULES[rule](ESTIMATORS[name](count=count), PROPOSALS["symmetric"])
    matrices = [
        transition_matrix(kernel, STATES, Law(values, np.full(DRAWS, 1 / DRAWS)))
        for values in noise_batches(name, count)
    ]
    target = np.exp(LOG_PI) / np.exp(LOG_PI).sum()
    batches = np.array([stationary(matrix) - target for matrix in matrices])
    return stationary(np.mean(matrices, axis=0)) - target, batches.std(axis=0, ddof=1) / np.sqrt(BATCHES)


@pytest.mark.optimized
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("name", "count"),
    [row if row != ("logarithm", 32) else pytest.param(*row, marks=pytest.mark.study) for row in TABLE],
)
def test_table_of_total_variations(name, count, rule):
    deviation, error = deviations(name, count, rule)
    rounding = 5e-5
    assert np.abs(deviation).sum() / 2 == pytest.approx(TABLE[name, count][rule], abs=rounding + 4 * error.sum() / 2)
    assert error.sum() / 2 < 1.5e-4


@pytest.mark.optimized
def test_the_corrected_error_falls_as_the_square_of_m():
    (eight, _), (thirty_two, error) = (deviations("inverse", count, "corrected") for count in (8, 32))
    ratio = np.abs(eight).sum() / np.abs(thirty_two).sum()
    assert ratio > 8  # a rule of first order gains a factor of 4 only
    assert np.abs(thirty_two).sum() > error.sum()


@pytest.mark.optimized
def test_corrected_is_naive_for_the_log_of_an_unbiased_ratio():
    naive, corrected = (deviations("logarithm", 8, rule)[0] for rule in ("naive", "corrected"))
    assert np.array_equal(naive, corrected)


# --- a variance that differs by direction, on a fine grid of a continuous target --------------------------------------
GRID = np.linspace(-4, 4, 81)
M = 8


def log_normal_target(state):
    return -(jnp.asarray(GRID)[state] ** 2) / 2


def neighbours(reach=12):
    matrix = (np.abs(np.subtract.outer(range(81), range(81))) <= reach) * 1.0
    np.fill_diagonal(matrix, 0)
    matrix /= matrix.sum(axis=1).max()
    return ls.Finite(matrix + np.diag(1 - matrix.sum(axis=1)))


def variance(position, candidate):
    return (1 + 0.8 * jnp.tanh(jnp.asarray(GRID)[candidate])) / M


def one_sample(noise, position, candidate):
    return log_normal_target(candidate) - log_normal_target(position) + jnp.sqrt(variance(position, candidate)) * noise


NORMALS = np.linspace(-7, 7, 141)
NORMAL_WEIGHTS = np.exp(-(NORMALS**2) / 2) / np.exp(-(NORMALS**2) / 2).sum()
LAW = Law(NORMALS[:, None], NORMAL_WEIGHTS)


def asymmetric():
    inner = ls.estimators.mean(one_sample, count=1, draw=lambda key, count: jr.normal(key, (count,)))
    return ls.estimators.known_variance(inner, variance)


def grid_error(kernel, law):
    return total_variation(stationary(transition_matrix(kernel, np.arange(81), law)), np.exp(-(GRID**2) / 2))


@pytest.mark.study
def test_corrected_fails_where_the_variance_differs_by_direction_and_two_sided_repairs_it():
    proposal, estimator = neighbours(), asymmetric()
    naive = grid_error(ls.naive(estimator, proposal), LAW)
    corrected = grid_error(ls.corrected(estimator, proposal), LAW)
    repaired = grid_error(ls.corrected(ls.estimators.two_sided(estimator), proposal), product(LAW, LAW))
    assert corrected > 0.5 * naive
    assert repaired < 0.02 * corrected


def test_symmetry_tells():
    estimator = asymmetric()
    positions, candidates = np.array([20, 35, 50]), np.array([30, 45, 60])
    told = symmetry(estimator, positions, candidates)
    assert not told
    assert "two_sided" in told.sentence
    true_ratios = (1 + 0.8 * np.tanh(GRID[candidates])) / (1 + 0.8 * np.tanh(GRID[positions]))
    assert np.allclose(told.values["variance_ratios"], true_ratios, rtol=0.2)
    assert symmetry(ls.estimators.two_sided(estimator), positions, candidates)
