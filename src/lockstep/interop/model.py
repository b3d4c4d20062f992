"""What another tool's model becomes: functions of an unconstrained position, a dictionary by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lockstep.core.parts import part, static
from lockstep.core.sampled import Sampled
from lockstep.core.shown import Shown
from lockstep.core.types import Position
from lockstep.results.run import Run


@part
class Constrained(Shown):
    """Unconstrained positions, shown as another tool's model constrains them."""

    constrain: Any = static()

    def values(self, position: Position) -> Position:
        return self.constrain(position)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Model:
    initial: Position
    shown: Constrained
    name: str

    def constrain(self, run: Sampled) -> Any:
        """A run that shows the model's own, constrained parameters; or these for positions as chains walk.

        Runs of kernels with the model's functions show them already; one that was loaded from disk does not know how.
        Positions are dictionaries of arrays (chains, draws, ...).
        """
        return dataclasses.replace(run, shown=self.shown) if isinstance(run, Run) else self.shown.all_values(run)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {np.shape(value)}" for name, value in self.initial.items())
        return f"{type(self).__name__}({self.name}: {shown})"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RowModel(_Model):
    """A posterior that is a sum over rows: `lockstep.subsampled` takes it as it is.

    Attributes
    ----------
    log_prior, log_likelihood, data
        As `lockstep.estimators.subsample` takes them; positions are unconstrained, and the prior has the Jacobian of
        that.
    initial
        A position to start from.
    """

    log_prior: Any
    log_likelihood: Any
    data: Any


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DensityModel(_Model):
    """A posterior as one log density: `lockstep.standard` takes ``model.log_density``.

    Attributes
    ----------
    log_density
        Of an unconstrained position, the Jacobian of that included.
    initial
        A position to start from.
    """

    log_density: Any
