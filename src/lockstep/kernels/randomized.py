"""Randomized Metropolis–Hastings (r-MCMC)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.proposal import Proposal
from lockstep.core.randomization import Randomization
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Carried, Exactly, Randomized


def randomized(log_density: Callable[..., Any], proposal: Proposal, randomization: Randomization) -> MetropolisHastings:
    """Metropolis–Hastings whose acceptance probability is randomized by an auxiliary x (the paper's Algorithm 1).

    Accepts with probability ``min(1, h(θ, θ') ξ(f(x); θ', θ)/ξ(x; θ, θ') |f'(x)|)``, x ~ ξ(·; θ, θ').

    *Exact when* x is drawn from the stated density ξ, f is an involution, and its Jacobian is right;
    `lockstep.check.balance` looks at all three. It never beats the standard kernel that it randomizes (Peskun's order).

    Parameters
    ----------
    log_density
        ``log_density(position)``, up to a constant.
    proposal
        Such as `RandomWalk`.
    randomization
        ``ls.Density(sample, log_density, involution)``, or any part with ``noise``, ``sample`` and ``log_weight``.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> def log_density(theta):
    ...     return -0.5 * jnp.sum(theta**2)
    >>> noise = ls.Density(
    ...     sample=lambda key, position, candidate: 0.5 * jr.normal(key),
    ...     log_density=lambda x, position, candidate: -0.5 * (x / 0.5) ** 2,
    ...     involution=ls.Reflection(0.25),
    ... )
    >>> kernel = ls.randomized(log_density, ls.RandomWalk(1.0), noise)

    References
    ----------
    Nicholls, Fox and Muir Watt (2012), section 2.
    """
    return MetropolisHastings(proposal, Randomized(Carried(Exactly(log_density)), randomization))
