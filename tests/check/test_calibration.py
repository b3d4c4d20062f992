"""Ranks of parameters from the prior: uniform for a right kernel, and not for a wrong one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lockstep as ls

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
