"""Predictions of a zoo of estimators, each within a quarter of the truth or withheld for a reason that holds."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import zoo
from coupled_pair import coupled
from coupled_truth import MOST, MOST_SAMPLES, noise_of, truth_of
from covering import chosen
from zoo_book import NEEDLESS, RIGHT, WITHHELD, WRONG, ZooBook

import lockstep as ls

TOLERANCE = np.log(1.25)
DRAWS, CHAINS = 20_000, 4
MOST_NEEDLESS = 0.05


class Outcome(NamedTuple):
    """One number of a prediction beside the truth, of a rule against one exact chain."""

    rule: str
    against: str
    predicted: float
    at_least: float
    truth: float
    verdict: str

    @property
    def is_number(self) -> bool:
        return bool(np.isfinite(self.predicted) and np.isfinite(self.truth))

    @property
    def said(self) -> str:
        if np.isnan(self.predicted):
            return f"above {self.at_least:,.3g}" if self.at_least else "–"
        return "∞" if np.isinf(self.predicted) else f"{self.predicted:,.4g}"


def verdict_of(found: Any, truth: float, error: float, case: zoo.Case, problems: str) -> str:
    """Right within a quarter, allowing for the error of the truth; a bound and a reason must hold."""
    if np.isnan(found.rho) and found.at_least:
        return WITHHELD if truth * (1 + 2 * error / truth) >= found.at_least / 1.25 else WRONG
    if np.isnan(found.rho):
        return WITHHELD if any(word in problems for word in case.reasons) else NEEDLESS
    if np.isinf(found.rho) or np.isinf(truth):
        return RIGHT if found.rho == truth else WRONG
    is_close = case.has_truth and abs(np.log(found.rho / truth)) <= TOLERANCE + 2 * error / truth
    return RIGHT if is_close else WRONG


def outcomes_of(case: zoo.Case, draws: int = DRAWS, most: int = MOST) -> tuple[list[Outcome], str, ls.Run]:
    """What is predicted of every rule from a run of the case, beside the truth; why what is withheld; and the run."""
    run = ls.sample(case.kernel, case.target.draw, draws=draws, chains=CHAINS, seed=1, progress=False)
    # One plain line of the summary, and no warning: in the tests these are errors.
    said = [finding for finding in run.summary().findings if "approximate kernel" in finding or "exact" in finding]
    assert len(said) == 1 and "\n" not in said[0] and "nan" not in said[0] and "inf " not in said[0], said
    truth = truth_of(case.estimator, case.target, case.scale, case.law, most=most) if case.has_truth else {}
    found, reasons = [], []
    for against in ("penalty", "standard"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ls.LockstepWarning)
            predicted = ls.separation.predict(run, against=against)
        problems = "; ".join(predicted.problems)
        assert "nan" not in repr(predicted) and " inf" not in repr(predicted), predicted
        for rule in (name for name in zoo.KERNELS if name in predicted.rules):
            rho, error = (np.nan, 0.0) if not truth else truth[rule][:2] if against == "penalty" else truth[rule][2:]
            if rule in case.exact and (against == "penalty" or case.name.startswith("no noise")):
                rho, error = np.inf, 0.0
            one = predicted[rule]
            verdict = verdict_of(one, rho, error, case, problems)
            found.append(Outcome(rule, against, one.rho, one.at_least, rho, verdict))
        if np.isnan(predicted.rho):
            held = [word for word in case.reasons if word in problems]
            reasons.append("nearer than can be told" if predicted.used.at_least else held[0] if held else problems[:80])
    return found, reasons[0] if reasons else "", run


def check_advice(case: zoo.Case, run: ls.Run, **options: Any) -> None:
    """An advice is a rule, or says why there is none; no exception, and no other warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ls.LockstepWarning)
        advice = ls.advise(case.estimator, case.target.proposal, run, progress=False, **options)
    assert advice.findings if advice.rule else advice.problems, advice
    assert "nan" not in repr(advice), advice


@pytest.mark.parametrize(
    "name", chosen(zoo.FAST, set(zoo.FAST) - {"exponential", "uniform", "scale that changes much"})
)
def test_ten_of_the_zoo(name):
    """Ten that are compiled once: right, or withheld for the reason that holds."""
    case = zoo.fast_case(name)
    found, _, run = outcomes_of(case, most=2**16)
    assert all(outcome.verdict in (RIGHT, WITHHELD) for outcome in found), found
    # What can be told is told.
    assert all(outcome.verdict == RIGHT for outcome in found) or case.reasons
    if name in ("coin", "scale by direction"):  # the study asks for advice on all
        # With calls for one look, so that nothing is compiled for another number of samples.
        check_advice(case, run, updates=20_000, separations=100, calls=6000)


@pytest.mark.study
def test_the_truth_is_what_a_coupled_pair_measures():
    """Decisions integrated at exact draws, and along the path of an exact chain that the kernel shadows."""
    case = zoo.fast_case("exponential")
    check_coupled(case, draws=10_000, most=2**16)


@pytest.fixture(scope="module")
def book():
    """The page of the zoo, written when the study is over."""
    made = ZooBook()
    yield made
    made.write(zoo.NAMES)


@pytest.mark.study
@pytest.mark.xdist_group("zoo")  # one process writes the page
@pytest.mark.parametrize("name", zoo.NAMES)
def test_zoo(name, book):
    case = zoo.case_of(name)
    found, reason, _ = outcomes_of(case)
    verdict = book.enter(name, zoo.half_of(name), case.rule, found, reason)
    print(f"\n{name}: {verdict}", reason, *found, sep="\n  ")
    assert verdict != WRONG


@pytest.mark.study
@pytest.mark.parametrize("name", zoo.NAMES)
def test_advice_for_the_zoo(name):
    case = zoo.case_of(name)
    run = ls.sample(case.kernel, case.target.draw, draws=DRAWS // 10, chains=CHAINS, seed=1, progress=False)
    check_advice(case, run, updates=DRAWS * CHAINS, separations=100)


@pytest.mark.study
@pytest.mark.xdist_group("zoo")
def test_few_are_withheld_without_need(book):
    assert len(book.rows) >= len(zoo.NAMES)
    assert book.count(WRONG) == 0
    assert book.count(NEEDLESS) <= MOST_NEEDLESS * len(book.rows)


@pytest.mark.study
@pytest.mark.parametrize("name", zoo.COUPLED)
def test_the_truth_of_the_zoo_is_what_coupled_pairs_measure(name):
    check_coupled(zoo.case_of(name), DRAWS, MOST)


def check_coupled(case: zoo.Case, draws: int, most: int) -> None:
    pair = coupled(case, noise_of(case.estimator, case.target, case.scale, most=most, samples=8 * MOST_SAMPLES))
    run = ls.sample(pair, case.target.draw, draws=draws, chains=CHAINS, seed=5, progress=False)
    measured = ls.separation.summary(run)
    truth = truth_of(case.estimator, case.target, case.scale, case.law, most=most)[case.rule]
    error = np.hypot(measured.rho_1_se, truth.rho_se)
    assert abs(measured.rho_1 - truth.rho) < 4 * error and error < 0.08 * truth.rho, (measured, truth)
