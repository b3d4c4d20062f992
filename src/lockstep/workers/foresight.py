"""Updates ahead for black boxes: moves that will probably be asked for are made by workers, before they are.

The chains walk here, one update after the other, exactly as without: what a worker did beforehand is only that a
function's value is known when it is asked for (see `lockstep.host.recall`). An update that leaves the state as it was
leaves the next one to begin where it began, so that the updates t … t+W-1 can be made from one state; an update that
takes its candidate leaves the next one to begin there, so that this can be made as soon as the candidate is known.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from typing import Any

import cloudpickle

from lockstep.core.kernel import Kernel
from lockstep.core.precision import double_precision
from lockstep.engine.interpreted import walking
from lockstep.host.recall import Made, making
from lockstep.host.scope import quiet
from lockstep.workers.lines import sending
from lockstep.workers.pool import MOST_LOSSES, Workers, Workforce, is_lost, lost_too_often, workers
from lockstep.workers.raised import packed
from lockstep.workers.sent import received, sent


def make(job: tuple[bytes, bytes]) -> bytes:
    """Make an update in a worker: the calls of users' functions that it needed, and how long it took.

    What goes wrong goes wrong here again, if the update is asked for.
    """
    with double_precision(), quiet():
        kernel, made = _noting(job[0], threading.get_ident())
        state, row = cloudpickle.loads(job[1])
        made.clear()
        began = time.perf_counter()
        with suppress(Exception):
            kernel.move(state, row)
    return cloudpickle.dumps((made, time.perf_counter() - began))


@functools.lru_cache(maxsize=8)
def _noting(model: bytes, thread: int) -> tuple[Any, list[Made]]:
    """A kernel that notes its calls, and where; made once, since that takes as long as many an update."""
    made = list[Made]()
    return walking(making(received(model), made, packed)), made


class Guess:
    """An update that may be asked for, and how probable that is. ``made`` holds its calls when they are there."""

    def __init__(self, job: bytes, probability: float) -> None:
        self.job, self.probability = job, probability
        self.made: Future[tuple[list[Made], float]] = Future()
        self.is_offered, self.is_wanted = False, True
        self.began: float | None = None  # by the clock, with a worker


class Foresight:
    """Gives guesses to workers, the most probable first, as many at a time as there are workers."""

    def __init__(self, pool: Workers, kernel: Kernel) -> None:
        self.pool, self.way = pool, sending(pool, make, sent(kernel, "kernel"))
        self.waiting: list[tuple[float, int, Guess]] = []
        self.numbers = itertools.count()  # of equally probable ones the first comes first
        self.running: set[Guess] = set()
        self.losses, self.is_open = 0, True
        self.lock = threading.RLock()

    def offer(self, guess: Guess) -> None:
        """Have an update made when a worker is free."""
        with self.lock:
            guess.is_offered = True
            heapq.heappush(self.waiting, (-guess.probability, next(self.numbers), guess))
            self._fill()

    def close(self) -> None:
        """Give out nothing more; nobody waits any longer for what is not there yet."""
        with self.lock:
            self.is_open = False
            self.way.close()
            for guess in [*self.running, *(guess for *_, guess in self.waiting)]:
                guess.made.cancel()

    def _fill(self) -> None:
        while self.is_open and self.waiting and len(self.running) < self.pool.size:
            *_, guess = heapq.heappop(self.waiting)
            if guess.is_wanted:
                self.running.add(guess)
                guess.began = time.perf_counter()
                future = self.way.send(guess.job)
                future.add_done_callback(functools.partial(self._done, guess, self.pool.executor))

    def _done(self, guess: Guess, executor: Workforce, future: Future[bytes]) -> None:
        """Take what a worker has made; a guess whose worker was lost is given to another."""
        try:
            made = cloudpickle.loads(future.result())
        except (Exception, CancelledError) as error:
            self._failed(guess, executor, error)
            return
        with self.lock:
            self.running.discard(guess)
            self.losses = 0
            self._fill()
            if self.is_open:
                guess.made.set_result(made)

    def _failed(self, guess: Guess, executor: Workforce, error: Exception) -> None:
        with self.lock:
            self.running.discard(guess)
            if not self.is_open:
                return
            if not is_lost(error) or self.losses == MOST_LOSSES * self.pool.size:
                guess.made.set_exception(lost_too_often(error) if self.losses else error)
                return
            self.losses += 1
            if executor is self.pool.executor:
                self.pool.renew(error)
            self.offer(guess)


@contextmanager
def foresight(kernel: Kernel, executor: Workforce) -> Iterator[Foresight]:
    """Workers that make updates of a kernel ahead; what they are at in the end is forgotten."""
    with workers(executor) as pool:
        found = Foresight(pool, kernel)
        try:
            yield found
        finally:
            found.close()
            if pool.is_own:
                pool.end()
