"""The base of kernels: what an update takes, changes and tells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from lockstep.core import random
from lockstep.core.declared import Accountable, declared
from lockstep.core.proposal import Proposal
from lockstep.core.ratio import Ratio
from lockstep.core.types import Array, Key, Memory, Position, Shape, Tree


class Positioned(Protocol):
    """A state of any kernel: a pytree that has a position."""

    @property
    def position(self) -> Position: ...


class State(NamedTuple):
    """Where a chain is, and what its ratio remembers of that position."""

    position: Position
    memory: Memory


class Noise(NamedTuple):
    """Everything random in one update of `MetropolisHastings`. ``accept`` is minus an exponential variable."""

    proposal: Any
    ratio: Any
    accept: Array


class Info(NamedTuple):
    """What happened in an update.

    ``is_valid`` is false where the log ratio was NaN or plus infinity, which is no basis for a decision: the candidate
    is refused (minus infinity is one: a candidate of zero density). ``is_violated`` is true where the ratio found its
    own promise broken, such as the bound of the universal rule. ``kept`` is what a run keeps of the memory after the
    update: a path of hidden states, or nothing.
    """

    is_accepted: Array
    log_ratio: Array
    is_valid: Array
    is_violated: Array = np.False_
    kept: Any = ()


class Kernel(Accountable):
    """A Markov kernel whose randomness is drawn first and used second."""

    @abstractmethod
    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        """The noise of an array of updates; uses only the shape of ``position``."""

    @abstractmethod
    def init(self, position: Position, key: Key | None = None) -> Any:
        """The state at ``position``, which has an attribute of that name."""

    @abstractmethod
    def move(self, state: Any, noise: Tree) -> tuple[Any, Any]:
        """One update, with all randomness given."""

    @declared
    def noise_source(self) -> Any:
        """What makes the noise: the kernel, or less of it, with the same ``noise``. Equal ones share its programs."""
        return self

    def step(self, rng_key: Key, state: Positioned) -> tuple[Any, Any]:
        """One update with the noise of ``rng_key``, as BlackJAX's loops call it."""
        return self.move(state, self.noise(rng_key, state.position))

    @declared
    def cannot_meet(self) -> str | None:
        """Why two chains of it, coupled by ``move_both``, would never become equal; None: they can."""
        return f"{self.name} has no method move_both, which moves two chains so that they meet"

    def meeting_noise(self, key: Key, shape: Shape = ()) -> Any:
        """What is random in an array of ``move_both`` besides the noise of an update."""
        return -random.exponential(key, shape)

    def move_both(self, first: Tree, second: Tree, noise: Tree, meet: Tree) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """One update of two chains: each is moved as by ``move`` in law, and equal chains stay equal."""
        raise NotImplementedError(self.cannot_meet)

    @declared
    def when_stuck(self) -> str:
        """What helps chains that stick."""
        inner = (kernel.when_stuck for kernel in self.kernels)
        return "; or ".join(dict.fromkeys(inner)) or "take smaller steps"

    @declared
    def simple(self) -> Simple | None:
        """Itself, if it is one accept/reject of a proposal and a ratio; None: it is not."""
        return None

    @declared
    def kernels(self) -> Sequence[Kernel]:
        """The kernels that it is made of."""
        return ()

    @declared
    def in_turn(self) -> tuple[Kernel, ...]:
        """The kernels that an update applies one after the other; none if it is not made of such."""
        return ()

    @declared
    def info_shape(self) -> Shape:
        """The shape of each number in what it tells of an update: of a cycle, an axis over its kernels."""
        return ()

    @declared
    def composed(self) -> Callable[[list[np.ndarray]], np.ndarray] | None:
        """``composed(matrices)``: its transition matrix, from those of its kernels; None: these do not tell."""
        return None

    @declared
    def applications(self) -> Sequence[float]:
        """How often each of its kernels is applied in an update; empty if that has no meaning."""
        return ()

    @declared
    def is_coupling(self) -> bool:
        """Whether it moves two chains, or compares two kernels, of which the second is the one that is judged."""
        return False

    @declared
    def is_memory_random(self) -> bool:
        """Whether a state holds a random estimate; a kernel that does not say is taken to."""
        return not self.kernels or any(kernel.is_memory_random for kernel in self.kernels)

    @declared
    def forecaster(self) -> Any:
        """What simulates on from the paths of hidden states that a run keeps; None if it keeps none."""
        return next((kernel.forecaster for kernel in self.kernels if kernel.forecaster is not None), None)

    @declared
    def is_memory_shared(self) -> bool:
        """Whether its kernels remember the same, so that a state holds it once."""
        return False

    @declared
    def remembered(self) -> tuple[Any, ...]:
        """What makes the memory of each kernel of one accept/reject in it, as of a ratio."""
        return (self,)

    def cure(self, positions: Position) -> str | None:
        """What would cure chains that stick at these positions (a leading axis), measured there; None: not known."""
        return None

    @declared
    def shown(self) -> Any:
        """How its positions are shown: as the first of its kernels that says so does."""
        return next((kernel.shown for kernel in self.kernels if kernel.shown is not None), None)

    @declared
    def with_prior(self) -> Callable[[Any], Kernel] | None:
        """``with_prior(placement)``: the same for a posterior, in other coordinates; None: its ratios tell."""
        return None

    def blame(self, position: Position) -> str | None:
        """Which function returned no number near a position, if none of the kernels that it is made of tells."""
        return None

    def placed(self, position: Position) -> list[tuple[Any, Position]]:
        """The kernels of one accept/reject that it is made of, each with its position."""
        return [placed for kernel in self.kernels for placed in kernel.placed(position)]

    def known(self, state: Any, position: Position) -> list[tuple[Any, Position, Any]]:
        """The same with their own parts of a state, so that nothing is evaluated twice; None for what it forgets."""
        simple = self.placed(position)
        if len(simple) == 1 or self.is_memory_shared:
            return [(*simple[0], state)]
        return [(*one, None) for one in simple]


class Simple(Kernel):
    """A kernel of one accept/reject."""

    simple = property(lambda self: self)

    @declared
    @abstractmethod
    def proposal(self) -> Proposal:
        """What draws the candidate."""

    @declared
    @abstractmethod
    def ratio(self) -> Ratio:
        """What the accept variable is held against."""

    @abstractmethod
    def decide(
        self, state: State, proposed: tuple[Position, Array], ratio_noise: Tree, accept: Array
    ) -> tuple[State, Info]:
        """Accept or reject what was proposed: a candidate with its log proposal ratio."""
