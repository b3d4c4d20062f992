"""What an engine is: it takes the steps of a block with all chains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

from numpy.typing import DTypeLike

from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.types import Array, Key, Position
from lockstep.engine.block import Block, Output
from lockstep.engine.stock import Stock
from lockstep.engine.thinning import Thinning


class Moving(NamedTuple):
    """What moves all chains of a run: the kernel, their keys, the cells of noise of a block, and noise in stock."""

    kernel: Kernel
    keys: Key
    cells: int
    stock: Stock | None = None


class Engine(ABC):
    """Takes steps. A state is all that a chain needs to go on from any step.

    Attributes
    ----------
    beginning
        What the first block begins with, in words, for those who wait for it.
    trial_steps
        Steps of each chain after which a run without one valid ratio is given up.
    """

    beginning: ClassVar[str]
    trial_steps: ClassVar[int]

    @property
    def note(self) -> str:
        """What those who watch a run may like to know of it; empty if nothing."""
        return ""

    @abstractmethod
    def init(self, kernel: Kernel, positions: Position, keys: Key) -> Any:
        """The states of all chains at their positions."""

    @abstractmethod
    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """An array of the kind of which its states are made."""

    @abstractmethod
    def cells_per_block(self, kernel: Kernel, chain_keys: Key, state: Positioned, steps: int) -> int:
        """How many cells of noise a block of a run of so many steps has: a power of two that keeps memory bounded."""

    def stock(
        self, kernel: Kernel, chain_keys: Key, state: Positioned, cells: int, end: int
    ) -> AbstractContextManager[Stock | None]:
        """The noise of a run that ends at a step, for ``advance``, in a scope; None: each block draws its own."""
        return nullcontext()

    @abstractmethod
    def advance(self, moving: Moving, state: Positioned, block: Block, thinning: Thinning) -> tuple[Any, Output]:
        """The states of all chains after the steps of a block, and its draws, with leading axes (draws, chains).

        A thinned block goes on with the draw that has begun. More slots may follow those of its draws.
        """

    @abstractmethod
    def no_info(self, kernel: Kernel, chain_keys: Key, state: Positioned) -> list[Any] | None:
        """What the leaves of the info of a thinned draw look like; None if that is not known without an update."""

    def spread(self, kernel: Kernel, chain_keys: Key, state: Positioned, devices: int | None) -> tuple[Key, Any]:
        """Keys and states of all chains, laid over so many devices (None: all) if the engine can compute there."""
        return chain_keys, state

    @abstractmethod
    def compilations(self) -> int:
        """How many programs there are so far: a block that added one tells nothing about the speed of the next."""
