"""Exactness without Monte Carlo: transition matrices from the library's own code, to rounding."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from registry import CASES, PROPOSALS, STATES, WRONG, WRONG_HASTINGS, Case
from scipy import stats

import lockstep as ls
from lockstep.check import Law, as_law, balance_error, stationarity_error, transition_matrix
from lockstep.precision import canonical, double_precision

TOLERANCE = 1e-14
NAMES = list(PROPOSALS)


def matrix_and_target(case: Case, proposal) -> tuple[np.ndarray, np.ndarray]:
    """The transition matrix, and the target on its states: pairs of state and memory if the memory is random."""
    kernel = case.make(proposal)
    matrix = transition_matrix(kernel, STATES, case.law)
    weights = np.exp(case.log_target)
    if not kernel.is_memory_random:
        return matrix, weights
    law = as_law(case.law)
    memory = memories(kernel, law)
    if isinstance(kernel.ratio, ls.Randomized):
        return lumped(matrix, memory, law, weights)
    extended = np.exp(memory) * law.weights
    # The pairs' target has the right marginal: the estimates are unbiased up to one constant.
    marginal = extended.sum(axis=1)
    assert np.allclose(marginal / marginal.sum(), weights / weights.sum(), rtol=0, atol=1e-14)
    return matrix, extended.ravel()


def memories(kernel, law: Law) -> np.ndarray:
    with double_precision():
        ratio = canonical(kernel, "kernel").ratio
        values = canonical(law.values, "law")
        init = jax.vmap(jax.vmap(ratio.init, in_axes=(0, None)), in_axes=(None, 0))
        return np.asarray(init(values, canonical(STATES, "states")))


def lumped(matrix, memory, law, weights):
    """Where the memory depends on a part of the noise, only that part belongs to the state."""
    states, values = memory.shape
    first = np.unique(memory[0].round(12), return_inverse=True)[1]
    groups = first.max() + 1
    gather = np.eye(groups)[first]  # value -> group
    rows = np.array([np.flatnonzero(first == group)[0] for group in range(groups)])
    cube = matrix.reshape(states, values, states, values)
    # Every member of a group must move alike; the columns of a group are added up.
    columns = np.einsum("ikjl,lg->ikjg", cube, gather)
    for group in range(groups):
        members = columns[:, first == group]
        assert np.allclose(members, members[:, :1], rtol=0, atol=1e-14)
    small = columns[:, rows].reshape(states * groups, states * groups)
    noise = gather.T @ law.weights
    # The auxiliary data bring in the unknown constants, so that only the noise's share is the memory's.
    shares = np.exp(memory[:, rows]) * noise
    return small, (weights[:, None] * shares / shares.sum(axis=1, keepdims=True)).ravel()


def errors(case: Case, proposal) -> dict[str, float]:
    matrix, target = matrix_and_target(case, proposal)
    assert np.all(matrix >= -1e-16)
    assert np.allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-13)
    found = {"stationarity": stationarity_error(matrix, target)}
    if case.is_reversible:
        found["balance"] = balance_error(matrix, target)
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exact_kernels_are_exact_and_say_so(case, name):
    kernel = case.make(PROPOSALS[name])
    assert (kernel.exact_when is not None) == case.is_exact
    for what, error in errors(case, PROPOSALS[name]).items():
        if case.is_exact:
            assert error < TOLERANCE, (what, error)
        else:
            assert error > 1e-4, (what, error)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_wrong_variants_are_rejected(case, name):
    assert errors(case, PROPOSALS[name])["stationarity"] > 1e9 * TOLERANCE


@pytest.mark.parametrize("case", WRONG_HASTINGS, ids=lambda case: case.name)
def test_wrong_variants_are_rejected_with_hastings_proposals(case):
    assert errors(case, PROPOSALS["hastings"])["stationarity"] > 1e-3
    assert errors(case, PROPOSALS["symmetric"])["stationarity"] < TOLERANCE


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
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


def test_the_frequency_test_can_fail():
    right = transition_matrix(CASES[1].make(PROPOSALS["hastings"]), STATES, CASES[1].law)
    run = ls.sample(WRONG[0].make(PROPOSALS["hastings"]), jax.numpy.array(0), draws=12_000, chains=8, seed=7)
    p_values = [row_test(*row) for row in zip(transitions(run.positions), right, strict=True)]
    assert min(p_values) < 1e-6
