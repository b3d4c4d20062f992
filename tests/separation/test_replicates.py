"""Replicates of estimates: where they have noise."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from lockstep.separation.replicates import Replicates


def test_estimates_without_noise_are_told_from_others_with_infinite_and_undefined_ones_among_them():
    inf, nan = np.inf, np.nan
    rows = [
        ([1.0, 1.0, 1.0], True),
        ([1e6, 1e6 * (1 + 1e-15), 1e6], True),
        ([1.0, 1.0, 1.1], False),
        ([-inf, -inf, -inf], True),
        ([inf, inf, inf], True),
        ([-inf, 1.0, -inf], False),
        ([1.0, -inf, 1.0], False),
        ([-inf, inf, -inf], False),
        ([nan, nan, nan], False),
        ([1.0, nan, 1.0], False),
    ]
    estimates = SimpleNamespace(value=np.array([values for values, _ in rows]))
    # Warnings are errors in the tests: none comes of infinite values.
    found = Replicates(0.0, estimates, None, None, None, None).is_constant
    assert found.tolist() == [is_constant for _, is_constant in rows]
