"""Predictions of a zoo of estimators, each within a quarter of the truth or withheld for a reason that holds."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import zoo
from coupled_truth import MOST, truth_of

import lockstep as ls

TOLERANCE = np.log(1.25)
DRAWS, CHAINS = 20_000, 4


class Outcome(NamedTuple):
    """One number of a prediction beside the truth; ``verdict`` is "right", "withheld", "without need" or "wrong"."""

    rule: str
    predicted: float
    truth: float
    verdict: str


def judged(rule: str, predicted: float, truth: float, error: float, case: zoo.Case, problems: str) -> Outcome:
    if np.isnan(predicted):
        is_right = any(word in problems for word in case.reasons)
        return Outcome(rule, predicted, truth, "withheld" if is_right else "without need")
    if np.isinf(predicted) or np.isinf(truth):
        return Outcome(rule, predicted, truth, "right" if predicted == truth else "wrong")
    allowed = TOLERANCE + 2 * error / truth
    is_close = case.has_truth and abs(np.log(predicted / truth)) <= allowed
    return Outcome(rule, predicted, truth, "right" if is_close else "wrong")


def outcomes_of(case: zoo.Case, draws: int = DRAWS, most: int = MOST) -> list[Outcome]:
    """What is predicted of every rule from a run of the case, beside the truth."""
    run = ls.sample(case.kernel, case.target.draw, draws=draws, chains=CHAINS, seed=1, progress=False)
    sentences = [finding for finding in run.summary().findings if finding.startswith("approximate kernel")]
    if case.rule not in case.exact:
        assert len(sentences) == 1 and "\n" not in sentences[0] and "nan" not in sentences[0], sentences
    truth = truth_of(case.estimator, case.target, case.scale, case.law, most=most) if case.has_truth else {}
    found = []
    for against in ("penalty", "standard"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ls.LockstepWarning)
            predicted = ls.separation.predict(run, against=against)
        for rule in ("naive", "penalty", "corrected"):
            if rule not in predicted.rules:
                continue
            rho, error = (np.nan, 0.0) if not truth else truth[rule][:2] if against == "penalty" else truth[rule][2:]
            if rule in case.exact and (against == "penalty" or case.name.startswith("no noise")):
                rho, error = np.inf, 0.0
            problems = "; ".join(predicted.problems)
            found.append(judged(f"{rule} / {against}", predicted[rule].rho, rho, error, case, problems))
    return found


@pytest.mark.parametrize("name", zoo.FAST)
def test_ten_of_the_zoo(name):
    """Ten that are compiled once: right, or withheld for the reason that holds."""
    case = zoo.fast_case(name)
    found = outcomes_of(case, draws=5000, most=2**16)
    assert all(outcome.verdict in ("right", "withheld") for outcome in found), found
    # What can be told is told.
    assert all(outcome.verdict == "right" for outcome in found) or case.reasons


@pytest.mark.study
@pytest.mark.parametrize("name", zoo.OPEN)
def test_open_half(name):
    check(name)


@pytest.mark.study
@pytest.mark.parametrize("name", zoo.HELD)
def test_held_half(name):
    check(name)


def check(name: str) -> None:
    start = time.process_time()
    found = outcomes_of(zoo.case_of(name))
    print(f"\n{name} ({time.process_time() - start:.0f} s)", *found, sep="\n  ")
    assert all(outcome.verdict in ("right", "withheld") for outcome in found), found
