"""The noise of a run, block after block: that of the next block is drawn while the present one is used.

Noise does not look at where the chains are, so that it need not wait for them. A cheap update takes as long as its
noise; with two cores a run of such updates then takes little more than half the time, and its draws are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

import jax

from lockstep.core.precision import double_precision
from lockstep.engine.block import CELL, Block


class Stock:
    """What is drawn of a run's noise, in a scope that ends with the run.

    Parameters
    ----------
    draw
        ``draw(first_cell)``: the noise of a block that begins in this cell.
    end
        The step at which the run ends: nothing is drawn for those behind it.
    is_ahead
        Whether to draw ahead. If not, noise is still kept for the next block if that begins in the same cell.
    is_threaded
        Whether a thread draws ahead. If not, programs that draw are begun behind those that move, and nobody waits for
        them: several devices must be given their programs in one order.
    """

    def __init__(self, draw: Callable[[int], Any], end: int, is_ahead: bool, is_threaded: bool = True) -> None:
        self._draw, self._end, self._is_ahead, self._is_threaded = draw, end, is_ahead, is_threaded
        self._thread: ThreadPoolExecutor | None = None
        self._present: tuple[int, Any] = (-1, None)
        self._next: tuple[int, Future[Any]] | None = None

    def __enter__(self) -> Stock:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._present, self._next = (-1, None), None
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def begin(self, block: Block) -> bool:
        """Have the thread draw the noise of the first block of a run; whether it does."""
        is_first = self._is_ahead and self._is_threaded and self._present[0] < 0
        if is_first:
            self._begin(block.start // CELL)
        return is_first

    def of(self, block: Block) -> Any:
        """The noise of a block."""
        first = block.start // CELL
        if self._present[0] != first:
            self._present = first, self._taken(first)
        return self._present[1]

    def foresee(self, block: Block) -> None:
        """Begin to draw the noise of what comes after a block that has begun."""
        first, following = block.start // CELL, block.start + block.steps
        if self._is_ahead and following < self._end and following // CELL != first:
            self._begin(following // CELL)

    def _taken(self, cell: int) -> Any:
        """The noise from a cell on: what was drawn ahead, or is about to be."""
        drawn, self._next = self._next, None
        return drawn[1].result() if drawn is not None and drawn[0] == cell else self._draw(cell)

    def _begin(self, cell: int) -> None:
        """Begin to draw the noise from a cell on."""
        if not self._is_threaded:
            drawing = Future[Any]()
            drawing.set_result(self._draw(cell))
            self._next = cell, drawing
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "lockstep-noise")
        # Threads do not inherit the scopes of JAX in which a run was started.
        settings: Any = jax.config
        device, partitionable = settings.jax_default_device, settings.jax_threefry_partitionable
        is_uncompiled = settings.jax_disable_jit

        def drawn() -> Any:
            with (
                double_precision(),
                jax.default_device(device),
                jax.threefry_partitionable(partitionable),
                jax.disable_jit(is_uncompiled),
            ):
                return self._draw(cell)

        self._next = cell, self._thread.submit(drawn)
