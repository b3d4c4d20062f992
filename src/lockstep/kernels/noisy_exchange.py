"""The exchange algorithm with an average over several simulated data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.core.arguments import flag
from lockstep.core.parts import part
from lockstep.core.proposal import Proposal
from lockstep.core.shown import Showing
from lockstep.core.trees import choose
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators import log_mean_exp, two_sided as make_two_sided
from lockstep.host.boxes import returning
from lockstep.host.functions import Function, Scalar, wrapped
from lockstep.kernels.exchange import Posterior, posterior_of
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.ratios.randomizations import simulated, within
from lockstep.ratios.rules import corrected, plug_in


@part
class ExchangeWeight(Showing):
    """``log p(θ') L(θ', d) L(θ, x) / (p(θ) L(θ, d) L(θ', x))``, x drawn at θ': its exponential is unbiased for π'/π."""

    posterior: Posterior
    simulate: Function

    shown = property(lambda self: self.posterior.shown)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Array:
        posterior, likelihood = self.posterior, self.posterior.log_likelihood
        x = simulated(self.simulate, (noise, within(posterior.log_prior, position, candidate)), posterior.data)
        here, there = posterior(position), posterior(candidate)
        weight = likelihood(position, x) - likelihood(candidate, x)
        return choose((here == -np.inf) | (there == -np.inf), there - here, there - here + weight)


def noisy_exchange(
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    simulate: Callable[..., Any],
    data: Tree,
    proposal: Proposal,
    count: int,
    two_sided: bool = True,
    draw: Callable[..., Any] | None = None,
) -> MetropolisHastings:
    """The exchange algorithm with the ratio of the unknown constants averaged over several simulated data sets.

    One side estimates D by ``D̂ = log N⁻¹ Σ_i p(θ') L(θ', d) L(θ, x_i) / (p(θ) L(θ, d) L(θ', x_i))``, x_i ~ L(θ', ·);
    two sides by half the difference of that and of the same the other way, with data simulated at θ, less its estimated
    bias and half of its variance (the `corrected` rule).

    *Approximate*: one side is exact for N = 1 only; its error first *rises* with N, to N of about 2 to 4, and then
    falls as 1/N, for its variance is not the same in both directions. Two sides fall as N^(-3/2) or faster.

    Parameters
    ----------
    log_prior, log_likelihood, simulate, data, proposal
        As in `exchange`.
    count
        The number N of data sets, on each side.
    two_sided
        Whether to average data sets from both sides. They cost twice as much. (With a ``count`` of 1, one side is the
        exchange algorithm itself, and is taken.)
    draw
        ``draw(key, count)`` makes the noise of ``count`` data sets at once, a row each, that ``simulate`` gets in place
        of a key.

    Examples
    --------
    >>> import jax, lockstep as ls
    >>> model = ls.models.Ising((6, 6))
    >>> data = model.simulate(jax.random.key(0), 0.3)
    >>> kernel = ls.noisy_exchange(None, model.log_likelihood, model.simulate, data, ls.RandomWalk(0.4), count=8)
    >>> kernel.ratio.estimator.with_count(16).count
    16

    See Also
    --------
    averaged_exchange : an average that is exact: take it instead. This one is there for comparison.
    exchange : exact, from one data set.
    lockstep.estimators.log_mean_exp, lockstep.estimators.two_sided : what this is made of.

    References
    ----------
    Alquier, Friel, Everitt and Boland (2016), Statistics and Computing 26.
    """
    weight = ExchangeWeight(
        posterior_of(log_prior, log_likelihood, data), wrapped(Function, returning(simulate, data), "simulate")
    )
    estimator = log_mean_exp(Scalar(weight, "log_prior + log_likelihood"), count, draw)
    if not flag(two_sided, "two_sided") or estimator.count == 1:
        return MetropolisHastings(proposal, Estimated(estimator, plug_in))
    return MetropolisHastings(proposal, Estimated(make_two_sided(estimator), corrected))
