"""The penalty method, with a variance that is known or estimated."""

from __future__ import annotations

from lockstep.core.arguments import flag
from lockstep.core.estimator import Estimator
from lockstep.core.proposal import Proposal
from lockstep.estimators.samples import as_estimator
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.ratios.rules import penalty as plain, penalty_series


def penalty(estimator: Estimator, proposal: Proposal, series: bool = False) -> MetropolisHastings:
    """The penalty method of Ceperley and Dewing: take half the variance off the estimate.

    Accepts with probability ``min(1, e^{D̂ - variance/2} q(θ', θ)/q(θ, θ'))``.

    *Exact when* the estimate is normal with mean D and a *known* variance (`known_variance`, `gaussianized`), the same
    in both directions. With a variance that is estimated from the samples it is the Penalty Estimate method:
    *approximate*; for normal samples the acceptance probability is off by O(m^-3/2), the stationary law by far less.

    Parameters
    ----------
    estimator
        Of D; with ``known_variance(estimator, variance)`` the promise of exactness is yours.
    proposal
        Such as `RandomWalk`.
    series
        With an estimated variance χ² of the mean of n normal values, use the penalty
        ``χ²/2 + χ⁴/(4(n+1)) + χ⁶/(3(n+1)(n+3))``, whose exponential is nearly unbiased.

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> def one_sample(key, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) + jr.normal(key)
    >>> noisy = ls.estimators.mean(one_sample, count=32)
    >>> estimated = ls.penalty(noisy, ls.RandomWalk(1.0))
    >>> exact = ls.penalty(ls.estimators.known_variance(noisy, 1 / 32), ls.RandomWalk(1.0))
    >>> print(estimated.exact_when, "/", exact.exact_when[:22])
    None / the estimate is normal

    References
    ----------
    Ceperley and Dewing (1999), J. Chem. Phys. 110.
    """
    estimator = as_estimator(estimator, "estimator")
    if flag(series, "series") and estimator.is_variance_known:
        raise ValueError("series is for a variance that is estimated; that of this estimator is known: leave it out")
    return MetropolisHastings(proposal, Estimated(estimator, penalty_series if series else plain))
