"""What all rooms may ask of a run, whatever it is besides."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from lockstep.core.types import Position


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Sampled(ABC):
    """Draws and what is known of them: the attributes of `ls.Run`, which tells what each is."""

    walked: Position
    info: Any
    kernel: Any
    seed: int
    warmup: int
    thin: int
    seconds: float
    directory: Path | None = None
    stored_about: dict[str, Any] | None = None
    changes: tuple[str, ...] = ()
    failed: int = 0
    failure: str | None = None
    began: str | None = None
    until: str | None = None
    shown: Any = None
    kept: dict[int, Any] = dataclasses.field(default_factory=dict, init=False)  # predictions, by the number of draws

    @property
    @abstractmethod
    def positions(self) -> Position:
        """The draws, with the structure of a position; arrays of shape (chains, draws, ...)."""

    @property
    @abstractmethod
    def chains(self) -> int:
        """How many chains there are."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """How many draws each chain has."""

    @property
    @abstractmethod
    def acceptance(self) -> float:
        """The share of accepted candidates."""

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What is known of the kernel, also of one that is not there."""

    @property
    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """What files say of it."""

    @abstractmethod
    def to_datatree(self) -> Any:
        """The run as an xarray DataTree."""
