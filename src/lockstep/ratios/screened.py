"""A cheap screen before a ratio: delayed acceptance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.declared import passing_on
from lockstep.core.parts import part, set_field
from lockstep.core.proposal import Proposal
from lockstep.core.ratio import Decision, Probed, Ratio, around, is_no_ratio
from lockstep.core.trees import FLAG, choose, describe
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree
from lockstep.host.functions import Scalar, wrapped


class Surrogate(NamedTuple):
    """What a screened ratio remembers of a position: the surrogate's value, and what the ratio behind it does."""

    value: Array
    memory: Memory


@part
@passing_on(
    "base",
    "shown is_memory_random remembered_name correlation can_be_violated when_violated error blame cure forecaster "
    "meeting_noise evaluation",
)
class Screened(Ratio):
    """The ratio ``base`` for candidates that pass a screen by a cheap log density s; minus infinity for the others.

    A candidate passes iff ``e ≤ log_q + s(θ') - s(θ)``, e minus an exponential variable. Seen from the base, passing is
    part of the proposal, whose log ratio therefore is ``s(θ) - s(θ')``.
    """

    base: Ratio
    surrogate: Any

    def __post_init__(self) -> None:
        set_field(
            self, "base", adopted(self.base, Ratio, "base of Screened", "a ratio such as the `.ratio` of a kernel")
        )
        set_field(self, "surrogate", wrapped(Scalar, self.surrogate, "surrogate"))

    @property
    def remembered(self) -> Any:
        return self.surrogate, self.base.remembered

    @property
    def with_evaluation(self) -> Callable[..., Ratio] | None:
        return around(lambda base: Screened(base, self.surrogate), self.base)

    @property
    def when_stuck(self) -> str:
        own = "take a surrogate nearer to the target, with tails that are not thinner"
        return f"{self.base.when_stuck}; or {own}" if self.base.when_stuck else own

    @property
    def exact_when(self) -> str | None:
        """What the base says; a surrogate that is minus infinity keeps the chain from where it is."""
        own = "the surrogate is finite wherever the target is positive"
        base = self.base.exact_when
        return None if base is None else own if base == "always" else f"{base}, and {own}"

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Array, Any]:
        key_screen, key_base = random.split(key)
        return -random.exponential(key_screen, shape), self.base.noise(key_base, position, shape)

    def init(self, noise: Tree, position: Position) -> Surrogate:
        return Surrogate(self.surrogate(position), self.base.init(None if noise is None else noise[1], position))

    def require_start(self, key: Key, proposal: Proposal, position: Position) -> None:
        value = self.surrogate(position)
        if not np.isfinite(value):
            raise ValueError(
                f"surrogate is {float(value)} at the initial position {describe(position)}; it must be finite there, "
                f"and wherever the target is positive"
            )
        self.base.require_start(key, proposal, position)

    def __call__(
        self, noise: Tree, position: Position, memory: Surrogate, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        accept, noise_base = noise
        # SCREEN by the surrogate. Neither a NaN nor plus infinity decides anything.
        value = self.surrogate(candidate)
        screen = log_proposal_ratio + (value - memory.value)
        is_number = screen < np.inf
        is_passed = (accept <= screen) & is_number
        refused = choose(is_number, -np.inf, np.nan)
        if type(is_passed) is FLAG and not is_passed:  # interpreted: the base is not evaluated
            return Decision(refused, memory)
        # DECIDE on what passes, by the base.
        log_ratio, base_memory, is_violated = self.base(
            noise_base, position, memory.memory, candidate, memory.value - value
        )
        log_ratio = choose(is_passed, log_ratio, refused)
        return Decision(log_ratio, Surrogate(value, base_memory), is_passed & is_violated)

    def kept(self, memory: Surrogate) -> Any:
        return self.base.kept(memory.memory)

    def coupled_noise(self, noise: Tree, meet: Tree, memory: Surrogate, other: Surrogate) -> tuple[Any, Array]:
        """That of the base; the screen is one for both."""
        noise_base, is_same = self.base.coupled_noise(noise[1], meet, memory.memory, other.memory)
        return (noise[0], noise_base), is_same

    def probe(self, noise: Tree, position: Position, candidates: Position) -> Iterator[Probed]:
        values = jax.vmap(self.surrogate)(candidates)
        yield Probed("surrogate returned", values, is_no_ratio, "it must return a number, or minus infinity")
        yield from self.base.probe(noise[1], position, candidates)
