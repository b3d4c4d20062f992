"""The universal rule of Ball, Fink and Bowler."""

from __future__ import annotations

from lockstep.core.estimator import Estimator
from lockstep.core.proposal import Proposal
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Universal


def universal(estimator: Estimator, bound: float, proposal: Proposal) -> MetropolisHastings:
    """Accept by a rule that needs no variance: compare the estimate with one of log 1.

    Accepts with probability ``min(1, e^{min(log_q + D̂, D̂₀) - bound})``, where D̂₀ estimates the ratio of the position
    with itself, from noise of its own.

    *Exact when* no error D̂₀ is above ``bound`` and the errors have one law at every pair of positions, a position with
    itself included. *Approximate* for normal errors: those above the bound are cut off; ``info.is_violated`` counts
    them. (With normal errors of known variance s no cut is needed: that is `penalty`, or a randomized ratio with
    u₁ ~ N(0, s), u₂ ~ N(s, s).)

    Parameters
    ----------
    estimator
        Of D; only its value is used.
    bound
        A positive number c that the errors do not exceed. The acceptance rate falls as e^{-c}.
    proposal
        Such as `RandomWalk`.

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> def one_sample(key, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) + jr.uniform(key, minval=-0.5, maxval=0.5)
    >>> kernel = ls.universal(ls.estimators.mean(one_sample, count=4), 0.5, ls.RandomWalk(1.0))

    References
    ----------
    Ball, Fink and Bowler (2003), Phys. Rev. Lett. 91.
    """
    return MetropolisHastings(proposal, Universal(estimator, bound))
