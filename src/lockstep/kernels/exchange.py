"""The exchange algorithm for doubly intractable posteriors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.arguments import whole
from lockstep.core.parts import part
from lockstep.core.proposal import Proposal
from lockstep.core.randomization import Randomization
from lockstep.core.types import Array, Position, Tree
from lockstep.host.boxes import returning
from lockstep.host.functions import Function, Scalar, Wrapped, shown_by, wrapped
from lockstep.host.prior import prior_of
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Carried, Exactly, Randomized
from lockstep.ratios.inner_chains import InnerChain
from lockstep.ratios.randomizations import AuxiliaryData, observed


@part
class Posterior(Wrapped):
    """Log prior plus unnormalised log likelihood of the data."""

    log_prior: Scalar
    log_likelihood: Scalar
    data: Any

    name = "log_prior + log_likelihood"

    @property
    def shown(self) -> Any:
        return shown_by(self.log_prior, self.log_likelihood)

    def __call__(self, position: Position) -> Array:
        return self.log_prior(position) + self.log_likelihood(position, self.data)


def exchange(
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    simulate: Any,
    data: Tree,
    proposal: Proposal,
    draw: Any = None,
    inner: int | None = None,
) -> MetropolisHastings:
    """The single variable exchange algorithm: data simulated at the candidate cancel the unknown constants.

    Accepts with probability ``min(1, p(θ') L(θ', d) L(θ, x) q(θ', θ) / (p(θ) L(θ, d) L(θ', x) q(θ, θ')))``,
    x ~ L(θ', ·).

    *Exact when* ``simulate`` draws exactly from the likelihood (not by a chain that is stopped early). The models of
    `lockstep.models` say whether they do; a function of yours may, by its attribute ``is_perfect``, and is believed.

    *Approximate* with ``inner=k``: then x is where k transitions of a chain for L(θ', ·) lead from the data (double
    Metropolis–Hastings). The error falls as the k-th power of the chain's rate of convergence.

    Parameters
    ----------
    log_prior
        ``log_prior(theta)``; None for a flat one.
    log_likelihood
        ``log_likelihood(theta, x)`` without its normalising constant.
    simulate
        ``simulate(key, theta)`` draws a data set x with the structure of ``data``.
    data
        The observed data, an array or any structure of arrays.
    proposal
        Such as `RandomWalk`.
    draw
        ``draw(key)`` makes noise, free of the state, that ``simulate`` gets in place of the key.
    inner
        The number k of transitions: ``simulate(key, theta, x)`` then makes one from x. (The simulators of
        `lockstep.models` do both.) None: ``simulate`` draws a data set afresh.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> data = jnp.array([0.3, 1.2, -0.4, 0.8, 1.7])
    >>> kernel = ls.exchange(
    ...     log_prior=lambda theta: -0.5 * theta**2 / 4,
    ...     log_likelihood=lambda theta, x: -0.5 * jnp.sum((x - theta) ** 2),
    ...     simulate=lambda key, theta: theta + jr.normal(key, (5,)),
    ...     data=data,
    ...     proposal=ls.RandomWalk(1.0),
    ... )

    See Also
    --------
    bridged_exchange : fewer rejections, from transitions between the two parameters.
    averaged_exchange : the same with an average over several data sets.
    auxiliary_variable : x is carried along with the position.

    References
    ----------
    Murray, Ghahramani and MacKay (2006), UAI. With ``inner``: Liang (2010), Journal of Statistical Computation and
    Simulation 80.
    """
    posterior = posterior_of(log_prior, log_likelihood, data)
    common = simulation_of(posterior, simulate, draw, "exchange")
    if inner is None:
        return randomized_by(posterior, AuxiliaryData(*common), proposal)
    return randomized_by(posterior, InnerChain(*common, whole(inner, "inner of exchange", 1)), proposal)


def simulation_of(
    posterior: Posterior, simulate: Callable[..., Any], draw: Callable[..., Any], name: str
) -> tuple[Scalar, Function, Any, Any, Any]:
    """What auxiliary data are made with, from what a user gave to the algorithm of that name."""
    return (
        posterior.log_likelihood,
        wrapped(Function, returning(simulate, posterior.data), "simulate"),
        posterior.data,
        None if draw is None else wrapped(Function, draw, f"draw of {name}"),
        posterior.log_prior,
    )


def posterior_of(log_prior: Callable[..., Any], log_likelihood: Callable[..., Any], data: Tree) -> Posterior:
    """Check and wrap what a user gave."""
    likelihood = wrapped(Scalar, log_likelihood, "log_likelihood")
    return Posterior(prior_of(log_prior), likelihood, observed(data))


def randomized_by(posterior: Posterior, randomization: Randomization, proposal: Proposal) -> MetropolisHastings:
    """The posterior without its constants, randomized by auxiliary data that cancel them."""
    base = Carried(Exactly(posterior))
    return MetropolisHastings(proposal, Randomized(base, randomization))
