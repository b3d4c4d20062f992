"""The base of models that simulate: what a kernel may ask of the one whose simulator it is given."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from lockstep.core.declared import Part, declared
from lockstep.core.foreign import attribute
from lockstep.core.types import Array, Key, Position

UNKNOWN = "simulate draws exactly from the likelihood"


class Simulator(Part):
    """A model with a method ``simulate``, which says how exactly that draws."""

    @abstractmethod
    def simulate(self, key: Key, theta: Position) -> Array:
        """A data set drawn at theta."""

    @declared
    def is_perfect(self) -> bool | None:
        """Whether ``simulate(key, theta)`` draws exactly from the likelihood; None: it does not say."""
        return None

    @declared
    def simulation_error(self) -> str | None:
        """How far its draws are from the likelihood, if they are not exact."""
        return None


class Simulation:
    """What a function that simulates says of itself: a method of a `Simulator`, or a function with ``is_perfect``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        owner = attribute(function, "__self__")
        is_model = isinstance(owner, Simulator)
        self.is_perfect: bool | None = owner.is_perfect if is_model else attribute(function, "is_perfect")
        self.error: str | None = None
        if self.is_perfect is False:
            self.error = (
                owner.simulation_error if is_model else "of draws by simulate, which says that they are not perfect"
            )

    def exact_when(self, others: str = "always") -> str | None:
        """When a kernel is exact that needs exact draws, and ``others``; None: it is not."""
        if self.is_perfect is False:
            return None
        own = [] if self.is_perfect else [UNKNOWN]
        return ", and ".join([*own, *([] if others == "always" else [others])]) or "always"
