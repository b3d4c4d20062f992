"""Metropolis–Hastings with a known density."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.proposal import Proposal
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Carried, Exactly


def standard(log_density: Callable[..., Any], proposal: Proposal) -> MetropolisHastings:
    """Metropolis–Hastings with a log density that can be computed.

    Accepts with probability ``min(1, π(θ') q(θ', θ) / (π(θ) q(θ, θ')))``.

    *Exact when* the log density is right, up to a constant.

    Parameters
    ----------
    log_density
        ``log_density(position)``, up to a constant; minus infinity outside the support.
    proposal
        Such as `RandomWalk` or `IndependentNormal`.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(1.0))
    >>> run = ls.sample(kernel, jnp.zeros(2), draws=100, chains=2, seed=1)
    >>> run.positions.shape
    (2, 100, 2)

    References
    ----------
    Metropolis et al. (1953); Hastings (1970), Biometrika 57.
    """
    return MetropolisHastings(proposal, Carried(Exactly(log_density)))
