"""Looks at several numbers of samples, of which some could not judge a rule."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from lockstep.advice.advice import Option
from lockstep.advice.advisor import _nearest, _needed


def look(count: int, rho: float) -> SimpleNamespace:
    return SimpleNamespace(count=count, rules={"corrected": SimpleNamespace(sure_rho=rho)})


def test_a_look_that_could_not_judge_a_rule_says_nothing_of_it():
    """It said that the rule would never separate from the exact chain."""
    looks = {one.count: one for one in (look(16, 50.0), look(64, 200.0), look(256, math.nan))}
    pilot = SimpleNamespace(looks=looks, estimator=SimpleNamespace(count=16))
    assert _needed(pilot, "corrected", 1 / 800) == pytest.approx(256)
    assert _nearest(pilot, "corrected", 1 / 800).count == 64


def test_a_discrepancy_that_is_not_known_is_not_a_number():
    option = Option("corrected", 64, 1.0, math.nan, True, 1.0, 1.0, False)
    assert option.told_discrepancy == "not known"
    bound = Option("corrected", 64, 1.0, 0.012, True, 1.0, 1.0, False)
    assert bound.told_discrepancy == "< 0.012"
