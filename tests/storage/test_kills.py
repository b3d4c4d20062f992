"""SIGKILL in the middle of a write: every resume works, nothing that was committed is lost, the result is the same."""

import itertools
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import jax
import numpy as np
import pytest
from durable_models import DRAWS, MODELS, sample
from kill_child import STAGES

import lockstep as ls
from lockstep.engine import block as limits

HERE = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """As in the child, so that runs of all lengths share one program."""
    monkeypatch.setattr(limits, "MOST_CELLS", 1)


def run_child(model, path, stage, nth, kill_after=None):
    """Run until it dies; from outside, a while after its nth segment."""
    command = [sys.executable, str(HERE / "kill_child.py"), model, str(path), stage, str(nth)]
    child = subprocess.Popen(command, cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if kill_after is not None:
        before = len(list(path.glob("segment-*")))
        while child.poll() is None and len(list(path.glob("segment-*"))) < before + nth:
            time.sleep(0.001)
        time.sleep(kill_after)
        child.kill()
    errors = child.communicate(timeout=300)[1].decode()
    return child.returncode, errors


def draws_in(path):
    try:
        return ls.load(path).draws
    except ls.RunDirectoryError as error:
        assert "holds no" in str(error) or "no directory" in str(error)
        return 0


def assert_is_prefix(run, whole):
    for a, b in zip(
        jax.tree.leaves((run.positions, run.info)), jax.tree.leaves((whole.positions, whole.info)), strict=True
    ):
        assert a.dtype == b.dtype and np.array_equal(a, b[:, : run.draws])


def kill_and_finish(model, path, kills):
    """Kill a run again and again, then let it finish; how often it was killed."""
    whole = sample(MODELS[model]())
    committed, killed = 0, 0
    for stage, nth, kill_after in kills:
        code, errors = run_child(model, path, stage, nth, kill_after)
        assert code in (0, -signal.SIGKILL), errors
        killed += code == -signal.SIGKILL
        now = draws_in(path)
        assert now >= committed  # no committed draw is lost
        if code and stage in ("renamed", "synced"):
            assert now > committed or now == 0  # the rename is the commit; a segment of the warm-up has no draws
        committed = now
        if committed:
            assert_is_prefix(ls.load(path), whole)
    finished = sample(MODELS[model](), directory=path)
    assert_is_prefix(finished, whole)
    assert finished.draws == DRAWS and not list(path.glob("*.tmp"))
    return killed


@pytest.mark.parametrize("model", ["single", pytest.param("coupled black box", marks=pytest.mark.study)])
def test_killed_runs_finish_with_the_same_draws(model, tmp_path):
    stage = {"single": "half", "coupled": "renamed"}.get(model, "flushed")
    assert kill_and_finish(model, tmp_path / "run", [(stage, 3, None)]) == 1


@pytest.mark.study
def test_sixty_kills(tmp_path):
    quota = -(-60 // len(MODELS))
    pauses = iter(np.random.default_rng(0).uniform(0, 0.02, 1000))
    for model in MODELS:
        killed, runs = 0, 0
        stages = itertools.cycle([*STAGES, "outside"])
        while killed < quota:  # a run has a dozen segments, so that several runs share the kills
            some = [(stage, 1 + runs % 3, next(pauses) if stage == "outside" else None) for stage in islice(stages, 4)]
            killed += kill_and_finish(model, tmp_path / f"{model} {runs}", some)
            runs += 1
        print(f"{model}: {killed} kills of {runs} runs, which all finished with the draws of an uninterrupted one")
