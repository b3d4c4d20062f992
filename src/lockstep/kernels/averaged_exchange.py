"""The exchange algorithm with an exact average over several simulated data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.arguments import whole
from lockstep.core.proposal import Proposal
from lockstep.core.types import Tree
from lockstep.kernels.exchange import posterior_of, randomized_by, simulation_of
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios.averaged import AveragedData
from lockstep.ratios.randomizations import AuxiliaryData


def averaged_exchange(
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    simulate: Any,
    data: Tree,
    proposal: Proposal,
    count: int,
    draw: Any = None,
) -> MetropolisHastings:
    """The exchange algorithm with an average over N simulated data sets, exact for every N.

    With ``r_x(θ, θ') = p(θ') L(θ', d) L(θ, x) q(θ', θ) / (p(θ) L(θ, d) L(θ', x) q(θ, θ'))``, a coin decides between

    - x₁, …, x_N ~ L(θ', ·), accepted with probability ``min(1, N⁻¹ Σ_i r_{x_i}(θ, θ'))``, and
    - x₁ ~ L(θ', ·), x₂, …, x_N ~ L(θ, ·), accepted with probability ``min(1, 1 / (N⁻¹ Σ_i r_{x_i}(θ', θ)))``.

    The first from θ to θ' and the second from θ' to θ balance each other. N = 1 is the exchange algorithm; with N the
    acceptance rate rises to that of Metropolis–Hastings with the constants known.

    *Exact when* ``simulate`` draws exactly from the likelihood (not by a chain that is stopped early).

    Parameters
    ----------
    log_prior, log_likelihood, simulate, data, proposal, draw
        As in `exchange`.
    count
        The number N of data sets. They are simulated side by side, and each update costs N of them.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, lockstep as ls
    >>> model = ls.models.Ising((6, 6))
    >>> kernel = ls.averaged_exchange(
    ...     log_prior=lambda theta: jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf),
    ...     log_likelihood=model.log_likelihood, simulate=model.simulate,
    ...     data=model.simulate(jax.random.key(0), 0.3), proposal=ls.RandomWalk(0.4), count=8,
    ... )
    >>> kernel.exact_when
    'always'

    See Also
    --------
    exchange : the same with N = 1.
    bridged_exchange : one data set that walks from the candidate towards the position.

    References
    ----------
    Andrieu, Yıldırım, Doucet and Chopin (2020), arXiv:2101.01253.
    """
    posterior = posterior_of(log_prior, log_likelihood, data)
    single = AuxiliaryData(*simulation_of(posterior, simulate, draw, "averaged_exchange"))
    return randomized_by(posterior, AveragedData(single, whole(count, "count of averaged_exchange", 1)), proposal)
