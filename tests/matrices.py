"""How far a kernel of the registry is from leaving its target alone, by transition matrices."""

from __future__ import annotations

import jax
import numpy as np
from registry import STATES, Case

import lockstep as ls
from lockstep.check import Law, as_law, balance_error, stationarity_error, transition_matrix
from lockstep.core.precision import canonical, double_precision
from lockstep.ratios.posterior import Posterior


def matrix_and_target(case: Case, proposal) -> tuple[np.ndarray, np.ndarray]:
    """The transition matrix, and the target on its states: pairs of state and memory if the memory is random."""
    kernel = case.make(proposal)
    matrix = transition_matrix(kernel, STATES, case.law)
    weights = np.exp(case.log_target)
    if not kernel.is_memory_random:
        return matrix, weights
    law = as_law(case.law)
    memory = memories(kernel, law)
    inner = kernel.ratio.inner if isinstance(kernel.ratio, Posterior) else kernel.ratio
    if isinstance(inner, ls.Randomized | ls.Screened):
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
        init = jax.vmap(jax.vmap(type(ratio).init, in_axes=(None, 0, None)), in_axes=(None, None, 0))
        made = jax.jit(init)(ratio, values, canonical(STATES, "states"))
        # With a prior around a ratio, the log prior is remembered besides.
        log_prior, inner = np.zeros(()), ratio
        if isinstance(ratio, Posterior):
            (log_prior, made), inner = made, ratio.inner
        return np.asarray(log_prior) + np.asarray(made.memory if isinstance(inner, ls.Screened) else made)


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
