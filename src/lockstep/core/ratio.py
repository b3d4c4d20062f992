"""The base of ratios, and what a ratio says of a candidate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lockstep.core.declared import Accountable, declared
from lockstep.core.estimator import Estimator
from lockstep.core.evaluation import Evaluation
from lockstep.core.proposal import Proposal
from lockstep.core.randomization import Randomization
from lockstep.core.rule import Rule
from lockstep.core.trees import choose
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree

ROUNDING = 8 * float(np.finfo(float).eps)


class Decision(NamedTuple):
    """What a ratio says of a candidate.

    The whole log ratio, what to remember of the candidate if it is accepted, and whether the ratio found its own
    promise broken.
    """

    log_ratio: Array
    memory: Memory
    is_violated: Array = np.False_


class Probed(NamedTuple):
    """What a part of a ratio gave at several candidates: words for it, the values, which are bad, what they must be."""

    what: str
    values: Array
    is_bad: Callable[[Array], Array]
    should: str


def around(make: Callable[..., Ratio], inner: Ratio | None) -> Callable[..., Ratio] | None:
    """``with_evaluation`` of a ratio that ``make`` puts around another one."""
    found = None if inner is None else inner.with_evaluation
    return None if found is None else lambda *carried: make(found(*carried))


def surely_below(*terms: Array) -> Array:
    """A number below the sum of terms by more than any rounding of it; minus infinity where that is no number."""
    limit = sum(terms) - ROUNDING * sum(map(abs, terms))
    return choose(limit > -np.inf, limit, -np.inf)


def is_no_ratio(values: Array) -> Array:
    """Which values are no basis for a decision: NaN and plus infinity."""
    return ~(values < np.inf)


class Ratio(Accountable):
    """Gives the whole log ratio, and what to remember of the candidate if it is accepted."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of updates; uses only the shape of ``position``."""

    @abstractmethod
    def init(self, noise: Tree, position: Position) -> Memory:
        """What to remember of the first position; ``()`` if nothing."""

    @abstractmethod
    def __call__(
        self, noise: Tree, position: Position, memory: Memory, candidate: Position, log_proposal_ratio: Array
    ) -> Decision:
        """The log ratio with the proposal's in it, and what to remember of the candidate."""

    def meeting_noise(self, key: Key, shape: Shape = ()) -> Any:
        """What is random in an array of ``coupled_noise``; ``()`` if nothing is."""
        return ()

    def coupled_noise(self, noise: Tree, meet: Tree, memory: Memory, other: Memory) -> tuple[Any, Array]:
        """The noise of a second chain, given that of the first and what both remember.

        Also whether the two then remember the same of one candidate. It must have the law of ``noise``, and be the same
        as the first's for chains that remember the same. One noise for both is that for all ratios whose memory does
        not hold noise.
        """
        return noise, np.True_

    def least(self, accept: Array, memory: Memory, log_proposal_ratio: Array) -> Array:
        """The value of its one evaluation below which a candidate is certain to be rejected; if unknown, -inf."""
        return -np.inf

    def require_start(self, key: Key, proposal: Proposal, position: Position) -> None:
        """Refuse to start where its promise is broken at some candidates."""

    @declared
    def can_stop(self) -> bool:
        """Whether its one evaluation asks for that value, in compiled code too."""
        return False

    @declared
    def noise_source(self) -> Any:
        """What makes the noise: the ratio, or the part of it that does, with the same ``noise``."""
        return self

    @declared
    def is_memory_random(self) -> bool:
        """Whether what it remembers is a random estimate."""
        return True

    @declared
    def remembered(self) -> Any:
        """What makes the memory: two ratios with the same remember the same numbers. ``()`` if nothing is."""
        return self

    @declared
    def remembered_name(self) -> str:
        """What to call the memory in messages: the name of the function whose value it is."""
        return "the log density"

    def blame(self, position: Position) -> str:
        """The same where the memory is not finite at a position: the name of what made it so."""
        return self.remembered_name

    @declared
    def correlation(self) -> Array | None:
        """The correlation of successive noises; None: they are independent."""
        return None

    @declared
    def estimator(self) -> Estimator | None:
        """The estimator of D, if there is one."""
        return None

    @declared
    def rule(self) -> Rule | None:
        """The rule, if the log ratio is that of the proposal plus rule(estimate): such a ratio can be predicted."""
        return None

    @declared
    def randomization(self) -> Randomization | None:
        """What it draws beside the candidate and weighs, if it does: such a ratio can be checked for balance."""
        return None

    @declared
    def base(self) -> Ratio | None:
        """The ratio that the randomization's weight is added to, if it has one."""
        return None

    @declared
    def evaluation(self) -> Evaluation | None:
        """The evaluation that it carries along, if it does."""
        return None

    @declared
    def with_evaluation(self) -> Callable[[Evaluation, Array | None], Ratio] | None:
        """``with_evaluation(evaluation, correlation)``: the same that carries another one; None: it carries none."""
        return None

    def kept(self, memory: Memory) -> Any:
        """What a run keeps of the memory beside the position: a path of hidden states, or nothing."""
        return ()

    @declared
    def forecaster(self) -> Any:
        """What simulates on from a path that it keeps; None if it keeps none."""
        return None

    def cure(self, positions: Position) -> str | None:
        """What would cure chains that stick at these positions (a leading axis), measured there; None: not known."""
        return None

    def probe(self, noise: Tree, position: Position, candidates: Position) -> Iterator[Probed]:
        """What its parts give at several candidates (a leading axis), to tell which of them makes a bad ratio."""
        return iter(())
