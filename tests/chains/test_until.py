"""Runs that stop when they are precise: at fixed numbers of draws, the same ones whenever they are asked."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import arviz_stats
import numpy as np
import pytest
from durable_models import single

import lockstep as ls
from lockstep.chains import drive
from lockstep.chains.until import Criterion, Look, parsed
from lockstep.engine import block as limits
from lockstep.storage.status import status

START = np.zeros(2)
ERROR = ls.until.error(0.09)


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Runs of all lengths share one program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_CELLS", 1)
        yield


@pytest.fixture(scope="module")
def plain():
    return ls.sample(single(), START, draws=2000, chains=4, seed=3)


def shares(run, draws):
    """ArviZ's Monte Carlo errors in standard deviations, of the first draws."""
    data = run.to_datatree()["posterior"].to_dataset().isel(draw=slice(0, draws))
    table = arviz_stats.summary(data, round_to="none").astype(float)
    return table["mcse_mean"] / table["sd"]


def test_numbers_of_draws_are_fixed():
    looks, time, draws = [], [], 0
    while draws < 1500:
        looks.append(draws := ERROR.next_look(draws))
    assert looks == [128, 192, 256, 384, 512, 768, 1024, 1536]
    draws = 0
    while draws < 1500:
        time.append(draws := ls.until.seconds(1).next_look(draws))
    assert time[:3] == [1, 2, 3] and set(looks) <= set(time)
    assert all(b - a <= max(1, a / 16) for a, b in itertools.pairwise(time))


@pytest.mark.parametrize(("pace", "overhead"), [(1e-3, 0.0), (1e-3, 0.3), (0.2, 0.0), (5.0, 0.0)])
def test_time_is_looked_at_seldom_and_in_time(pace, overhead):
    """Looks of draws that take so many seconds each, after something that took others: few, and hardly too late."""
    number, draws, looks = 1.0, 0, []
    either = ls.until.seconds(number) | ls.until.ess(1e9)
    while not looks or draws * pace + overhead < number:
        looks.append(draws := either.next_look(draws, draws * pace + overhead))
    due = max(1.0, (number - overhead) / pace)
    assert due <= draws <= max(due + 1, 1.07 * due)
    assert len(looks) <= 2 + 4 * np.log2(1 + due) and looks[0] == 1
    assert set(looks) <= {1, *(either.next_look(look - 1) for look in looks)}  # where a stop is known again


def test_a_run_stops_at_the_first_look_that_suffices(plain):
    run = ls.sample(single(), START, draws=2000, chains=4, seed=3, until=ERROR)
    met = [draws for draws in (128, 192, 256, 384, 512, 768, 1024) if (shares(plain, draws) <= 0.09).all()]
    assert 192 < run.draws == met[0] < 2000
    np.testing.assert_array_equal(run.positions, plain.positions[:, : run.draws])
    assert f"error(0.09) was met at draw {run.draws}" in run.until and run.until in run.summary().findings


def test_a_run_of_any_length_stops_at_the_same_draw_and_can_be_extended(tmp_path, plain, monkeypatch):
    there = tmp_path / "run"
    settings = {"chains": 4, "seed": 3, "directory": there}
    ls.sample(single(), START, draws=150, **settings)
    run = ls.sample(single(), START, draws=2000, until=ERROR, **settings)
    alone = ls.sample(single(), START, draws=2000, chains=4, seed=3, until=ERROR)
    assert run.draws == alone.draws and run.until == alone.until
    found = status(there)
    assert found.is_complete and found.draws == run.draws and ls.load(there).until == run.until
    kept = json.loads((there / "until.json").read_text())["stops"]
    assert [(one["criterion"], one["draws"], one["is_met"]) for one in kept] == [("error(0.09)", run.draws, True)]
    with monkeypatch.context() as patch:  # what is recorded is obeyed
        patch.setattr(Criterion, "judge", None)
        patch.setattr(type(ERROR), "judge", None)
        assert ls.sample(single(), START, draws=2000, until=ERROR, **settings).draws == run.draws
    longer = ls.sample(single(), START, draws=2000, until=ls.until.error(0.06), **settings)
    assert run.draws < longer.draws < 2000
    np.testing.assert_array_equal(longer.positions, plain.positions[:, : longer.draws])
    whole = ls.sample(single(), START, draws=2000, **settings)
    np.testing.assert_array_equal(whole.positions, plain.positions)
    assert whole.until is None and status(there).target == 2000
    again = ls.sample(single(), START, draws=2000, until=ERROR, **settings)
    assert again.draws == run.draws
    np.testing.assert_array_equal(again.positions, run.positions)


def test_a_run_that_an_error_stopped_ends_where_it_would_have(tmp_path, monkeypatch):
    settings = {"draws": 2000, "chains": 4, "seed": 3, "until": ls.until.error(0.07)}
    alone = ls.sample(single(), START, **settings)
    advance, blocks = drive.advance, []

    def fragile(*arguments):
        blocks.append(arguments)
        if len(blocks) == 5:
            raise RuntimeError("a node was lost")
        return advance(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(drive, "advance", fragile)
        with pytest.raises(RuntimeError, match="a node was lost") as caught:
            ls.sample(single(), START, directory=tmp_path / "run", **settings)
    run = ls.sample(single(), START, directory=tmp_path / "run", **settings)
    assert 0 < caught.value.run.draws < run.draws == alone.draws < 2000
    np.testing.assert_array_equal(run.positions, alone.positions)


def test_groups_on_an_executor_stop_where_one_process_does(tmp_path):
    settings = {"draws": 2000, "chains": 4, "seed": 3, "until": ERROR}
    alone = ls.sample(single(), START, **settings)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="until with an executor needs a directory"):
            ls.sample(single(), START, executor=pool, **settings)
        run = ls.sample(single(), START, executor=pool, directory=tmp_path / "run", **settings)
    # Chains one by one are equal to chains together up to rounding.
    assert run.draws == alone.draws
    np.testing.assert_allclose(run.positions, alone.positions, atol=1e-9)
    again = ls.sample(single(), START, directory=tmp_path / "run", **settings)
    np.testing.assert_array_equal(again.positions, run.positions)
    assert again.until == run.until and status(tmp_path / "run").is_complete


def test_the_limit_is_told():
    with pytest.warns(ls.LockstepWarning, match=r"ess\(1e\+06\) was not met in 130 draws: .*more draws"):
        run = ls.sample(single(), START, draws=130, chains=4, until=ls.until.ess(1e6))
    assert run.draws == 130 and run.until in run.summary().findings


def judged(criterion, positions, seconds=0.0):
    return criterion.judge(Look(positions, 512, seconds, {}))


def test_what_never_moves_is_never_precise():
    values = np.random.default_rng(0).normal(size=(4, 512))
    for bad in (np.zeros((4, 512)), np.where(values > 3, np.nan, values), np.full((4, 512), np.inf)):
        for criterion in (ls.until.ess(1), ls.until.error(9)):
            assert judged(criterion, {"moving": values}).is_enough
            verdict = judged(criterion, {"moving": values, "fixed": bad})
            assert not verdict.is_enough and "fixed never moved or is not finite" in verdict.told


def test_flags_and_counts_are_judged_and_every_component_counts():
    rng = np.random.default_rng(0)
    positions = {"flag": rng.random((4, 512)) < 0.2, "counts": rng.poisson(3.0, (4, 512, 2))}
    assert judged(ls.until.error(0.03) & ls.until.ess(1000), positions).is_enough
    positions["counts"][:, :, 1] = np.repeat(positions["counts"][:, ::64, 1], 64, axis=1)
    verdict = judged(ls.until.error(0.03), positions)
    assert not verdict.is_enough and "counts[1]" in verdict.told


def test_both_chains_of_a_pair_are_judged():
    good, slow = np.random.default_rng(0).normal(size=(2, 4, 512))
    slow = np.repeat(slow[:, ::64], 64, axis=1)
    verdicts = [judged(ls.until.ess(400), ls.Pair(*legs)) for legs in ((good, good), (good, slow), (slow, good))]
    assert [verdict.is_enough for verdict in verdicts] == [True, False, False]


def test_time_is_looked_at_from_the_first_draw_and_combines():
    assert ls.sample(single(), START, draws=300, until=ls.until.seconds(1e-9)).draws == 1
    both = ls.until.seconds(1e-9) & ls.until.ess(2)
    assert ls.sample(single(), START, draws=300, until=both).draws == 128
    either = ls.until.ess(2) | ls.until.seconds(1e9)
    run = ls.sample(single(), START, draws=300, until=either)
    assert run.draws == 128 and "seconds" not in run.until.partition(":")[2]


def test_a_sweep_stops_each_run_by_itself(tmp_path):
    found = ls.sweep(single, {"scale": [0.5, 2.4]}, START, draws=3000, directory=tmp_path / "s", until=ERROR)
    slow, fast = (run.draws for run in found)
    assert fast < slow < 3000
    again = ls.sweep(single, {"scale": [0.5, 2.4]}, START, draws=3000, directory=tmp_path / "s", until=ERROR)
    assert [run.draws for run in again] == [slow, fast]


def test_texts_are_read_and_nothing_in_them_is_executed():
    text = "(error(0.02) | ess(400)) & seconds(60)"
    assert repr(parsed(text)) == text == repr(parsed(repr(parsed(text))))
    assert (
        repr(ls.until.error(0.02) & ls.until.ess(400) | ls.until.seconds(60)) == "error(0.02) & ess(400) | seconds(60)"
    )
    for bad in (
        "",
        "error",
        "error()",
        "error(1, 2)",
        "error(x=1)",
        "print(1)",
        "error(0.1) + ess(2)",
        "f" * 9999,
        "ess(-1)",
        "1",
    ):
        with pytest.raises(ValueError, match=r"combined by & and \|"):
            parsed(bad)
    for bad in ("error(0)", "error('a')", "seconds(None)"):
        with pytest.raises(ValueError, match="must be one positive number"):
            parsed(bad)
    with pytest.raises(TypeError, match=r"until is 0\.02; it must be a criterion"):
        ls.sample(single(), START, until=0.02)
    with pytest.raises(TypeError, match=r"right side of \|"):
        ls.until.ess(4) | 3


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "stops": [{"criterion": "x"}]}', "\0"])
def test_a_damaged_record_is_an_error_that_names_it(tmp_path, text):
    ls.sample(single(), START, draws=140, directory=tmp_path / "run", until=ls.until.ess(2))
    (tmp_path / "run" / "until.json").write_text(text)
    with pytest.raises(ls.RunDirectoryError, match=r"until\.json"):
        ls.load(tmp_path / "run")
