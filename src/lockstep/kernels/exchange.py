"""The exchange algorithm for doubly intractable posteriors."""

from __future__ import annotations

from typing import Any

from lockstep.boxes import returning
from lockstep.functions import Function, Scalar, wrapped
from lockstep.kernel import MetropolisHastings
from lockstep.parts import part
from lockstep.randomizations import AuxiliaryData, observed
from lockstep.ratios import Carried, Exactly, Randomized
from lockstep.types import Array, Position, Proposal


@part
class Posterior:
    """Log prior plus unnormalised log likelihood of the data."""

    log_prior: Scalar
    log_likelihood: Scalar
    data: Any

    def __call__(self, position: Position) -> Array:
        return self.log_prior(position) + self.log_likelihood(position, self.data)


def exchange(
    log_prior: Any, log_likelihood: Any, simulate: Any, data: Any, proposal: Proposal, draw: Any = None
) -> MetropolisHastings:
    """The single variable exchange algorithm: data simulated at the candidate cancel the unknown constants.

    Accepts with probability ``min(1, p(θ') L(θ', d) L(θ, x) q(θ', θ) / (p(θ) L(θ, d) L(θ', x) q(θ, θ')))``,
    x ~ L(θ', ·).

    *Exact when* ``simulate`` draws exactly from the likelihood (not by a chain that is stopped early).

    Parameters
    ----------
    log_prior
        ``log_prior(theta)``.
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

    References
    ----------
    Murray, Ghahramani and MacKay (2006), UAI.
    """
    likelihood = wrapped(Scalar, log_likelihood, "log_likelihood")
    posterior = Posterior(wrapped(Scalar, log_prior, "log_prior"), likelihood, observed(data))
    auxiliary = AuxiliaryData(
        likelihood,
        wrapped(Function, returning(simulate, data), "simulate"),
        data,
        None if draw is None else wrapped(Function, draw, "draw of exchange"),
    )
    return MetropolisHastings(
        proposal, Randomized(Carried(Exactly(Scalar(posterior, "log_prior + log_likelihood"))), auxiliary)
    )
