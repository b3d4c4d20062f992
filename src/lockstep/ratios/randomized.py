"""Ratios that are randomized by an auxiliary x: r-MCMC, exchange, and mixtures of both with pseudo-marginal ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.evaluation import Evaluation
from lockstep.core.parts import part, set_field
from lockstep.core.proposal import Proposal
from lockstep.core.randomization import Randomization
from lockstep.core.ratio import Decision, Probed, Ratio, around, is_no_ratio
from lockstep.core.trees import FLAG, choose
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree
from lockstep.ratios.probes import PROBES, some_candidates


@part
class Randomized(Ratio):
    """``base + randomization.log_weight(x, θ, θ')``, x drawn anew at each update and forgotten.

    The base is any `Ratio` (exact or pseudo-marginal), or None: then it is the log proposal ratio alone.
    """

    base: Ratio | None
    randomization: Randomization

    def __post_init__(self) -> None:
        if self.base is not None:
            set_field(self, "base", adopted(self.base, Ratio, "base", "a ratio or None"))
        remedy = "ls.Density(sample, log_density, involution)"
        set_field(self, "randomization", adopted(self.randomization, Randomization, "randomization", remedy))

    @property
    def shown(self) -> Any:
        return None if self.base is None else self.base.shown

    @property
    def is_memory_random(self) -> bool:
        return self.base is not None and self.base.is_memory_random

    @property
    def remembered(self) -> Any:
        return () if self.base is None else self.base.remembered

    @property
    def remembered_name(self) -> str:
        return "the weight" if self.base is None else self.base.remembered_name

    @property
    def correlation(self) -> Array | None:
        return None if self.base is None else self.base.correlation

    @property
    def evaluation(self) -> Evaluation | None:
        return None if self.base is None else self.base.evaluation

    @property
    def with_evaluation(self) -> Callable[..., Ratio] | None:
        return around(lambda base: Randomized(base, self.randomization), self.base)

    @property
    def forecaster(self) -> Any:
        return None if self.base is None else self.base.forecaster

    def kept(self, memory: Memory) -> Any:
        return () if self.base is None else self.base.kept(memory)

    def cure(self, positions: Position) -> str | None:
        return None if self.base is None else self.base.cure(positions)

    def blame(self, position: Position) -> str:
        return self.remembered_name if self.base is None else self.base.blame(position)

    @property
    def when_stuck(self) -> str | None:
        """What helps its base, or the randomization."""
        return (None if self.base is None else self.base.when_stuck) or self.randomization.when_stuck

    @property
    def can_be_violated(self) -> bool:
        return self.randomization.can_be_violated or (self.base is not None and self.base.can_be_violated)

    @property
    def when_violated(self) -> str:
        own = (self.randomization,) if self.base is None else (self.base, self.randomization)
        return "; ".join(part.when_violated for part in own if part.can_be_violated)

    @property
    def exact_when(self) -> str | None:
        own = self.randomization.exact_when
        base = "always" if self.base is None else self.base.exact_when
        if own is None or base is None:
            return None
        return own if base == "always" else f"{own}, and {base}"

    @property
    def error(self) -> str | None:
        return (None if self.base is None else self.base.error) or self.randomization.error

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Any, Any]:
        key_base, key_x = random.split(key)
        base = () if self.base is None else self.base.noise(key_base, position, shape)
        # Over a base without noise, x is drawn from the key unsplit, as other ratios draw theirs.
        return base, self.randomization.noise(key_x if jax.tree.leaves(base) else key, position, shape)

    def meeting_noise(self, key: Key, shape: Shape = ()) -> Any:
        return () if self.base is None else self.base.meeting_noise(key, shape)

    def coupled_noise(self, noise: Tree, meet: Tree, memory: Memory, other: Memory) -> tuple[Any, Array]:
        """That of the base; x is forgotten, and shared."""
        if self.base is None:
            return noise, np.True_
        noise_base, is_same = self.base.coupled_noise(noise[0], meet, memory, other)
        return (noise_base, noise[1]), is_same

    def init(self, noise: Tree, position: Position) -> Memory:
        return () if self.base is None else self.base.init(None if noise is None else noise[0], position)

    def require_start(self, key: Key, proposal: Proposal, position: Position) -> None:
        if self.base is not None:
            self.base.require_start(key, proposal, position)
        key_candidates, key_x = random.split(key)
        candidates = some_candidates(key_candidates, proposal, position)
        self.randomization.require_start(self.randomization.noise(key_x, position, (PROBES,)), position, candidates)

    def __call__(
        self, noise: Tree, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        noise_base, noise_x = noise
        x = self.randomization.sample(noise_x, position, candidate)
        weight = self.randomization.log_weight(x, position, candidate)
        is_number = weight == weight
        # The weight goes through the base as the proposal ratio does: the universal rule has both inside its minimum.
        if self.base is None:
            decision = Decision(log_proposal_ratio + weight, memory)
        elif type(is_number) is FLAG and is_number:  # interpreted: no need to choose
            decision = self.base(noise_base, position, memory, candidate, log_proposal_ratio + weight)
        else:
            log_proposal_ratio = log_proposal_ratio + choose(is_number, weight, 0.0)
            log_ratio, *rest = self.base(noise_base, position, memory, candidate, log_proposal_ratio)
            # Where the base forbids the candidate, a weight that cannot be computed there does not matter.
            decision = Decision(choose(is_number | (log_ratio == -np.inf), log_ratio, np.nan), *rest)
        if not self.randomization.can_be_violated:
            return decision
        is_violated = decision.is_violated | self.randomization.is_violated(x, position, candidate)
        return decision._replace(is_violated=is_violated)

    def probe(self, noise: Tree, position: Position, candidates: Position) -> Iterator[Probed]:
        if self.base is not None:
            yield from self.base.probe(noise[0], position, candidates)
        draw = jax.vmap(self.randomization.sample, in_axes=(0, None, 0))
        weigh = jax.vmap(self.randomization.log_weight, in_axes=(0, None, 0))
        weights = weigh(draw(noise[1], position, candidates), position, candidates)
        should = "it must be a number or minus infinity"
        yield Probed("the weight of the randomization is", weights, is_no_ratio, should)
