"""Noise that is drawn ahead: once a cell, while the block before it is used, and never other noise."""

import threading

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.engine import block as limits, compiled
from lockstep.engine.block import CELL, Block
from lockstep.engine.compiled import COMPILED
from lockstep.engine.stock import Stock

CELLS = 2
END = 5 * CELL
BLOCKS = [Block(0, 1), Block(1, 9), Block(10, 118), Block(128, 100), Block(228, 28), Block(256, 64)]
FIRST = [0, 0, 0, 2, 3, 4]  # the cell in which each of them begins


class Drawn:
    """Draws that note their cell and their thread."""

    def __init__(self):
        self.calls = []

    def __call__(self, cell):
        self.calls.append((cell, threading.current_thread().name.startswith("lockstep-noise")))
        return cell


def used(stock, block):
    noise = stock.of(block)
    stock.foresee(block)
    return noise


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


@pytest.mark.parametrize("is_ahead", (True, False))
def test_every_block_gets_its_noise_and_no_noise_is_drawn_twice(is_ahead):
    draw = Drawn()
    with Stock(draw, END, is_ahead) as stock:
        assert [used(stock, block) for block in BLOCKS] == FIRST
    assert draw.calls == [(0, False), *((cell, is_ahead) for cell in (2, 3, 4))]


def test_the_next_noise_is_drawn_before_it_is_asked_for():
    drawn = {cell: threading.Event() for cell in (0, 2)}
    with Stock(lambda cell: drawn[cell].set(), END, True) as stock:
        used(stock, Block(0, 128))
        assert drawn[2].wait(60)


def test_without_a_thread_the_next_noise_is_begun_behind_the_block():
    draw = Drawn()
    with Stock(draw, END, True, is_threaded=False) as stock:
        assert not stock.begin(BLOCKS[0])
        for block, first in zip(BLOCKS, FIRST, strict=True):
            before = len(draw.calls)
            assert stock.of(block) == first
            assert len(draw.calls) == before + (block.start == 0)  # it was there
            stock.foresee(block)
    assert draw.calls == [(cell, False) for cell in (0, 2, 3, 4)]


def test_nothing_is_drawn_behind_the_end():
    draw = Drawn()
    with Stock(draw, 2 * CELL, True) as stock:
        used(stock, Block(0, 2 * CELL))
    assert draw.calls == [(0, False)]


def test_a_block_elsewhere_than_foreseen_gets_its_own_noise():
    draw = Drawn()
    with Stock(draw, END, True) as stock:
        assert used(stock, Block(0, 128)) == 0
        assert used(stock, Block(64, 64)) == 1
        assert used(stock, Block(128, 64)) == 2
    assert (1, False) in draw.calls


def test_an_error_in_the_thread_is_raised_where_the_noise_is_wanted():
    def draw(cell):
        if cell:
            raise ZeroDivisionError("in the noise")

    with Stock(draw, END, True) as stock:
        used(stock, Block(0, 128))
        with pytest.raises(ZeroDivisionError, match="in the noise"):
            used(stock, Block(128, 64))


def test_the_thread_draws_in_the_scopes_of_the_run():
    def draw(cell):
        return jnp.zeros(()).dtype, jax.config.jax_threefry_partitionable

    with double_precision(), jax.threefry_partitionable(False), Stock(draw, END, True) as stock:
        assert used(stock, Block(0, 128)) == used(stock, Block(128, 64)) == (np.float64, False)


def test_draws_are_those_of_noise_that_is_drawn_in_time(monkeypatch):
    monkeypatch.setattr(limits, "MOST_CELLS", CELLS)
    kernel = ls.standard(log_density, ls.RandomWalk(1.0))
    ahead = []

    class Watched(Stock):
        def _begin(self, cell):
            ahead.append(cell)
            super()._begin(cell)

    monkeypatch.setattr(compiled, "Stock", Watched)
    settings = {"draws": 600, "chains": 2, "seed": 3, "warmup": 70, "progress": False}
    run = ls.sample(kernel, np.zeros(2), **settings)
    assert len(set(ahead)) >= 4
    monkeypatch.setattr(compiled, "_is_drawn_ahead", lambda *arguments: False)
    ahead.clear()
    again = ls.sample(kernel, np.zeros(2), **settings)
    assert not ahead
    assert np.array_equal(run.positions, again.positions)
    assert np.array_equal(run.info.log_ratio, again.info.log_ratio)


def test_what_is_not_drawn_ahead(monkeypatch):
    def stirred(key, count):
        return jax.pure_callback(
            np.negative, jax.ShapeDtypeStruct((count,), float), jr.normal(key, (count,)), vmap_method="broadcast_all"
        )

    def is_ahead(kernel):
        kernel = canonical(kernel, "kernel")
        keys, state = jr.split(jr.key(0), 3), jax.vmap(kernel.init)(jnp.zeros((3, 2)))
        return COMPILED.stock(kernel, keys, state, CELLS, END)._is_ahead

    with double_precision():
        plain = ls.standard(log_density, ls.RandomWalk(1.0))
        assert is_ahead(plain)
        # What the host draws.
        estimator = ls.estimators.mean(lambda z, here, there: z, count=2, draw=stirred)
        assert not is_ahead(ls.naive(estimator, ls.RandomWalk(1.0)))
        # What would take much memory twice.
        monkeypatch.setattr(limits, "MOST_NOISE", 1)
        assert not is_ahead(plain)
