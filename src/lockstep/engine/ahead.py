"""Updates ahead in compiled code: several updates of a chain are computed from one state at once.

A move is a deterministic function of a state and the noise of a step, and an update that leaves the state as it was
leaves the next one to begin where it began. So the updates t … t+W-1 are all computed from the state before t, in one
batch; those up to the first that changes the state are what one after the other would have given, and the rest is
forgotten. A full-data likelihood passes once over its data for W candidates.
"""

from __future__ import annotations

import functools
import operator
import time
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.trees import choose, is_floating, is_key
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.engine.block import CELL, Block, Output
from lockstep.engine.compiled import COMPILED
from lockstep.engine.early import stopping_early
from lockstep.engine.interface import Engine, Moving
from lockstep.engine.layout import chains_first
from lockstep.engine.stock import Stock
from lockstep.engine.thinning import Thinning
from lockstep.host.callback import raised_here

MOST_WIDTH = 64  # that is tried
LONG = 0.2  # seconds of a block that tells how fast a width is


class Ahead(Engine):
    """An engine that goes ahead of another, its ``own``, and leaves to it all that is done once."""

    own: ClassVar[Engine]

    def init(self, kernel: Kernel, positions: Position, keys: Key) -> Any:
        return self.own.init(kernel, positions, keys)

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        return self.own.zeros(shape, dtype)

    def cells_per_block(self, kernel: Kernel, chain_keys: Key, state: Positioned, steps: int) -> int:
        return self.own.cells_per_block(kernel, chain_keys, state, steps)

    def stock(
        self, kernel: Kernel, chain_keys: Key, state: Positioned, cells: int, end: int
    ) -> AbstractContextManager[Stock | None]:
        return self.own.stock(kernel, chain_keys, state, cells, end)

    def no_info(self, kernel: Kernel, chain_keys: Key, state: Positioned) -> list[Any] | None:
        return self.own.no_info(kernel, chain_keys, state)

    def compilations(self) -> int:
        return self.own.compilations()


class CompiledAhead(Ahead):
    """The compiled engine with ``width`` updates of each chain at once.

    None: it begins with one, and doubles the width as long as blocks of about a second then take more updates a second.
    A block of one update is computed as without: a resume takes the last update of a segment again, and the width may
    have changed. ``rounds`` and ``updates`` count what has been computed at once, and what came of it, for each chain.
    """

    own = COMPILED
    beginning = COMPILED.beginning
    trial_steps = COMPILED.trial_steps

    def __init__(self, width: int | None) -> None:
        self.is_settled, self.width = width is not None, width or 1
        self.speeds: dict[int, float] = {}
        self.rounds, self.updates = 0, 0

    def compilations(self) -> int:
        return COMPILED.compilations() + int(_advance._cache_size())  # type: ignore[attr-defined]

    @property
    def note(self) -> str:
        return f"ahead {self.updates / self.rounds:.1f} of {self.width}" if self.rounds else ""

    def advance(self, moving: Moving, state: Positioned, block: Block, thinning: Thinning) -> tuple[Any, Output]:
        programs, began = self.compilations(), time.perf_counter()
        if self.width == 1 or block.steps == 1:
            state, output = COMPILED.advance(moving, state, block, thinning)
        else:
            noise = COMPILED.noise(moving, state, block)
            if moving.stock is not None:
                moving.stock.foresee(block)
            state, output = self._advance(moving.kernel, state, noise, block, thinning, moving.cells)
        if not self.is_settled and programs == self.compilations():
            self._learn(block.steps, time.perf_counter() - began)
        return state, output

    def _advance(
        self, kernel: Kernel, state: Positioned, noise: Tree, block: Block, thinning: Thinning, cells: int
    ) -> tuple[Any, Output]:
        with raised_here():
            state, output, rounds = jax.block_until_ready(
                _advance(kernel, state, noise, block, cells=cells, width=self.width)
            )
        self.rounds, self.updates = self.rounds + int(rounds), self.updates + block.steps
        whole = jax.tree.map(lambda leaf: np.asarray(leaf)[:, : block.steps], output)

        def draws_of(chain: int) -> Output:
            return thinning.of_chain(chain).gather_draws(jax.tree.map(lambda leaf: leaf[chain], whole))

        draws = [draws_of(chain) for chain in range(_chains(state))]
        return state, jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *draws)

    def _learn(self, steps: int, seconds: float) -> None:
        """Take the next width, or settle on the best, after a block that took so long."""
        if seconds < LONG:
            return
        self.speeds[self.width] = steps / seconds
        best = max(self.speeds, key=lambda width: self.speeds[width])
        if best == self.width < MOST_WIDTH:
            self.width *= 2
        else:
            self.width, self.is_settled = best, True
        self.rounds, self.updates = 0, 0


@functools.partial(jax.jit, static_argnames=("cells", "width"))
def _advance(
    kernel: Kernel, state: Positioned, noise: Tree, block: Block, *, cells: int, width: int
) -> tuple[Any, Output, Array]:
    """The compiled block: its states, every update in the first rows of the output, and how many rounds it took.

    Chains go on at their own pace: ``at`` is how many updates each of them has behind it.
    """
    kernel = stopping_early(kernel)
    noise = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), chains_first(noise, _chains(state), leading=1))
    offset, last_row, lanes = block.start % CELL, cells * CELL - 1, jnp.arange(width)

    def one_round(state: Positioned, at: Array, noise: Tree, output: Output) -> tuple[Any, Array, Output]:
        """Updates of one chain, all from one state."""
        rows = jnp.minimum(offset + at + lanes, last_row)
        some = jax.tree.map(lambda leaf: leaf[rows], noise)
        moved, info = jax.vmap(kernel.move, in_axes=(None, 0))(state, some)
        # FIRST of them that changes the state, or is the last of the block or of the round.
        is_changed = jax.vmap(_differ, in_axes=(0, None))(moved, state)
        taken = jnp.argmax(is_changed | (at + lanes >= block.steps - 1) | (lanes == width - 1))
        # KEEP all; what lies behind it is written again in the next round.
        output = jax.tree.map(
            lambda buffer, rows: jax.lax.dynamic_update_slice_in_dim(buffer, rows, at, 0),
            output,
            Output(moved.position, info),
        )
        reached = jax.tree.map(lambda leaf: leaf[taken], moved), at + taken + 1
        return *choose(at < block.steps, reached, (state, at)), output

    def body(carry: tuple[Any, Array, Output, Array]) -> tuple[Any, Array, Output, Array]:
        state, at, output, rounds = carry
        return *jax.vmap(one_round)(state, at, noise, output), rounds + 1

    first = jax.tree.map(lambda leaf: leaf[:, 0], noise)
    moved, info = jax.eval_shape(jax.vmap(kernel.move), state, first)
    output = jax.tree.map(
        lambda leaf: jnp.zeros((leaf.shape[0], cells * CELL + width, *leaf.shape[1:]), leaf.dtype),
        Output(moved.position, info),
    )
    begun = (state, jnp.zeros(_chains(state), int), output, jnp.zeros((), int))
    state, _, output, rounds = jax.lax.while_loop(lambda carry: jnp.any(carry[1] < block.steps), body, begun)
    return state, output, rounds


def _chains(state: Positioned) -> int:
    return int(jax.tree.leaves(state)[0].shape[0])


def _differ(first: Tree, second: Tree) -> Array:
    """Whether two states differ in a bit."""

    def differ(a: Array, b: Array) -> Array:
        return jnp.any(_bits(a) != _bits(b))

    found = [differ(a, b) for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)]
    return functools.reduce(operator.or_, found, jnp.array(False))


def _bits(leaf: Array) -> Array:
    if is_key(leaf):
        return jax.random.key_data(leaf)
    return jax.lax.bitcast_convert_type(leaf, f"uint{8 * leaf.dtype.itemsize}") if is_floating(leaf) else leaf
