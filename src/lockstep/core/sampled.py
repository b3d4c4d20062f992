"""What all rooms may ask of a run, whatever it is besides."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from lockstep.core.kernel import Kernel
from lockstep.core.types import Position, Tree


class Sampled(Protocol):
    """Draws and what is known of them: the attributes of `ls.Run`."""

    @property
    def positions(self) -> Position:
        """The draws, with the structure of a position; arrays of shape (chains, draws, ...)."""

    @property
    def walked(self) -> Position:
        """Where the chains walked."""

    @property
    def info(self) -> Tree:
        """What happened, in arrays (chains, draws)."""

    @property
    def kernel(self) -> Kernel | None:
        """What made it; None in a run that was loaded from disk."""

    @property
    def chains(self) -> int:
        """How many chains there are."""

    @property
    def draws(self) -> int:
        """How many draws each chain has."""

    @property
    def thin(self) -> int:
        """How many updates a draw took."""

    @property
    def warmup(self) -> int:
        """How many updates came before the first draw."""

    @property
    def seed(self) -> int:
        """By which it is repeated."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def acceptance(self) -> float:
        """The share of accepted candidates."""

    @property
    def directory(self) -> Path | None:
        """Where it is kept; None if it is only in memory."""

    @property
    def about(self) -> dict[str, Any]:
        """What is known of the kernel, also of one that is not there."""

    @property
    def attributes(self) -> dict[str, Any]:
        """What files say of it."""

    @property
    def changes(self) -> tuple[str, ...]:
        """Where it went on with another model, in words."""

    @property
    def failed(self) -> int:
        """How many candidates were rejected because their evaluation raised."""

    @property
    def failure(self) -> str | None:
        """The first exception of these."""

    @property
    def began(self) -> str | None:
        """A sentence if the chains did not begin where they were told to."""

    @property
    def until(self) -> str | None:
        """A sentence on the criterion by which it was to stop."""

    @property
    def shown(self) -> Any:
        """How its positions are shown, a `Shown`; None: as they are."""

    @property
    def kept(self) -> dict[int, Any]:
        """Predictions that were made of it, by the number of draws."""

    def to_datatree(self) -> Any:
        """The run as an xarray DataTree."""
