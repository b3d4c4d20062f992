"""The one accept/reject of Lockstep."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.declared import passing_on
from lockstep.core.kernel import Info, Noise, Simple, State
from lockstep.core.parts import part, set_field
from lockstep.core.proposal import Proposal, require_alike
from lockstep.core.ratio import Ratio
from lockstep.core.trees import choose, have_equal_values
from lockstep.core.types import Array, Key, Position, Shape, Tree

RATIO_STREAM = 1  # of the random numbers by which two chains meet


class Meeting(NamedTuple):
    """What is random in ``move_both`` besides the noise of an update: for the candidates, and for what is remembered.

    Minus exponential variables, against which ratios of two densities are held.
    """

    proposal: Array
    ratio: Any


@part
@passing_on("ratio", "shown is_memory_random exact_when error forecaster")
class MetropolisHastings(Simple):
    """Propose a candidate, accept it iff ``noise.accept <= log_ratio < inf``.

    Every algorithm of the package is this step with another `Ratio`. ``noise`` draws everything random, ``move`` is a
    deterministic function of state and noise, and ``step`` is the two together, as BlackJAX's loops call it.
    """

    proposal: Proposal
    ratio: Ratio

    def __post_init__(self) -> None:
        remedy = "a proposal such as ls.RandomWalk(scale)"
        set_field(self, "proposal", adopted(self.proposal, Proposal, "proposal", remedy))
        set_field(self, "ratio", adopted(self.ratio, Ratio, "ratio", "a ratio such as the `.ratio` of a kernel"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Noise:
        """The noise of an array of updates; uses only the shape of ``position``."""
        key_proposal, key_ratio, key_accept = random.split(key, 3)
        return Noise(
            self.proposal.noise(key_proposal, position, shape),
            self.ratio.noise(key_ratio, position, shape),
            -random.exponential(key_accept, shape),
        )

    @property
    def noise_source(self) -> Any:
        """Proposal and what draws of the ratio: other densities and rules with the same noise use the same programs."""
        return NoiseSource(self.proposal, self.ratio.noise_source)

    def init(self, position: Position, key: Key | None = None) -> State:
        """The state at ``position``; ratios that remember an estimate need a ``key`` to make the first one.

        Begin inside the support: from a position of density zero every ratio is infinite, and refused.
        """
        if key is None and self.is_memory_random:
            raise ValueError(
                f"init needs a key: {self.ratio.name} remembers a random estimate; call init(position, key)"
            )
        noise = self.ratio.noise(key, position) if key is not None else None
        return State(position, self.ratio.init(noise, position))

    def move(self, state: State, noise: Noise) -> tuple[State, Info]:
        """One update, with all randomness given."""
        proposal_noise, ratio_noise, accept = noise
        # PROPOSE a candidate.
        return self.decide(state, self.proposal(proposal_noise, state.position), ratio_noise, accept)

    def meeting_noise(self, key: Key, shape: Shape = ()) -> Meeting:
        own = self.ratio.meeting_noise(random.fold_in(key, RATIO_STREAM), shape)
        return Meeting(-random.exponential(key, shape), own)

    def move_both(
        self, first: State, second: State, noise: Noise, meet: Meeting
    ) -> tuple[tuple[State, Info], tuple[State, Info]]:
        """One update of two chains: the same candidate as often as their laws allow, and all other noise shared."""
        return both_moved(self, first, second, noise, meet)

    def decide(
        self, state: State, proposed: tuple[Position, Array], ratio_noise: Tree, accept: Array
    ) -> tuple[State, Info]:
        """Accept or reject what was proposed: a candidate with its log proposal ratio."""
        position, memory = state
        candidate, log_proposal_ratio = proposed
        if not isinstance(accept, np.generic):  # interpreted, it is looked at where chains begin
            require_alike(candidate, position)
        # RATIO of the candidate to the position.
        decision = self.ratio(ratio_noise, position, memory, candidate, log_proposal_ratio)
        log_ratio, candidate_memory, is_violated = decision
        if type(log_ratio) is not np.float64 and np.ndim(log_ratio):
            raise ValueError(f"ratio returned a log ratio of shape {np.shape(log_ratio)}; it must be one number")
        # ACCEPT: neither a NaN nor plus infinity decides anything; both are refused, and counted. A chain that took a
        # candidate of infinite density would never leave it.
        is_valid = log_ratio < np.inf
        is_accepted = (accept <= log_ratio) & is_valid
        next_state = choose(is_accepted, State(candidate, candidate_memory), state)
        return next_state, Info(is_accepted, log_ratio, is_valid, is_violated, self.ratio.kept(next_state.memory))

    @property
    def cannot_meet(self) -> str | None:
        return no_coupling(self.proposal)

    @property
    def remembered(self) -> tuple[Any, ...]:
        return (self.ratio.remembered,)

    @property
    def when_stuck(self) -> str:
        """What helps chains that stick: what the ratio says of itself, and another proposal."""
        steps = "take smaller steps"
        if self.proposal.is_independent:
            steps = "take candidates from a law closer to the target, with heavier tails"
        elif self.proposal.adapted is not None:
            steps += ", or let ls.sample(..., adapt=True) find their size in a longer warm-up"
        return f"{self.ratio.when_stuck}; or {steps}" if self.ratio.when_stuck else steps

    def cure(self, positions: Position) -> str | None:
        return self.ratio.cure(positions)

    def placed(self, position: Position) -> list[tuple[MetropolisHastings, Position]]:
        return [(self, position)]


def no_coupling(proposal: Proposal) -> str | None:
    """Why two chains with this proposal would never meet; None: they can."""
    if proposal.coupled is not None:
        return None
    return (
        f"its proposal, {proposal.name}, does not say how two chains are proposed the same candidate; "
        f"give it a method coupled(noise, meet, position, candidate, other), or take another"
    )


@part
class NoiseSource:
    """The noise of a kernel, by those of its parts that draw."""

    proposal: Proposal
    ratio: Any

    noise = MetropolisHastings.noise


def both_moved(
    kernel: Simple, first: State, second: State, noise: Noise, meet: Meeting
) -> tuple[tuple[State, Info], tuple[State, Info]]:
    """One update of two chains of one kernel."""
    proposal_noise, ratio_noise, accept = noise
    # PROPOSE a candidate to the first chain, and the same to the second as often as their laws allow.
    proposed = kernel.proposal(proposal_noise, first.position)
    candidate, _ = proposed
    coupled = kernel.proposal.coupled
    assert coupled is not None  # else the chains cannot meet, and are not moved in this way
    proposed_second = coupled(proposal_noise, meet.proposal, first.position, candidate, second.position)
    # NOISE of the ratio: shared, or where a memory holds it, such that both come to remember the same.
    other_noise, is_same = kernel.ratio.coupled_noise(ratio_noise, meet.ratio, first.memory, second.memory)
    moved, info = kernel.decide(first, proposed, ratio_noise, accept)
    moved_second, info_second = kernel.decide(second, proposed_second, other_noise, accept)
    # MEET: what both remember of one candidate, evaluated with one noise, is one number, but for rounding.
    is_shared = info.is_accepted & info_second.is_accepted & have_equal_values(candidate, proposed_second[0]) & is_same
    return (moved, info), (choose(is_shared, moved, moved_second), info_second)
