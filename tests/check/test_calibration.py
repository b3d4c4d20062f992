"""Ranks of parameters from the prior: uniform for a right kernel, and not for a wrong one."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.host.functions import Function

calibration = importlib.import_module("lockstep.check.calibration")  # the function has the name of its module
PARAMETERS = ls.Parameters(mean=stats.norm(0, 1))


def simulate(mean, rng):
    return rng.normal(mean, 1.0, size=4)


def kernel_for(variance):
    def make(data):
        return ls.standard(ls.blackbox(lambda mean: -0.5 * np.sum((data - mean) ** 2) / variance), ls.RandomWalk(1.0))

    return make


@pytest.mark.parametrize(("variance", "is_ok"), [(1.0, True), (0.25, False)])
def test_calibration_tells_right_from_wrong(variance, is_ok):
    found = ls.check.calibration(
        PARAMETERS, ls.blackbox(simulate), kernel_for(variance), replicates=80, draws=15, thin=4
    )
    assert found.is_ok == is_ok, found
    assert found.values["ranks"]["mean"].shape == (80,)


DRAWS = 9


def ranks_of(monkeypatch, positions, replicates=400):
    """Ranks of the truth among draws that are made up: two chains, as differences from the truth."""

    def made_up(kernel, initial, draws, chains, **options):
        assert (draws, chains, initial) == (DRAWS, 2, {"mean": 0.7})
        return SimpleNamespace(positions={"mean": initial["mean"] + positions})

    monkeypatch.setattr(calibration, "sample", made_up)
    monkeypatch.setattr(PARAMETERS.__class__, "draw", lambda self, key: {"mean": np.float64(0.7)})
    rng = np.random.default_rng(1)
    simulator = Function(lambda key, mean: np.zeros(1), "simulate")
    kernel = PARAMETERS.posterior(ls.standard(ls.blackbox(lambda mean: 0.0), ls.RandomWalk(1.0)))
    return [
        int(calibration._ranks(PARAMETERS, simulator, lambda data: kernel, jr.key(0), DRAWS, 1, rng)["mean"])
        for _ in range(replicates)
    ]


def assert_uniform(ranks):
    counts = np.bincount(ranks, minlength=DRAWS + 1)
    assert len(counts) == DRAWS + 1 and stats.chisquare(counts).pvalue > 1e-6


def test_kernels_that_hardly_move_have_uniform_ranks(monkeypatch):
    """All of the first chain is below the truth and all of the second above: the rank is where they are cut."""
    assert_uniform(ranks_of(monkeypatch, np.stack([np.full(DRAWS, -1.0), np.full(DRAWS, 1.0)])))


def test_a_kernel_that_never_moves_has_uniform_ranks(monkeypatch):
    assert_uniform(ranks_of(monkeypatch, np.zeros((2, DRAWS))))


def test_the_statistic_is_chi_squared_over_bins():
    # Ranks 0 … 10 in eight bins: 0 0 1 2 2 3 4 5 5 6 7.
    sizes = np.array([2, 1, 2, 1, 1, 2, 1, 1]) / 11
    ranks = np.random.default_rng(2).integers(0, 11, size=(3, 200))
    edges = [0, 2, 3, 5, 6, 7, 9, 10, 11]
    counts = np.stack([np.histogram(row, edges)[0] for row in ranks])
    exact = stats.chisquare(counts, 200 * sizes, axis=1).statistic
    np.testing.assert_allclose(calibration._statistic(ranks, 10), exact, rtol=1e-12)


def test_the_least_chance_of_several_parameters_counts_as_many_times(monkeypatch):
    uneven, even = iter([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9] * 40), iter([0, 1, 2, 3, 4, 5, 6, 7, 8, 9] * 40)

    def found(**ranks):
        monkeypatch.setattr(
            calibration, "_ranks", lambda *_: {name: np.array(next(one)) for name, one in ranks.items()}
        )
        return ls.check.calibration(
            PARAMETERS, ls.blackbox(simulate), kernel_for(1.0), replicates=60, draws=9, false_alarms=1e-4
        )

    alone = found(a=uneven)
    both = found(b=even, a=uneven)
    assert 1e-3 < alone.residual < 0.3 and both.residual == pytest.approx(2 * alone.residual) and both.worst == "a"
    # Ranks that are all the same are as bad as can be told.
    assert found(a=iter([0] * 60)).residual == 1 / (1 + calibration.REFERENCES)
