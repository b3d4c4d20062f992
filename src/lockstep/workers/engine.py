"""The interpreted engine with workers that make updates ahead of the chains (see `lockstep.workers.foresight`)."""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from typing import Any, TypeAlias

import cloudpickle
import jax
import numpy as np

from lockstep.core.arguments import whole
from lockstep.core.kernel import Kernel, Positioned, State
from lockstep.core.precision import double_precision
from lockstep.core.types import Key, Tree
from lockstep.engine.ahead import Ahead, CompiledAhead
from lockstep.engine.block import CELL, Block, Output
from lockstep.engine.choice import engine_of
from lockstep.engine.interface import Engine, Moving
from lockstep.engine.interpreted import INTERPRETED, Walked, beginnings, gathered, walk, walking
from lockstep.engine.stock import Stock
from lockstep.engine.thinning import Thinning
from lockstep.host.boxes import is_interpreted
from lockstep.host.recall import Made, recalling
from lockstep.host.scope import quiet
from lockstep.workers.foresight import Foresight, Guess, foresight
from lockstep.workers.pool import Workforce
from lockstep.workers.raised import unpacked

LEAST_SECONDS = 2e-3  # of an update that is worth the way to a worker
LEAST_PROBABILITY = 0.02
LATE = 1.5  # times as long as others of late: nobody waits for such an update
MOST_AHEAD = 1024
Guesses: TypeAlias = dict[tuple[int, bytes], Guess]  # by the number of an update and the place where it begins


@contextmanager
def engine_ahead(kernel: Kernel, ahead: int | str, executor: Workforce) -> Iterator[Engine]:
    """The engine that computes so many updates of a kernel at once: with workers where it has black boxes."""
    width = ahead if isinstance(ahead, int) else None
    if width == 1:
        yield engine_of(kernel)
    elif not is_interpreted(kernel):
        yield CompiledAhead(width)
    else:
        with foresight(kernel, executor) as found:
            yield InterpretedAhead(found, width)


def require_ahead(ahead: Any) -> int | str:
    """A number of updates to compute at once, or "auto"."""
    if isinstance(ahead, str):
        if ahead != "auto":
            raise ValueError(f'ahead is {ahead!r}; it must be a whole number of updates, or "auto"')
        return ahead
    return whole(ahead, "ahead", 1, MOST_AHEAD)


def require_workers(ahead: int | str, executor: Workforce, is_grouped: bool) -> None:
    """Refuse updates ahead of black boxes where nobody is there to make them."""
    if executor is None:
        raise ValueError(
            f"ahead is {ahead!r}, but the kernel calls a black box, and there are no workers to call it ahead; give an "
            f"executor, such as executor=4 for four processes, or leave ahead out"
        )
    if is_grouped:
        raise ValueError(
            f"ahead is {ahead!r}, but the directory holds a run whose chains were divided between workers; leave ahead "
            f"out to go on with it"
        )


class InterpretedAhead(Ahead):
    """Chains walk here, each in a thread of its own; what they ask for was made by workers as far as it was foreseen.

    ``width``: how many updates of a chain are made from one state. None: as many as there are workers, those that are
    most probable by the share of updates so far that changed the state, also from candidates that may be taken; and
    none if updates take no time.
    """

    own = INTERPRETED
    beginning = INTERPRETED.beginning
    trial_steps = INTERPRETED.trial_steps

    def __init__(self, foresight: Foresight, width: int | None) -> None:
        self.foresight, self.width = foresight, width
        self.updates, self.changes = 0, 0
        self.typical = np.inf  # seconds of an update, of late
        self.seconds, self.waited = 0.0, 0.0
        self.end = 0  # of the run
        self.begun: dict[int, Guesses] = {}  # by the chain: updates of the next block that are being made

    @property
    def note(self) -> str:
        return f"ahead {self.seconds / self.waited:.1f} times" if self.waited else ""

    @property
    def change(self) -> float:
        """The probability that an update changes the state."""
        return (self.changes + 1) / (self.updates + 2)

    @property
    def is_worth_it(self) -> bool:
        return self.width is not None or self.typical > LEAST_SECONDS

    def learn(self, seconds: float) -> None:
        """An update that was asked for had taken so long."""
        self.seconds += seconds
        self.typical = seconds if self.typical == np.inf else 0.8 * self.typical + 0.2 * seconds

    def stock(
        self, kernel: Kernel, chain_keys: Key, state: Positioned, cells: int, end: int
    ) -> AbstractContextManager[Stock | None]:
        self.end = end
        return super().stock(kernel, chain_keys, state, cells, end)

    def seen(self, block: Block, cells: int) -> Block:
        """A block and the updates behind it that may be made before it ends, as far as there is noise for them."""
        width = self.width or self.foresight.pool.size
        steps = min(block.steps + width, cells * CELL - block.start % CELL, max(self.end - block.start, block.steps))
        return Block(block.start, steps)

    def advance(self, moving: Moving, state: Positioned, block: Block, thinning: Thinning) -> tuple[Any, Output]:
        starts = list(beginnings(moving, state, self.seen(block, moving.cells)))

        def walked(chain: int) -> Walked:
            start, rows = starts[chain]
            with double_precision(), quiet():
                path = Path(self, moving.kernel, list(rows), block.start, self.begun.pop(chain, {}))
                ended = walk(path.move, start, path.rows, block, chain)
            self.begun[chain] = path.guesses
            return ended

        began = time.perf_counter()
        with ThreadPoolExecutor(len(starts), "lockstep-chain") as threads:
            running = [threads.submit(copy_context().run, walked, chain) for chain in range(len(starts))]
            try:
                found = [future.result() for future in running]
            except BaseException:
                self.foresight.close()
                raise
        self.waited += time.perf_counter() - began
        return gathered(found, thinning)


class Path:
    """The updates of one chain in a block that begins at a step, and guesses of those that come next.

    ``rows`` is the noise of the block and of some updates behind it.
    """

    def __init__(self, engine: InterpretedAhead, kernel: Kernel, rows: list[Any], start: int, guesses: Guesses) -> None:
        self.engine, self.rows, self.start, self.at = engine, rows, start, start
        self.known: dict[bytes, Made] = {}
        self.kernel = walking(recalling(kernel, self.known, unpacked))
        self.guesses = guesses

    def move(self, state: Positioned, row: Tree) -> tuple[Any, Any]:
        """One update, with the calls that were made for it."""
        engine, here = self.engine, _place(state)
        self.known.clear()
        if engine.is_worth_it:
            made, seconds = self._made(state, self.at, here)
            self.known.update((one.name, one) for one in made)
            engine.learn(seconds)
        moved, info = self.kernel.move(state, row)
        self.at += 1
        engine.updates, engine.changes = engine.updates + 1, engine.changes + (_place(moved) != here)
        return moved, info

    def _made(self, state: Positioned, at: int, here: bytes) -> tuple[list[Made], float]:
        """The calls of the update that is asked for, while others are made."""
        self._guess(state)
        asked = self.guesses.pop((at, here))
        held = [guess for guess in self.guesses.values() if not guess.is_offered]
        if held and asked.began is not None:
            _, waiting = wait([asked.made], asked.began + LATE * self.engine.typical - time.perf_counter())
            for guess in held if waiting else ():
                self.engine.foresight.offer(guess)
        return asked.made.result()

    def _is_worth_waiting(self, asked: Guess | None, probability: float) -> bool:
        """Whether a worker had better wait for the update that is asked for than begin one that is thus probable.

        It would gain the time until then if the guess is right, and lose that of an update if it is wrong.
        """
        if asked is None or asked.began is None:
            return False
        typical, seconds = self.engine.typical, time.perf_counter() - asked.began
        return asked.made.done() or typical - (1 - probability) * typical < seconds < LATE * typical

    def _guess(self, state: Positioned) -> None:
        """Have made what is most probably asked for next, and forget what no longer is."""
        guesses: Guesses = {}
        asked: Guess | None = None
        for at, begin, probability in self._likely(state):
            name = at, _place(begin)
            guess = self.guesses.pop(name, None)
            if guess is None:
                guess = Guess(cloudpickle.dumps((begin, self.rows[at - self.start])), probability)
            if not guess.is_offered and not self._is_worth_waiting(asked, probability):
                self.engine.foresight.offer(guess)
            guesses[name] = guess
            asked = asked or guess
        for guess in self.guesses.values():
            guess.is_wanted = False
        self.guesses = guesses

    def _likely(self, state: Positioned) -> Iterator[tuple[int, Any, float]]:
        """Updates by their numbers, the states they begin at and their probabilities, the most probable first."""
        change, width = self.engine.change, self.engine.width
        end = self.start + len(self.rows)
        if width is not None:
            for i in range(min(width, end - self.at)):
                yield self.at + i, state, (1 - change) ** i
            return
        order, heap = 0, [(-1.0, 0, self.at, state)]
        for _ in range(self.engine.foresight.pool.size):
            if not heap or -heap[0][0] < LEAST_PROBABILITY:
                return
            minus, _, at, begin = heapq.heappop(heap)
            yield at, begin, -minus
            if at + 1 < end:
                order += 2
                heapq.heappush(heap, (minus * (1 - change), order, at + 1, begin))
                for taken in self._taken(begin, self.rows[at - self.start]):
                    heapq.heappush(heap, (minus * change, order + 1, at + 1, taken))

    def _taken(self, state: Any, row: Tree) -> Iterable[Any]:
        """The state after an update that takes its candidate, but for what it remembers; nothing if that is unknown."""
        if self.kernel.simple is not None:
            yield State(self.kernel.simple.proposal(row[0], state.position)[0], state.memory)


def _place(state: Positioned) -> bytes:
    """The position of a state in a few bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for leaf in jax.tree.leaves(state.position):
        digest.update(np.asarray(leaf).tobytes())
    return digest.digest()
