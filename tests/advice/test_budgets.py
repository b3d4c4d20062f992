"""What advice and predictions cost, and that a prediction is made once."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lockstep as ls

WALK = ls.RandomWalk(2.0)


class Simulator:
    """A black box that counts its calls, which are no setting of it."""

    def __init__(self):
        self._calls = []

    def __call__(self, rng, position, candidate, count):
        self._calls.append(count)
        return -0.5 * (np.sum(candidate**2) - np.sum(position**2)) + rng.standard_normal(count)


def simulator():
    """An estimator that calls a simulator, and the calls."""
    simulate = Simulator()
    return ls.estimators.mean(ls.blackbox(simulate, vectorized=True), 16), simulate._calls


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run in a directory, what its summary said, and how often the simulator was called on the way."""
    noisy, calls = simulator()
    directory = tmp_path_factory.mktemp("kept") / "run"
    run = ls.sample(ls.naive(noisy, WALK), np.zeros(2), draws=1000, chains=2, seed=1, directory=directory)
    made = len(calls)
    summary = run.summary()
    return run, summary, noisy, calls, made


@pytest.mark.filterwarnings("ignore::lockstep.LockstepWarning")  # so few calls need not tell a number
def test_a_summary_costs_a_tenth_of_the_run_and_only_once(kept, tmp_path):
    run, summary, _, calls, made = kept
    cost = len(calls) - made
    assert made >= 2000 and 0 < cost <= made / 10
    assert cost == summary.prediction.calls
    before = len(calls)
    assert repr(run.summary()) == repr(summary)
    run.report(tmp_path)
    assert ls.separation.predict(run) is summary.prediction
    assert len(calls) == before


@pytest.mark.filterwarnings("ignore::lockstep.LockstepWarning")  # so few calls need not tell a number
def test_the_prediction_is_kept_in_the_directory(kept):
    run, summary, *_ = kept
    loaded = ls.load(run.directory)
    assert loaded.kernel is None
    assert loaded.summary().findings == summary.findings
    found = ls.separation.predict(loaded)
    assert str(found.to_dict()) == str(summary.prediction.to_dict())  # (a NaN is not equal to itself)
    assert repr(found) == repr(summary.prediction)


def damaged(content):
    content["prediction"]["rules"]["naive"]["rho"] = 1e9
    return json.dumps(content)


DAMAGE = {
    "changed number": damaged,
    "other draws": lambda content: json.dumps({**content, "draws": 7}),
    "cut off": lambda content: json.dumps(content)[:-40],
    "list": lambda content: "[1, 2]",
    "nothing": lambda content: "",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_not_its_own_is_not_believed(kept, name):
    run, *_ = kept
    path = run.directory / "prediction.json"
    before = path.read_text()
    try:
        path.write_text(DAMAGE[name](json.loads(before)))
        assert "has no kernel" in ls.load(run.directory).summary().findings[1]
    finally:
        path.write_text(before)


def test_texts_of_a_hostile_file_are_not_shown(kept):
    from lockstep.separation import kept as module

    run, *_ = kept
    path = run.directory / "prediction.json"
    before = path.read_text()
    try:
        content = {name: value for name, value in json.loads(before).items() if name != "digest"}
        content["prediction"]["problems"] = ["\x1b[2J"]
        path.write_text(json.dumps({**content, "digest": module._digest(content)}))
        assert module.recall(ls.load(run.directory)) is None
    finally:
        path.write_text(before)


@pytest.mark.filterwarnings("ignore:separation is not predicted")  # so few calls may tell too little
def test_a_longer_run_is_predicted_anew(kept):
    run, summary, *_ = kept
    longer = ls.sample(run.kernel, np.zeros(2), draws=1200, chains=2, seed=1, directory=run.directory)
    assert ls.separation.predict(longer).updates == 2400 != summary.prediction.updates


def test_a_budget_of_calls_and_of_seconds(kept):
    run, _, _, calls, made = kept
    for budget in ({"calls": 300}, {"seconds": run.seconds / 8}):
        before = len(calls)
        found = ls.separation.predict(run, **budget)
        assert len(calls) - before == found.calls
        assert 128 <= found.calls <= (300 if "calls" in budget else made / 8)
    with pytest.raises(ValueError, match="too short for a prediction"):
        ls.separation.predict(run, calls=20)
    with pytest.raises(ValueError, match="seconds is 0"):
        ls.separation.predict(run, seconds=0)


def test_advice_for_a_black_box_costs_a_tenth_of_the_run():
    noisy, calls = simulator()
    advice = ls.advise(noisy, WALK, np.zeros(2), updates=10_000, separations=10)
    assert advice.rule in ("penalty", "corrected", "two_sided") and advice.count < 100
    assert 300 < len(calls) <= 1000
    assert "rough advice" in repr(advice)


def test_advice_that_cannot_be_afforded_says_what_it_takes():
    noisy, calls = simulator()
    with pytest.warns(ls.LockstepWarning, match="calls=1000"):
        advice = ls.advise(noisy, WALK, np.zeros(2), updates=1000)
    assert advice.rule is None and not calls
    with pytest.raises(ValueError, match="no rule can be advised"):
        advice.sample()


def test_advice_from_a_run_makes_no_pilot(kept):
    run, _, noisy, calls, _ = kept
    before = len(calls)
    advice = ls.advise(noisy, WALK, run, updates=10_000, separations=10, calls=700)
    assert advice.pilot is run and advice.rule is not None
    looked = {look.count for look in advice.looks}
    assert set(calls[before:]) == looked
    assert len(calls) - before <= 700
