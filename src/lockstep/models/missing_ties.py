"""Ties that were not observed: part of the position, and imputed within the run.

The target is ``p(θ) L(θ, x) / Z(θ)`` on pairs of θ and z, x the graph with z in place of its missing ties (which must
be missing at random). An exchange moves θ; toggles of the missing ties, which leave ``L(θ, ·)`` given all others
invariant, move z: there Z(θ) cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core.kernel import Info, Kernel, State
from lockstep.core.parts import part, static
from lockstep.core.proposal import Proposal
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.callback import on_host
from lockstep.host.draws import draw_each
from lockstep.host.functions import Function, Scalar, Wrapped, wrapped
from lockstep.kernels.compose import Cycle
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.models.tie_chain import TieChain
from lockstep.proposals.component import Component
from lockstep.ratios import Carried, Exactly, Randomized
from lockstep.ratios.randomizations import AuxiliaryData


class MissingTies:
    """Where ties are missing in a graph, and how it is completed."""

    def __init__(self, data: np.ndarray, pairs: np.ndarray, is_directed: bool) -> None:
        self.data, self.pairs, self.is_directed = np.nan_to_num(data).astype(np.int8), pairs, is_directed

    def __repr__(self) -> str:
        shown = ", ".join(f"{i}–{j}" for i, j in self.pairs[:5]) + (", …" if len(self.pairs) > 5 else "")
        return f"MissingTies({len(self.pairs)} pairs: {shown})"

    def completed(self, missing: Any) -> Array:
        """The graph with these in place of its missing ties."""
        i, j = self.pairs.T
        x = jnp.asarray(self.data).at[i, j].set(jnp.asarray(missing, np.int8))
        return x if self.is_directed else x.at[j, i].set(jnp.asarray(missing, np.int8))


@part
class Imputation(Kernel):
    """Toggles of the missing ties given θ and all other ties: a kernel on positions with the entry ``missing``.

    *Exact when* always: a number of Metropolis–Hastings updates for the conditional distribution of z.
    """

    model: Any = static()
    toggles: int = static()

    is_memory_random = False
    exact_when = "always"
    remembered = ((),)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return draw_each(None, key, shape)

    def init(self, position: Position, key: Key | None = None) -> State:
        return State(position, ())

    def move(self, state: State, noise: Tree) -> tuple[State, Info]:
        model, position = self.model, state.position
        chain: TieChain = model.imputing
        pairs = chain.pairs

        def imputed(words: np.ndarray, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
            return chain.toggled(words, theta, x, self.toggles)[0][:, pairs[:, 0], pairs[:, 1]]

        like = jax.ShapeDtypeStruct((len(pairs),), np.int8)
        x = model.missing.completed(position["missing"])
        drawn = on_host(imputed, like, jr.key_data(noise), model.vector(position), x, is_threaded=True)
        moved = {**position, "missing": jnp.asarray(drawn, jnp.result_type(position["missing"]))}
        return State(moved, ()), Info(np.True_, np.float64(0.0), np.True_)


@part
class Completed(Wrapped):
    """Log prior plus unnormalised log likelihood of the completed graph, at a position."""

    log_prior: Scalar
    model: Any = static()

    name = "log_prior + log_likelihood"

    def __call__(self, position: Position) -> Array:
        x = self.model.missing.completed(position["missing"])
        return self.log_prior(position["theta"]) + self.model.log_likelihood(position, x)


@part
class OfTheta(Wrapped):
    """A log prior on positions with an entry ``theta``."""

    log_prior: Scalar

    name = "log_prior"

    def __call__(self, position: Position) -> Array:
        return self.log_prior(position["theta"])


def with_imputation(model: Any, log_prior: Callable[..., Any], proposal: Proposal) -> Cycle:
    """An exchange for θ given the completed graph, then toggles of the missing ties given θ."""
    log_prior = wrapped(Scalar, log_prior, "log_prior")
    auxiliary = AuxiliaryData(
        wrapped(Scalar, model.log_likelihood, "log_likelihood"),
        wrapped(Function, model.simulate_statistic, "simulate"),
        np.zeros(len(model.terms)),
        None,
        OfTheta(log_prior),
    )
    ratio = Randomized(Carried(Exactly(Completed(log_prior, model))), auxiliary)
    exchanged = MetropolisHastings(Component("theta", proposal), ratio)
    return Cycle([exchanged, Imputation(model, len(model.missing.pairs))])
