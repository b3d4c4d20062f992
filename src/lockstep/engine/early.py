"""Early rejection: an evaluation is told below which value its candidate is certain to be rejected, and may stop there.

The accept variable is known before the ratio, so that a sum of non-positive terms, or a particle filter whose weights
are bounded, can tell before its end that nothing will come of it. The draws are the same.
"""

from __future__ import annotations

from typing import Any

from lockstep.core.kernel import Info, Kernel, Noise, Simple, State
from lockstep.core.parts import part
from lockstep.core.types import Key, Position, Shape
from lockstep.core.walk import with_parts
from lockstep.host.boxes import boxes, is_interpreted
from lockstep.host.limit import stopping_below


def stopping_early(kernel: Kernel) -> Any:
    """A kernel whose evaluations are told where they may stop, if one wants to know: interpreted, a black box.

    Couplings compare log ratios, which must then be known: their evaluations are never told to stop.
    """
    if kernel.is_coupling:
        return kernel

    def wants_limit(node: Simple) -> bool:
        # What is compiled by itself in an interpreted kernel would know but the first limit.
        can_stop = node.ratio.can_stop and is_interpreted(node.ratio) == is_interpreted(kernel)
        return can_stop or any(box.callee.takes_limit for box in boxes(node) if not box.is_callback)

    return with_parts(kernel, Simple, wants_limit, Stopping)


@part
class Stopping(Kernel):
    """A kernel of one accept/reject whose evaluation may stop where it is certain to be rejected."""

    kernel: Simple

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.kernel.noise(key, position, shape)

    def init(self, position: Position, key: Key | None = None) -> State:
        return self.kernel.init(position, key)

    def move(self, state: State, noise: Noise) -> tuple[State, Info]:
        proposal_noise, ratio_noise, accept = noise
        proposed = self.kernel.proposal(proposal_noise, state.position)
        with stopping_below(self.kernel.ratio.least(accept, state.memory, proposed[1])):
            return self.kernel.decide(state, proposed, ratio_noise, accept)
