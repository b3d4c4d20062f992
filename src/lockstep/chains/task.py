"""A task: a group of chains of one run, always the same group, whoever computes it and wherever."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.chains.about import about
from lockstep.chains.until import Criterion
from lockstep.core.precision import canonical
from lockstep.engine.totals import Totals
from lockstep.storage.configuration import describe_model


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """Chains ``first`` to ``first + width - 1`` of a run of ``chains`` chains, and the directory that is theirs.

    ``adaptation`` is how many updates of each chain went into learning the kernel before the first of these, and
    ``learning`` what happened in them; ``changed`` says whether a run of another model is refused or goes on with this;
    ``began`` is a sentence if the chains do not begin at the user's ``initial``. What becomes of errors (``on_error``)
    is no part of what the draws are a function of: a run that an error has stopped may go on without it. Nor is
    ``until``, by which a run may have enough before all of its ``draws``, nor ``kept``, a function of the task and its
    outcome that leaves what is worth sending back from a worker, nor how many updates of a chain are computed at once
    (``ahead``), nor on how many ``devices``.
    """

    kernel: Any
    initial: Any
    draws: int
    chains: int
    seed: int
    warmup: int
    thin: int
    directory: Path | None = None
    first: int = 0
    width: int | None = None
    stop_file: Path | None = None
    point: dict[str, str] | None = None
    adaptation: int = 0
    learning: Totals = dataclasses.field(default_factory=Totals)
    changed: str = "refuse"
    on_error: str = "raise"
    began: str | None = None
    until: Criterion | None = None
    kept: Callable[[Any, Any], Any] | None = None
    ahead: int | str = 1
    devices: int | None = None
    names: Any = None

    @property
    def shown(self) -> Any:
        """How positions are shown: as the user has named them, or as the kernel says."""
        return self.kernel.shown if self.names is None else self.names

    @property
    def count(self) -> int:
        """How many chains the task has."""
        return self.chains if self.width is None else self.width

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of its chains in the run."""
        return np.arange(self.first, self.first + self.count)

    @property
    def steps(self) -> int:
        """How many updates each of its chains takes."""
        return self.warmup + self.draws * self.thin

    @property
    def updates(self) -> int:
        """How many updates it takes, all its chains together."""
        return self.steps * self.count

    def configuration(self) -> dict[str, Any]:
        """What the draws are a function of. More draws extend a run: their number does not belong to it."""
        initial = self.initial if callable(self.initial) else canonical(self.initial, "initial")
        found: dict[str, Any] = {
            "seed": self.seed,
            "chains": self.chains,
            "warmup": self.warmup,
            "adaptation": self.adaptation,
            "thin": self.thin,
            "precision": "float64",
        }
        if self.width is not None:
            found |= {"first chain": self.first, "chains of the group": self.width}
        return found | describe_model(canonical(self.kernel, "kernel"), initial)

    def about(self) -> dict[str, Any]:
        """What a reader without the kernel would like to know of it."""
        shown = None if self.shown is None else self.shown.stored()
        known = {"point": self.point, "began": self.began, "shown": shown}
        return about(self.kernel) | {name: value for name, value in known.items() if value is not None}
