"""A prior around any ratio: what is a ratio for a likelihood becomes one for a posterior, in other coordinates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.declared import passing_on
from lockstep.core.estimator import Estimator
from lockstep.core.parts import part, set_field
from lockstep.core.proposal import Proposal
from lockstep.core.ratio import Decision, Probed, Ratio, around, is_no_ratio
from lockstep.core.shown import Placement
from lockstep.core.trees import FLAG, choose
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree
from lockstep.estimators.within import Within


class Placed(NamedTuple):
    """What is remembered of a position: the log prior there, and what the inner ratio remembers."""

    log_prior: Array
    memory: Memory


@part
@passing_on(
    "inner",
    "name rule error exact_when when_stuck can_be_violated when_violated is_memory_random remembered_name correlation "
    "forecaster meeting_noise evaluation",
)
class Posterior(Ratio):
    """``inner(x, x')`` with ``log_q + log p(u') - log p(u)``: x(u) are the values at a position u.

    p is the prior's density in the coordinates u, their Jacobian included. It goes through the inner ratio as the
    proposal ratio does, so that a ratio which needs it inside (the universal rule) has it there. Where p is 0 the
    candidate is rejected, and functions of the inner ratio are not called with its values.
    """

    placement: Placement
    inner: Ratio

    def __post_init__(self) -> None:
        set_field(self, "inner", adopted(self.inner, Ratio, "inner", "a ratio such as the `.ratio` of a kernel"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.inner.noise(key, self.placement.values(position), shape)

    def init(self, noise: Tree, position: Position) -> Memory:
        values, log_prior = self.placement.evaluate(position)
        if isinstance(log_prior, float) and log_prior == -np.inf:  # interpreted
            raise ValueError(f"the prior is 0 at the initial position {values}; start where it is not")
        return Placed(log_prior, self.inner.init(noise, values))

    def __call__(
        self, noise: Tree, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        # PRIOR first: what it forbids needs no likelihood.
        there, log_prior = self.placement.evaluate(candidate)
        is_outside = log_prior == -np.inf
        if type(is_outside) is FLAG and is_outside:
            return Decision(np.float64(-np.inf), memory)
        here = self.placement.values(position)
        log_ratio = log_proposal_ratio + choose(is_outside, 0.0, log_prior - memory.log_prior)
        inside = choose(is_outside, here, there)
        found = self.inner(noise, here, memory.memory, inside, log_ratio)
        return Decision(
            choose(is_outside, -np.inf, found.log_ratio),
            Placed(log_prior, found.memory),
            found.is_violated & ~is_outside,
        )

    def require_start(self, key: Key, proposal: Proposal, position: Position) -> None:
        self.inner.require_start(key, _FromHere(proposal, self.placement, position), self.placement.values(position))

    def probe(self, noise: Tree, position: Position, candidates: Position) -> Iterator[Probed]:
        values, log_priors = jax.vmap(self.placement.evaluate)(candidates)
        yield Probed("the log prior is", log_priors, is_no_ratio, "it must be a number or minus infinity")
        here = self.placement.values(position)
        inside = jax.vmap(lambda log_prior, there: choose(log_prior == -np.inf, here, there))(log_priors, values)
        yield from self.inner.probe(noise, here, inside)

    def kept(self, memory: Memory) -> Any:
        return self.inner.kept(memory.memory)

    def blame(self, position: Position) -> str:
        return self.inner.blame(self.placement.values(position))

    def cure(self, positions: Position) -> str | None:
        return self.inner.cure(jax.vmap(self.placement.values)(positions))

    def coupled_noise(self, noise: Tree, meet: Tree, memory: Memory, other: Memory) -> tuple[Any, Array]:
        return self.inner.coupled_noise(noise, meet, memory.memory, other.memory)

    @property
    def shown(self) -> Placement:
        return self.placement

    @property
    def with_evaluation(self) -> Callable[..., Ratio] | None:
        return around(functools.partial(Posterior, self.placement), self.inner)

    @property
    def estimator(self) -> Estimator | None:
        """With the prior in it: an estimate of D of the posterior."""
        return None if self.inner.estimator is None else Within(self.placement, self.inner.estimator)

    @property
    def remembered(self) -> Any:
        return self.placement, self.inner.remembered


class _FromHere(Proposal):
    """A proposal as an inner ratio sees it: candidates from one position, as their values."""

    def __init__(self, proposal: Proposal, placement: Placement, position: Position) -> None:
        self.proposal, self.placement, self.position = proposal, placement, position

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return self.proposal.noise(key, self.position, shape)

    def __call__(self, noise: Tree, position: Position) -> tuple[Position, Array]:
        candidate, log_proposal_ratio = self.proposal(noise, self.position)
        return self.placement.values(candidate), log_proposal_ratio
