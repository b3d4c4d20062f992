"""Kernels that reject a candidate whose evaluation raises, instead of ending the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from lockstep.core.declared import passing_on
from lockstep.core.kernel import Info, Kernel, Simple, State
from lockstep.core.parts import part
from lockstep.core.trees import choose
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.core.walk import with_parts
from lockstep.host.black_box import replaced
from lockstep.host.boxes import boxes, map_boxes
from lockstep.host.callback import on_host
from lockstep.host.failures import Failures, close_slot, open_slot, slot_of
from lockstep.kernels.metropolis_hastings import both_moved


@part
@passing_on("kernel", "cannot_meet shown is_memory_random remembered exact_when")
class Rejecting(Simple):
    """A kernel in which a log ratio is minus infinity where a black box raised an exception on the way to it.

    Interpreted, the exception is caught. Compiled, the callback notes it in a slot, and the kernel asks there after its
    log ratio is computed: all chains of a batch then stay where they are, since one call served them all.
    """

    kernel: Simple
    slot: Any

    proposal = property(lambda self: self.kernel.proposal)
    ratio = property(lambda self: self.kernel.ratio)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.kernel.noise(key, position, shape)

    def init(self, position: Position, key: Key | None = None) -> State:
        """The state at a position; a function that raises there is an error."""
        return self.kernel.init(position, key)

    def move(self, state: State, noise: Tree) -> tuple[State, Info]:
        if isinstance(noise[2], np.generic):
            return self._interpreted(state, noise)
        kernel = map_boxes(lambda box: replaced(box, slot=self.slot), self.kernel)
        moved, info = kernel.move(state, noise)
        has_failed = on_host(_ask, jax.ShapeDtypeStruct((), np.bool_), self.slot, info.log_ratio)
        return choose(has_failed, state, moved), Info(
            info.is_accepted & ~has_failed,
            choose(has_failed, -np.inf, info.log_ratio),
            info.is_valid | has_failed,
            info.is_violated & ~has_failed,
            choose(has_failed, self.ratio.kept(state.memory), info.kept),
        )

    def _interpreted(self, state: State, noise: Tree) -> tuple[State, Info]:
        try:
            return self.kernel.move(state, noise)
        except Exception as error:
            return self._rejected(state, error)

    def meeting_noise(self, key: Key, shape: Shape = ()) -> Any:
        return self.kernel.meeting_noise(key, shape)

    def move_both(
        self, first: State, second: State, noise: Tree, meet: Tree
    ) -> tuple[tuple[State, Info], tuple[State, Info]]:
        """One update of two chains, each of which rejects what fails in its own evaluation."""
        if not isinstance(noise[2], np.generic):
            raise NotImplementedError(
                'on_error="reject" cannot tell which of two lagged chains an exception belongs to in compiled code; '
                "leave batched=True out of ls.blackbox"
            )
        return both_moved(self, first, second, noise, meet)

    def decide(
        self, state: State, proposed: tuple[Position, Any], ratio_noise: Tree, accept: Array
    ) -> tuple[State, Info]:
        """Accept or reject what was proposed; a candidate at which a function raises is rejected."""
        try:
            return self.kernel.decide(state, proposed, ratio_noise, accept)
        except Exception as error:
            return self._rejected(state, error)

    def _rejected(self, state: State, error: Exception) -> tuple[State, Info]:
        slot = slot_of(self.slot)
        slot.fail(error)
        slot.asked(1)
        return state, Info(np.False_, np.float64(-np.inf), np.True_, kept=self.ratio.kept(state.memory))

    def placed(self, position: Position) -> list[tuple[Simple, Position]]:
        return self.kernel.placed(position)


def _ask(slots: np.ndarray, log_ratios: np.ndarray) -> np.ndarray:
    """Whether the candidates of a batch are to be rejected; the log ratios are there so that this comes after them."""
    return np.full(len(log_ratios), slot_of(slots).asked(len(log_ratios)))


@contextmanager
def rejecting(kernel: Kernel) -> Iterator[tuple[Any, Failures]]:
    """The kernel with every accept/reject that has a black box rejecting what fails, and the record of failures."""
    failures, slots = Failures(), list[int]()

    def can_fail(node: Simple) -> bool:
        return bool(boxes(node))

    def convert(node: Simple) -> Rejecting:
        slots.append(open_slot(failures))
        return Rejecting(node, np.uint32(slots[-1]))

    try:
        yield with_parts(kernel, Simple, can_fail, convert), failures
    finally:
        for slot in slots:
            close_slot(slot)
