"""Sessions of a run: what is called, what is read, and what a resume repeats."""

from collections import OrderedDict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.chains import drive as chains_module
from lockstep.coupling.infos import LaggedInfo
from lockstep.engine import pace
from lockstep.storage.status import status

CHAINS, CALLS = 2, [0]


def counted(theta):
    CALLS[0] += 1
    return -0.5 * float(np.sum(theta**2))


def noisy(theta, rng):
    return counted(theta) + 0.1 * rng.normal()


WALK = ls.RandomWalk(1.0)
BOXES = {
    "standard": lambda: ls.standard(ls.blackbox(counted), WALK),
    "pseudo-marginal": lambda: ls.pseudo_marginal(ls.blackbox(noisy), WALK),
    "shadowed": lambda: ls.Shadowed(ls.standard(ls.blackbox(counted), WALK), ls.naive(another, WALK)),
}
another = ls.estimators.mean(ls.blackbox(lambda rng, position, candidate: rng.normal()), 2)


def calls_of(kernel, draws, **options):
    """Calls of a chain in a run."""
    before = CALLS[0]
    ls.sample(kernel, np.zeros(2), draws=draws, chains=CHAINS, progress=False, **options)
    calls, rest = divmod(CALLS[0] - before, CHAINS)
    assert rest == 0
    return calls


@pytest.mark.parametrize("name", BOXES)
def test_a_black_box_is_called_once_at_the_start_and_once_an_update(name, tmp_path):
    kernel = BOXES[name]()
    assert calls_of(kernel, 5) == 1 + 5
    assert calls_of(kernel, 2, thin=3, warmup=4) == 1 + 4 + 6
    assert calls_of(kernel, 5, directory=tmp_path) == 1 + 5
    # A run that is complete is read.
    assert calls_of(kernel, 5, directory=tmp_path) == calls_of(kernel, 3, directory=tmp_path) == 0
    # A run that goes on repeats its last update, to see whether the model is what it was.
    assert calls_of(kernel, 9, directory=tmp_path) == 1 + 4


def test_a_warm_up_that_goes_on_evaluates_nothing_at_its_start(tmp_path, monkeypatch):
    options = {"warmup": 128, "adapt": True, "directory": tmp_path}
    advance = chains_module.advance

    def failing(*arguments):
        if arguments[3].start + arguments[3].steps > 30:
            raise ZeroDivisionError
        return advance(*arguments)

    monkeypatch.setattr(pace, "SECONDS_PER_BLOCK", 0.0)  # blocks of one update
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(chains_module, "advance", failing)
        calls_of(BOXES["standard"](), 3, **options)
    # What is left of the warm-up, and a run that begins where it ends.
    assert calls_of(BOXES["standard"](), 3, **options) == (128 - 30) + (1 + 3)


class Own(NamedTuple):
    theta: Any


@pytest.mark.parametrize("make", [lambda x: x, lambda x: {"a": x, "b": (x, [x])}, Own], ids=["array", "dict", "own"])
def test_a_start_is_not_drawn_again_for_a_run_that_is_read(make, tmp_path):
    calls = []

    def initial(key):
        calls.append(key)
        return make(jr.normal(key, (2,)))

    def log_density(position):
        return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(position))

    kernel = ls.standard(log_density, WALK)
    options = {"draws": 5, "chains": 2, "seed": 1, "directory": tmp_path}
    first = ls.sample(kernel, initial, **options)
    calls.clear()
    again = ls.sample(kernel, initial, **options)
    assert jax.tree.structure(again.positions) == jax.tree.structure(first.positions)
    jax.tree.map(np.testing.assert_array_equal, again.positions, first.positions)
    # What files cannot tell are classes of the user's own.
    assert bool(calls) == (make is Own) and isinstance(again.positions, type(first.positions))


@ls.part
class Unsorted:
    sigma: Any
    mu: Any


class Pair(NamedTuple):
    """Has the name and the fields of one of the package."""

    first: Any
    second: Any


@pytest.mark.parametrize("kind", [Unsorted, Pair, lambda *two: OrderedDict(zip(("b", "a"), two, strict=True))])
def test_positions_of_own_classes_are_read_as_they_were(kind, tmp_path):
    """A dict has its leaves in the order of its keys; other classes have them in their own."""
    start = kind(jnp.zeros(()), 100 * jnp.ones(3))

    def log_density(position):
        narrow, wide = jax.tree.leaves(position)
        return -0.5 * (narrow**2 + jnp.sum((wide - 100) ** 2))

    kernel = ls.standard(log_density, WALK)
    options = {"chains": 2, "seed": 1, "progress": False}
    whole = ls.sample(kernel, start, draws=9, **options).positions
    for draws in (5, 5, 9):
        found = ls.sample(kernel, start, draws=draws, directory=tmp_path, **options).positions
        assert type(found) is type(start) and jax.tree.structure(found) == jax.tree.structure(whole)
        jax.tree.map(lambda one, other: np.testing.assert_array_equal(one, other[:, : one.shape[1]]), found, whole)
    loaded = ls.load(tmp_path).positions
    assert not isinstance(loaded, ls.Pair)
    if isinstance(start, Unsorted):  # without its class, as a named tuple
        assert type(loaded).__name__ == "Unsorted" and loaded._fields == ("sigma", "mu")
    jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(loaded), jax.tree.leaves(whole))


def test_lagged_pairs_are_read_as_what_they_are(tmp_path):
    kernel = ls.Lagged(ls.standard(log_density, WALK), 3)
    ls.sample(kernel, ls.Pair(np.zeros(2), np.ones(2)), draws=5, directory=tmp_path, progress=False)
    info = ls.load(tmp_path).info
    assert isinstance(info, LaggedInfo) and isinstance(info.first, ls.Info) and info.kind == "lagged"


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def test_a_long_last_block_of_a_warm_up_is_repeated_in_shorter_ones(tmp_path, monkeypatch):
    """After an error the last block may be long, and a resume that asks for less has blocks of fewer cells."""
    kernel, advance = ls.standard(log_density, WALK), chains_module.advance
    options = {"chains": CHAINS, "warmup": 300, "thin": 7, "progress": False}

    def failing(*arguments):
        if arguments[3].start:
            raise ZeroDivisionError
        return advance(*arguments)

    monkeypatch.setattr(pace, "FIRST_STEPS", 1000)
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(chains_module, "advance", failing)
        ls.sample(kernel, np.zeros(2), draws=100, directory=tmp_path, **options)
    assert [segment.repeatable for segment in status(tmp_path).parts[0]] == [300]
    resumed = ls.sample(kernel, np.zeros(2), draws=2, directory=tmp_path, **options)
    assert np.array_equal(resumed.positions, ls.sample(kernel, np.zeros(2), draws=2, **options).positions)
