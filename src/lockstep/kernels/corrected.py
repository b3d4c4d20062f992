"""The corrected rule: bias and variance taken off."""

from __future__ import annotations

from lockstep.core.estimator import Estimator
from lockstep.core.proposal import Proposal
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.ratios.rules import corrected as rule


def corrected(estimator: Estimator, proposal: Proposal) -> MetropolisHastings:
    """Take the bias and half the variance off the estimate, both estimated from the same samples.

    Accepts with probability ``min(1, e^{D̂ - bias - variance/2} q(θ', θ)/q(θ, θ'))``.

    *Approximate*: removes the first order, O(1/m), of what breaks detailed balance, if the variance is the same in
    both directions (see `lockstep.check.symmetry` and `lockstep.estimators.two_sided`). It is the penalty rule for an
    unbiased estimate, and the naive rule, draw for draw, for the log of an unbiased ratio. *Exact when* the penalty
    method is.

    Parameters
    ----------
    estimator
        Of D, with cumulants: all of `lockstep.estimators` have them.
    proposal
        Such as `RandomWalk`.

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> def combine(average, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) - 1 + 1 / average
    >>> noisy = ls.estimators.smooth(None, combine, count=8, draw=lambda key, count: jr.exponential(key, (count,)))
    >>> kernel = ls.corrected(noisy, ls.RandomWalk(1.0))
    """
    return MetropolisHastings(proposal, Estimated(estimator, rule))
