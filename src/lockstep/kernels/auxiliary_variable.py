"""The auxiliary-variable method of Møller et al."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.core.evaluation import Evaluation
from lockstep.core.parts import part, static
from lockstep.core.proposal import Proposal
from lockstep.core.trees import choose
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.boxes import returning
from lockstep.host.draws import draw_each
from lockstep.host.functions import Function, Scalar, arity, simulation, wrapped
from lockstep.kernels.exchange import Posterior, posterior_of
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Carried
from lockstep.ratios.randomizations import simulated

MASS = (
    "the mass of the auxiliary density on the data sets that are possible at theta does not depend on theta: it is 1 "
    "if all its data sets are possible at every theta and it is normalised (up to a constant if it does not depend on "
    "theta)"
)


@part
class Auxiliary(Evaluation):
    """``log p(θ) + log L(θ, d) + log f(x) - log L(θ, x)``, x drawn at θ."""

    posterior: Posterior
    simulate: Function
    auxiliary_log_density: Scalar
    draw: Any
    is_at_position: bool = static()  # whether the auxiliary density depends on it

    name = "log_prior + log_likelihood + auxiliary_log_density - log_likelihood of what simulate drew"
    is_random = True
    when_stuck = "take an auxiliary density closer to the likelihood of the data, or ls.exchange"

    shown = property(lambda self: self.posterior.shown)

    @property
    def exact_when(self) -> str | None:
        return simulation(self.simulate).exact_when(MASS)

    @property
    def error(self) -> str | None:
        return simulation(self.simulate).error

    @property
    def is_of_keys(self) -> bool:
        return self.draw is None

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return draw_each(self.draw, key, shape)

    def __call__(self, noise: Tree, position: Position) -> Array:
        x = simulated(self.simulate, (noise, position), self.posterior.data)
        log_auxiliary = self.auxiliary_log_density(*((position, x) if self.is_at_position else (x,)))
        log_posterior = self.posterior(position)
        log_weight = log_auxiliary - self.posterior.log_likelihood(position, x)
        return choose(log_posterior == -np.inf, -np.inf, log_posterior + log_weight)


def auxiliary_variable(
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    simulate: Callable[..., Any],
    auxiliary_log_density: Any,
    data: Tree,
    proposal: Proposal,
    draw: Callable[..., Any] | None = None,
) -> MetropolisHastings:
    """The auxiliary-variable method: the state carries data x simulated at the position.

    Accepts with probability
    ``min(1, f(x') p(θ') L(θ', d) L(θ, x) q(θ', θ) / (f(x) p(θ) L(θ, d) L(θ', x') q(θ, θ')))``, x' ~ L(θ', ·).

    *Exact when* ``simulate`` draws exactly from the likelihood, and the mass of f on the support of L(θ, ·) does not
    depend on θ: the method samples from the posterior times that mass. Where the support is the same for all θ any
    density f over it will do, best one close to the likelihood at a good fixed θ. Where it is not (x ≤ θ, say), f must
    be a density on the support at each θ: give ``f(theta, x)``.

    Parameters
    ----------
    log_prior, log_likelihood, simulate, data, proposal, draw
        As in `exchange`.
    auxiliary_log_density
        ``f(x)`` or ``f(theta, x)``, a log density over data sets: normalised if it depends on theta, else up to a
        constant.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> def log_likelihood(theta, x):
    ...     return -0.5 * jnp.sum((x - theta) ** 2)
    >>> kernel = ls.auxiliary_variable(
    ...     log_prior=lambda theta: -0.5 * theta**2 / 4,
    ...     log_likelihood=log_likelihood,
    ...     simulate=lambda key, theta: theta + jr.normal(key, (5,)),
    ...     auxiliary_log_density=lambda x: log_likelihood(0.7, x),
    ...     data=jnp.array([0.3, 1.2, -0.4, 0.8, 1.7]),
    ...     proposal=ls.RandomWalk(1.0),
    ... )

    References
    ----------
    Møller, Pettitt, Reeves and Berthelsen (2006), Biometrika 93.
    """
    evaluate = Auxiliary(
        posterior_of(log_prior, log_likelihood, data),
        wrapped(Function, returning(simulate, data), "simulate"),
        wrapped(Scalar, auxiliary_log_density, "auxiliary_log_density"),
        None if draw is None else wrapped(Function, draw, "draw of auxiliary_variable"),
        is_at_position=arity(auxiliary_log_density) != 1,
    )
    return MetropolisHastings(proposal, Carried(evaluate))
