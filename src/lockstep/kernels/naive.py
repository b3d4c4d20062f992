"""The naive algorithm: an estimate plugged in."""

from __future__ import annotations

from lockstep.core.estimator import Estimator
from lockstep.core.proposal import Proposal
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.ratios.rules import plug_in


def naive(estimator: Estimator, proposal: Proposal) -> MetropolisHastings:
    """Plug an estimate of the log ratio into Metropolis–Hastings, uncorrected.

    Accepts with probability ``min(1, e^{D̂} q(θ', θ)/q(θ, θ'))``.

    *Approximate*: the stationary law is wrong by O(1/m). Where e^{D̂} is an unbiased estimate of the ratio it is the
    `corrected` rule, and the error is smaller if its variance is the same in both directions. On average it takes the
    very same steps as the exact penalty method for O(m) updates.

    Parameters
    ----------
    estimator
        Of D = log π(candidate)/π(position), for example ``ls.estimators.mean(sample, count)``.
    proposal
        Such as `RandomWalk`.

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> def one_sample(key, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) + jr.normal(key)
    >>> kernel = ls.naive(ls.estimators.mean(one_sample, count=32), ls.RandomWalk(1.0))
    >>> run = ls.sample(kernel, 0.0, draws=100, chains=2, seed=1)

    See Also
    --------
    penalty, corrected : rules that take off what the noise adds.
    """
    return MetropolisHastings(proposal, Estimated(estimator, plug_in))
