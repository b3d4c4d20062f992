"""Rules on a continuous bimodal target in one dimension, where D is often near 0: by quadrature on a fine grid."""

from __future__ import annotations

import noise_laws
import numpy as np
import pytest

import lockstep as ls

X = np.linspace(-7.0, 7.0, 281)
LOG_PI = np.logaddexp(-0.5 * (X - 2) ** 2, -0.5 * (X + 2) ** 2)
PI = np.exp(LOG_PI) / np.exp(LOG_PI).sum()
STEP = 2.0
M, SIZE = 32, 1_000_000
D_GRID = np.linspace(-40.0, 40.0, 4001)


def total_variation(family, sigma):
    """Total variation from the target of the equilibrium of each rule, with cumulants from the m samples themselves."""
    rng = np.random.default_rng(1)
    parts = [noise_laws.estimates(family, M, SIZE // 20, rng, sigma) for _ in range(20)]
    error, bias, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
    found = {}
    for name, rule in noise_laws.RULES.items():
        log_ratio = np.sort(rule(ls.Estimate(error, bias, variance, 0.0, M)))
        # E min(1, e^{D+ε}) from sorted ε: those above -D count 1, the others e^{D+ε}.
        sums = np.concatenate([[0.0], np.cumsum(np.exp(log_ratio))])
        below = np.searchsorted(log_ratio, -D_GRID)
        acceptance = (SIZE - below + np.exp(D_GRID) * sums[below]) / SIZE
        proposal = np.exp(-0.5 * ((X[:, None] - X) / STEP) ** 2)
        proposal /= proposal.sum(axis=1).max()
        moves = proposal * np.interp(LOG_PI[None, :] - LOG_PI[:, None], D_GRID, acceptance)
        np.fill_diagonal(moves, 0.0)
        matrix = moves + np.diag(1 - moves.sum(axis=1))
        # πP = π with Σπ = 1
        equations = np.vstack([matrix.T - np.eye(X.size), np.ones(X.size)])
        equilibrium = np.linalg.lstsq(equations, np.append(np.zeros(X.size), 1.0), rcond=None)[0]
        found[name] = 0.5 * np.abs(equilibrium - PI).sum()
    return found


def test_corrected_is_far_better_than_naive_with_the_papers_estimator():
    found = total_variation("inverse", 1.0)
    assert found["corrected"] < 0.25 * found["naive"]
    assert found["corrected"] < found["penalty"]


def test_a_penalty_harms_the_log_of_an_unbiased_ratio():
    found = total_variation("lognormal", 1.0)
    assert found["corrected"] == pytest.approx(found["naive"])
    assert found["penalty"] > 10 * found["naive"]
