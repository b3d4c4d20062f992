"""Exactness without Monte Carlo: transition matrices from the library's own code, to rounding."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from covering import chosen
from matrices import errors
from registry import CASES, PROPOSALS, STATES, WRONG, WRONG_HASTINGS
from scipy import stats

import lockstep as ls
from lockstep.check import transition_matrix

TOLERANCE = 1e-14
NAMES = list(PROPOSALS)


@pytest.mark.parametrize("name", chosen(NAMES, {"hastings"}))  # a symmetric proposal is a special case
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exact_kernels_are_exact_and_say_so(case, name):
    kernel = case.make(PROPOSALS[name])
    assert (kernel.exact_when is not None) == case.is_exact
    for what, error in errors(case, PROPOSALS[name]).items():
        if case.is_exact:
            assert error < TOLERANCE, (what, error)
        else:
            assert error > 1e-4, (what, error)


@pytest.mark.parametrize("name", chosen(NAMES, {"hastings"}))
@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_wrong_variants_are_rejected(case, name):
    assert errors(case, PROPOSALS[name])["stationarity"] > 1e9 * TOLERANCE


@pytest.mark.parametrize("case", WRONG_HASTINGS, ids=lambda case: case.name)
def test_wrong_variants_are_rejected_with_hastings_proposals(case):
    assert errors(case, PROPOSALS["hastings"])["stationarity"] > 1e-3
    assert errors(case, PROPOSALS["symmetric"])["stationarity"] < TOLERANCE


# Kernels of the commonest ratios; some are compiled as users compile them, some quickly.
OPTIMIZED = {"standard", "pseudo-marginal", "universal", "mixture"}
QUICK = {"penalty", "exchange", "cycle"}


@pytest.mark.parametrize("case", chosen(CASES, QUICK, optimized=OPTIMIZED))
def test_the_compiled_kernel_moves_as_its_matrix_says(case):
    """Frequencies of transitions against the matrix, row by row; one false alarm in a million."""
    kernel = case.make(PROPOSALS["hastings"])
    is_markov = not kernel.is_memory_random
    sizes = {"draws": 12_000, "chains": 8} if is_markov else {"draws": 400, "chains": 500, "warmup": 100}
    run = ls.sample(kernel, jax.numpy.array(0), seed=7, **sizes)
    if is_markov:
        counts = transitions(run.positions)
        expected = transition_matrix(kernel, STATES, case.law)
        p_values = [row_test(*row) for row in zip(counts, expected, strict=True)]
    else:
        # The position alone is no Markov chain: compare its law in the long run, over independent chains.
        shares = np.stack([(run.positions == state).mean(axis=1) for state in STATES], axis=1)
        target = np.exp(case.log_target) / np.exp(case.log_target).sum()
        scores = (shares.mean(axis=0) - target) / (shares.std(axis=0, ddof=1) / np.sqrt(len(shares)))
        p_values = list(2 * stats.t.sf(np.abs(scores), len(shares) - 1))
    assert min(p_values) > 1e-6 / len(p_values)


def transitions(positions) -> np.ndarray:
    counts = np.zeros((len(STATES), len(STATES)))
    np.add.at(counts, (positions[:, :-1].ravel(), positions[:, 1:].ravel()), 1)
    return counts


def row_test(counts, probabilities) -> float:
    is_possible = probabilities > 0
    assert counts[~is_possible].sum() == 0
    expected = probabilities[is_possible] / probabilities[is_possible].sum() * counts.sum()
    return float(stats.chisquare(counts[is_possible], expected).pvalue)


@pytest.mark.optimized
def test_the_frequency_test_can_fail():
    right = transition_matrix(CASES[1].make(PROPOSALS["hastings"]), STATES, CASES[1].law)
    run = ls.sample(WRONG[0].make(PROPOSALS["hastings"]), jax.numpy.array(0), draws=12_000, chains=8, seed=7)
    p_values = [row_test(*row) for row in zip(transitions(run.positions), right, strict=True)]
    assert min(p_values) < 1e-6
