"""An exception in the middle of a run: it carries the draws so far."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lockstep as ls
from lockstep.engine import pace
from lockstep.storage import writer as writer_module

CALLS = {"so far": 0, "failing": -1}  # what a function changes itself is no part of the model


def log_density(theta):
    CALLS["so far"] += 1
    if CALLS["so far"] == CALLS["failing"]:
        raise ZeroDivisionError("a bug of the user's")
    return -0.5 * float(np.sum(theta**2))


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Blocks of one step, each a segment: it is known how many draws there are when the error comes."""
    monkeypatch.setattr(pace, "SECONDS_PER_BLOCK", 0.0)
    monkeypatch.setattr(writer_module, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(writer_module, "MOST_SECONDS", 0.0)
    fail(None)


def fail(at):
    """Let the call fail that is the ``at``-th from now, or none."""
    CALLS["failing"] = -1 if at is None else CALLS["so far"] + at


def sample(at=None, **options):
    fail(at)
    kernel = ls.standard(ls.blackbox(log_density), ls.RandomWalk(1.0))
    return ls.sample(kernel, np.zeros(2), **{"draws": 30, "chains": 2, "seed": 1, "progress": False, **options})


@pytest.mark.parametrize("is_durable", [False, True])
def test_the_exception_carries_the_draws_so_far(is_durable, tmp_path):
    whole = sample(warmup=4)
    place = {"directory": tmp_path} if is_durable else {}
    with pytest.raises(ZeroDivisionError) as caught:
        sample(at=9, warmup=4, **place)
    assert caught.value.run is None  # there were no draws yet
    with pytest.raises(ZeroDivisionError, match="a bug of the user's") as caught:
        sample(at=45, warmup=4, **place)
    run = caught.value.run
    assert 10 < run.draws < 30 and run.chains == 2 and run.seconds > 0
    assert np.array_equal(run.positions, whole.positions[:, : run.draws])
    assert run.directory == place.get("directory")
    assert "update" in "".join(caught.value.__notes__)
    if is_durable:
        assert np.array_equal(ls.load(tmp_path).positions, run.positions)
        assert np.array_equal(sample(warmup=4, **place).positions, whole.positions)


def test_errors_before_a_run_have_no_draws():
    with pytest.raises(ValueError, match="draws is 0") as caught:
        sample(draws=0)
    assert caught.value.run is None


def test_groups_give_what_all_of_them_have(tmp_path):
    whole = sample()
    with ThreadPoolExecutor(1) as executor, pytest.raises(ZeroDivisionError) as caught:
        sample(at=20, executor=executor, directory=tmp_path)
    assert caught.value.run is None  # one of two groups has no draws
    with pytest.raises(ZeroDivisionError) as caught:
        sample(at=30, directory=tmp_path)  # here, one group after the other
    run = caught.value.run
    assert 0 < run.draws < 30 and np.array_equal(run.positions, whole.positions[:, : run.draws])
    assert np.array_equal(sample(directory=tmp_path).positions, whole.positions)


def test_a_sweep_gives_the_run_that_failed():
    fail(100)
    with pytest.raises(ZeroDivisionError) as caught:
        ls.sweep(
            lambda scale: ls.standard(ls.blackbox(log_density), ls.RandomWalk(scale)),
            {"scale": [0.5, 1.0]},
            np.zeros(2),
            draws=30,
            chains=2,
            progress=False,
        )
    assert 0 < caught.value.run.draws < 30
