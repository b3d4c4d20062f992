"""Pseudo-marginal Metropolis–Hastings, plain and correlated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.adopt import adopted
from lockstep.core.estimator import Estimator
from lockstep.core.evaluation import Evaluation
from lockstep.core.proposal import Proposal
from lockstep.host.functions import Noisy
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Carried, Noisily


def pseudo_marginal(
    log_estimate: Any, proposal: Proposal, correlation: float = 0.0, draw: Any = None
) -> MetropolisHastings:
    """Metropolis–Hastings with an unbiased estimate of the density that is carried along with the position.

    Accepts with probability ``min(1, π̂(θ') q(θ', θ) / (π̂(θ) q(θ, θ')))``; π̂(θ) is kept until a candidate is accepted.

    *Exact when* exp(log_estimate) is a non-negative, unbiased estimate of the density, up to a constant; with a
    correlation also: its noise is standard normal.

    Parameters
    ----------
    log_estimate
        ``log_estimate(key, position)``: the logarithm of the estimate. Or what `ls.synthetic_likelihood` and `ls.abc`
        return, which have noise of their own.
    proposal
        Such as `RandomWalk`.
    correlation
        ρ of the correlated method: the noise of the candidate is ρ u + √(1-ρ²) ε, with u the noise of the position.
        Values near 1 make the ratio far less noisy. Needs a ``draw`` of standard normal numbers.
    draw
        ``draw(key)`` makes the noise, free of the state, that ``log_estimate`` gets in place of the key.

    Examples
    --------
    A mean of normal variables with random effects, the likelihood estimated by importance sampling:

    >>> import jax.numpy as jnp, jax.random as jr, jax.scipy.special as jsp, lockstep as ls
    >>> data = jnp.array([0.3, 1.2, -0.4])
    >>> def log_estimate(z, theta):  # z: 50 standard normal effects for each of the 3 data
    ...     log_weights = -0.5 * (data - theta - z) ** 2
    ...     return jnp.sum(jsp.logsumexp(log_weights, axis=0)) - 0.5 * theta**2
    >>> kernel = ls.pseudo_marginal(
    ...     log_estimate, ls.RandomWalk(1.0), correlation=0.95, draw=lambda key: jr.normal(key, (50, 3))
    ... )

    References
    ----------
    Andrieu and Roberts (2009), Ann. Statist. 37; Deligiannidis, Doucet and Pitt (2018), JRSS B 80.
    """
    evaluate = _evaluation(log_estimate, draw)
    is_plain = isinstance(correlation, (int, float)) and correlation == 0
    return MetropolisHastings(proposal, Carried(evaluate, None if is_plain else correlation))


def _evaluation(log_estimate: Callable[..., Any], draw: Callable[..., Any]) -> Evaluation:
    """The evaluation of a user's function, or that which was given."""
    known: Any = log_estimate.evaluation if isinstance(log_estimate, Estimator) else log_estimate
    if not isinstance(known, Noisy):
        return Noisily(log_estimate, draw)
    known = adopted(known, Evaluation, "log_estimate of pseudo_marginal", "a function, or an evaluation")
    if draw is not None:
        raise TypeError(f"draw of pseudo_marginal is {draw!r}, but {known.name} has noise of its own; leave it out")
    return known
