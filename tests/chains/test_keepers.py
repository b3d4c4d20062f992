"""Draws are put in their places as blocks leave them, large ones by a thread."""

import threading

import numpy as np
import pytest

from lockstep.chains import keepers
from lockstep.chains.keepers import Collector
from lockstep.engine.block import Output


def blocks(lengths, chains=3):
    """Blocks of draws of a position in the plane, laid in memory as compiled blocks are: chains beside each other."""
    rng = np.random.default_rng(1)
    made = [(rng.normal(size=(steps, 2, chains)), rng.random((steps, chains)) < 0.5) for steps in lengths]
    return [Output(np.moveaxis(positions, -1, 0), np.moveaxis(flags, -1, 0)) for positions, flags in made]


@pytest.mark.parametrize("large", [0, 2**40])
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("lengths", [[1, 5, 64, 30], [100], [40, 40, 40]])
def test_all_draws_are_in_their_places(monkeypatch, lengths, is_open, large):
    monkeypatch.setattr(keepers, "LARGE", large)
    monkeypatch.setattr(keepers, "SMALL", 4)
    given, collector = blocks(lengths), Collector(3, 100, is_open)
    for block in given:
        collector.add(block)
    for field in (0, 1):
        together = np.concatenate([block[field] for block in given], axis=1)[:, :100]
        if field == 0:
            np.testing.assert_array_equal(collector.positions(90), together[:, :90])
        np.testing.assert_array_equal(collector.taken(lambda: 0.0)[field], together)


def test_memory_is_laid_as_that_of_blocks():
    """Also if the first block has a single draw, whose axis lies anywhere."""
    for lengths in ([1, 50], [50]):
        given, collector = blocks(lengths, chains=4), Collector(4, 100)
        for block in given:
            collector.add(block)
        positions, flags = collector.output
        assert np.moveaxis(positions, 0, -1).flags.c_contiguous
        assert flags.T.flags.c_contiguous


def test_the_next_block_is_computed_while_draws_are_copied(monkeypatch):
    monkeypatch.setattr(keepers, "LARGE", 0)
    may_go, threads = threading.Event(), []
    copy = np.copyto

    def slow(*arguments):
        threads.append(threading.current_thread().name)
        assert may_go.wait(60)
        copy(*arguments)

    monkeypatch.setattr(keepers.np, "copyto", slow)
    (block,) = blocks([10])
    collector = Collector(3, 10)
    collector.add(block)  # returns before anything is copied
    assert collector.filled == 10 and not may_go.is_set()
    may_go.set()
    np.testing.assert_array_equal(collector.taken(lambda: 0.0).positions, block.positions)
    assert all(name.startswith("lockstep-draws") for name in threads)
