"""Two kernels whose proposals are coupled maximally, so that chains that have separated meet again."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.core import random
from lockstep.core.parts import part
from lockstep.core.trees import choose, have_equal_values
from lockstep.core.types import Array, Key, Position, Shape
from lockstep.coupling.common_noise import CoupledState, OfTwo, coupled_info, require_coupling
from lockstep.coupling.infos import CoupledInfo
from lockstep.coupling.pair import both
from lockstep.kernels.metropolis_hastings import MetropolisHastings


@part
class MaximallyCoupled(OfTwo):
    """Two chains of two kernels: they are proposed the same candidate as often as the laws of their proposals allow.

    Marginally each chain is its kernel alone. The candidates are coupled as the proposal says (`Proposal.coupled`): of
    random walks, the second chain takes that of the first, or its step reflected. Accept variables and the noise of the
    ratios are shared as in `ls.Coupled`. Two chains of one kernel, one behind the other, are `ls.Lagged`.

    Parameters
    ----------
    first, second
        Kernels with the same proposal.

    References
    ----------
    Jacob, O'Leary and Atchadé, "Unbiased Markov chain Monte Carlo methods with couplings" (2020), section 4.
    """

    first: MetropolisHastings
    second: MetropolisHastings

    def __post_init__(self) -> None:
        require_coupling(self.first, self.second, "MaximallyCoupled", ("first", "second"))
        for kernel in self.kernels:
            if (reason := kernel.cannot_meet) is not None:
                raise ValueError(f"MaximallyCoupled: chains of {kernel!r} would never meet: {reason}")

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any, Array]:
        here, _ = both(position)
        key_both, key_meet = random.split(key)
        meet = self.first.meeting_noise(key_meet, shape)
        return self.first.noise(key_both, here, shape), self.second.noise(key_both, here, shape), meet

    def move(self, state: CoupledState, noise: tuple[Any, Any, Array]) -> tuple[CoupledState, CoupledInfo]:
        (proposal_noise, *decisive), (_, *decisive_second), meet = noise
        here, there = state.position
        proposed = self.first.proposal(proposal_noise, here)
        candidate, _ = proposed
        proposed_second = self.first.proposal.coupled(proposal_noise, meet.proposal, here, candidate, there)  # type: ignore[misc]
        first, info = self.first.decide(state.first, proposed, *decisive)
        second, other = self.second.decide(state.second, proposed_second, *decisive_second)
        is_equal = have_equal_values(first.position, second.position)
        # A candidate that is the position itself separates nothing.
        is_still = have_equal_values(candidate, here) if self.first.proposal.can_stay else np.False_
        # Equal chains are equal bit for bit.
        second = second._replace(position=choose(is_equal, first.position, second.position))
        return CoupledState(first, second, is_equal), coupled_info(info, other, state.is_equal, is_equal, is_still)
