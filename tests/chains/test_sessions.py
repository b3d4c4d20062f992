"""Sessions of a run: what is called, what is read, and what a resume repeats."""

import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.chains import drive as chains_module
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
