"""Adaptation with a directory: learnt once, wherever it is interrupted, and the same as without one."""

from __future__ import annotations

import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.chains import drive as chains_module
from lockstep.proposals import walks
from lockstep.results.standing import run_directories
from lockstep.storage import writer as writer_module
from lockstep.storage.errors import DamagedError, MismatchError, NoRunError

SPREAD = np.array([0.1, 4.0])
SETTINGS = {"draws": 20, "chains": 2, "seed": 5, "warmup": 200, "adapt": True, "progress": False}


class Model:
    """A black box that counts its calls and fails at some of them."""

    def __init__(self):
        self.calls, self.failing = 0, set()

    def value(self, theta):
        self.calls += 1
        if self.calls in self.failing:
            self.failing.discard(self.calls)
            raise ZeroDivisionError("a bug of the user's")
        return -0.5 * float(np.sum((theta / SPREAD) ** 2))


COUNTED = Model()


def counted(theta):
    return COUNTED.value(theta)


def box():
    return ls.standard(ls.blackbox(counted), ls.RandomWalk(1.0))


def calls_of(function):
    before = COUNTED.calls
    function()
    return COUNTED.calls - before


@pytest.fixture
def eager(monkeypatch):
    """Each block a segment."""
    monkeypatch.setattr(writer_module, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(writer_module, "MOST_SECONDS", 0.0)


def assert_same(first, second):
    for run in (first, second):
        assert run.warmup == SETTINGS["warmup"]
    trees = [(run.positions, run.info, run.kernel) for run in (first, second)]
    for a, b in zip(*map(jax.tree.leaves, trees), strict=True):
        assert np.array_equal(a, b)


def test_what_was_learnt_is_never_learnt_again(tmp_path, eager):
    whole = ls.sample(box(), np.zeros(2), **SETTINGS)
    at_once = calls_of(lambda: ls.sample(box(), np.zeros(2), **SETTINGS))
    # Bugs in the first window and in its successors: each costs one block at the most. (All of them come before the 400
    # calls of the warm-up, so that each is met, however much of the warm-up the blocks before it have kept.)
    found = 0
    for after in (1, 40, 100, 120, 100):
        COUNTED.failing = {COUNTED.calls + after}
        with pytest.raises(ZeroDivisionError) as caught:
            ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS)
        assert caught.value.run is None
        found += after
    with pytest.raises(NoRunError, match="its warm-up is not over"):
        ls.load(tmp_path / "a")
    found += calls_of(lambda: ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS))
    again = ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS)
    assert_same(again, whole)
    assert not list((tmp_path / "a" / "warmup").glob("segment-*"))
    assert found < 2.2 * at_once
    # A finished run is read: no update is made, of the warm-up or of the run.
    assert calls_of(lambda: ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS)) < 10
    longer = ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **{**SETTINGS, "draws": 30})
    assert np.array_equal(longer.positions[:, :20], whole.positions)


def test_loaded_runs_tell_their_warm_up_and_their_time(tmp_path):
    run = ls.sample(box(), np.zeros(2), directory=tmp_path, **SETTINGS)
    loaded = ls.load(tmp_path)
    assert loaded.warmup == run.warmup == 200 and "after 200 updates of warm-up" in repr(loaded)
    assert loaded.seconds == pytest.approx(run.seconds) and loaded.seconds > 0


class Interrupting:
    """Ctrl-C in the block that takes an update."""

    def __init__(self, monkeypatch, update):
        self.advance, self.update = chains_module.advance, update
        monkeypatch.setattr(chains_module, "advance", self)

    def __call__(self, *arguments):
        block = arguments[3]
        if block.start <= self.update < block.start + block.steps:
            signal.raise_signal(signal.SIGINT)
        return self.advance(*arguments)


def smooth(theta):
    return -0.5 * (theta["a"] ** 2 + jnp.sum(theta["b"] ** 2) / 9)


def noisy(key, theta):
    return smooth(theta) + 0.3 * jax.random.normal(key)


WALK = ls.RandomWalk(1.0)
KERNELS = {
    "walk": lambda: ls.standard(smooth, WALK),
    "remembered noise": lambda: ls.pseudo_marginal(noisy, WALK),
    "coupled": lambda: ls.Coupled(ls.standard(smooth, WALK), ls.standard(smooth, WALK)),
    "cycle": lambda: ls.Cycle(
        [ls.standard(smooth, ls.Component("a", WALK)), ls.standard(smooth, ls.Component("b", ls.UniformWalk(1.0)))]
    ),
    "Crank-Nicolson": lambda: ls.standard(smooth, ls.CrankNicolson(0.0, 1.0)),
}


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("name", chosen(KERNELS, {"remembered noise", "cycle"}))
def test_ctrl_c_in_the_warm_up(name, tmp_path, monkeypatch):
    kernel, start = KERNELS[name](), {"a": 0.0, "b": np.zeros(2)}
    whole = ls.sample(kernel, start, **SETTINGS)
    with monkeypatch.context() as patch, pytest.raises(ls.Interrupted, match="no draws yet") as caught:
        Interrupting(patch, 70)
        ls.sample(kernel, start, **SETTINGS)
    assert caught.value.run is None
    for update in (20, 70, 199):
        with monkeypatch.context() as patch, pytest.raises(ls.Interrupted, match="in the warm-up, after") as caught:
            Interrupting(patch, update)
            ls.sample(kernel, start, directory=tmp_path, **SETTINGS)
        assert "Call again with the same arguments" in str(caught.value)
        if update == 70:
            (found,) = run_directories(tmp_path)
            assert "warmup: stopped" in found.lines()[0]
    assert_same(ls.sample(kernel, start, directory=tmp_path, **SETTINGS), whole)
    assert_same(ls.sample(kernel, start, directory=tmp_path, **SETTINGS), whole)


def test_another_type_of_processor_learns_nothing_else(tmp_path, monkeypatch):
    """Numbers are kept: a machine that rounds differently goes on with those of the first."""
    whole = ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS)

    def rounded(positions):
        mean, factor = exactly(positions)
        return mean, None if factor is None else factor * (1 + 1e-15)

    exactly = walks.normal_fit
    with monkeypatch.context() as patch:
        patch.setattr(walks, "normal_fit", rounded)
        assert_same(ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS), whole)


def test_directories_of_other_warm_ups_are_refused(tmp_path):
    plain = {**SETTINGS, "adapt": False}
    ls.sample(box(), np.zeros(2), directory=tmp_path / "plain", **plain)
    with pytest.raises(MismatchError, match="adaptation: 0 there, 200 here"):
        ls.sample(box(), np.zeros(2), directory=tmp_path / "plain", **SETTINGS)
    ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS)
    for options, words in (
        (plain, "adaptation: 200 there, 0 here"),
        ({**SETTINGS, "warmup": 300}, "adaptation: 200 there, 300 here"),
        ({**SETTINGS, "seed": 6}, "seed: 5 there, 6 here"),
        ({**SETTINGS, "thin": 2}, "thin: 1 there, 2 here"),
    ):
        with pytest.raises(MismatchError, match=words):
            ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **options)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.tex").write_text("precious")
    with pytest.raises(OSError, match=r"other files \(thesis.tex\)"):
        ls.sample(box(), np.zeros(2), directory=tmp_path / "c", **SETTINGS)
    assert [file.name for file in (tmp_path / "c").iterdir()] == ["thesis.tex"]


@pytest.mark.usefixtures("signals")
def test_a_damaged_warm_up_is_told_and_made_anew(tmp_path, monkeypatch):
    whole = ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS)
    file = tmp_path / "a" / "warmup" / "learnt.npz"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(DamagedError, match=r"Move this directory away and call again"):
        ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS)
    file.parent.rename(tmp_path / "away")
    assert_same(ls.sample(box(), np.zeros(2), directory=tmp_path / "a", **SETTINGS), whole)
    with monkeypatch.context() as patch, pytest.raises(ls.Interrupted):
        Interrupting(patch, 70)
        ls.sample(box(), np.zeros(2), directory=tmp_path / "b", **SETTINGS)
    for segment in (tmp_path / "b" / "warmup").glob("segment-*"):
        segment.unlink()
    with pytest.raises(DamagedError, match="fewer draws than it has learnt from"):
        ls.sample(box(), np.zeros(2), directory=tmp_path / "b", **SETTINGS)
