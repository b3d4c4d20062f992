"""The exchange algorithm with a bridge between the two parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.arguments import whole
from lockstep.core.proposal import Proposal
from lockstep.core.types import Tree
from lockstep.host.boxes import returning
from lockstep.host.functions import Function, wrapped
from lockstep.kernels.exchange import posterior_of, randomized_by
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios.inner_chains import Bridge


def bridged_exchange(
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    simulate: Callable[..., Any],
    data: Tree,
    proposal: Proposal,
    bridges: int,
    transition: Callable[..., Any] | None = None,
    draw: Callable[..., Any] | None = None,
) -> MetropolisHastings:
    """The exchange algorithm whose simulated data walk over a bridge from the candidate towards the position.

    With θ₀ = θ', …, θ_{K+1} = θ on a straight line, x₀ ~ L(θ₀, ·) and x_k ~ T_k(x_{k-1}, ·), the ratio of the unknown
    constants is estimated by ``Π_{k=0..K} L(θ_{k+1}, x_k)/L(θ_k, x_k)``. Longer bridges accept more often.

    *Exact when* ``simulate`` draws exactly from the likelihood, and T_k, one ``transition`` at θ_k, is *reversible*
    with respect to L(θ_k, ·). Sweeps through sites in a fixed order are not reversible; there and back again they are.

    Parameters
    ----------
    log_prior, log_likelihood, simulate, data, proposal, draw
        As in `exchange`.
    bridges
        The number K of transitions.
    transition
        ``transition(key, theta, x)`` makes one reversible transition from x. Without it, ``simulate`` is called with
        these three arguments, as those of `lockstep.models` can be.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, lockstep as ls
    >>> model = ls.models.Ising((6, 6))
    >>> kernel = ls.bridged_exchange(
    ...     log_prior=lambda theta: jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf),
    ...     log_likelihood=model.log_likelihood, simulate=model.simulate,
    ...     data=model.simulate(jax.random.key(0), 0.3), proposal=ls.RandomWalk(0.4), bridges=4,
    ... )

    See Also
    --------
    exchange : the same with K = 0.

    References
    ----------
    Murray, Ghahramani and MacKay (2006), UAI, section 5.
    """
    posterior = posterior_of(log_prior, log_likelihood, data)
    bridge = Bridge(
        posterior.log_likelihood,
        wrapped(Function, returning(simulate, data), "simulate"),
        wrapped(Function, simulate if transition is None else transition, "transition"),
        posterior.data,
        None if draw is None else wrapped(Function, draw, "draw of bridged_exchange"),
        posterior.log_prior,
        whole(bridges, "bridges of bridged_exchange", 1),
    )
    return randomized_by(posterior, bridge, proposal)
