"""What another tool's model becomes: functions of an unconstrained position, a dictionary by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from lockstep.core.precision import double_precision
from lockstep.core.types import Position
from lockstep.results.run import Run


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Model:
    initial: Position
    constrain_one: Any
    name: str

    def constrain(self, run: Any) -> Any:
        """A run with its draws in the model's own, constrained parameters; or such positions for given ones.

        Positions are dictionaries of arrays (chains, draws, ...); a `lockstep.Run` keeps all else, so that its
        ``to_datatree()`` and ``summary()`` speak of the model's parameters.
        """
        is_run = isinstance(run, Run)
        positions = run.positions if is_run else run
        with double_precision():
            constrained = jax.jit(jax.vmap(jax.vmap(self.constrain_one)))(positions)
            constrained = jax.tree.map(np.asarray, constrained)
        return dataclasses.replace(run, positions=constrained) if is_run else constrained

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
