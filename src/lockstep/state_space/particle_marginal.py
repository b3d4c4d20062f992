"""Particle marginal Metropolis–Hastings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.core.arguments import flag
from lockstep.core.proposal import Proposal
from lockstep.core.types import Array, Tree
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Carried
from lockstep.state_space.estimate import ParticleEstimate
from lockstep.state_space.filter import require_filter
from lockstep.state_space.model import StateSpace, require_model
from lockstep.state_space.series import series


def particle_marginal(
    log_prior: Callable[..., Any],
    model: StateSpace,
    data: Tree,
    proposal: Proposal,
    particles: int,
    correlation: float = 0.0,
    paths: bool = False,
    times: Array = None,
    inputs: Tree = None,
    resampling: str = "systematic",
    threshold: float = 1.0,
) -> MetropolisHastings:
    """Metropolis–Hastings for the parameters of a state-space model, the likelihood estimated by a particle filter.

    Accepts with probability ``min(1, p(θ') L̂(θ') q(θ', θ) / (p(θ) L̂(θ) q(θ, θ')))``; the estimate L̂(θ) is kept until a
    candidate is accepted.

    *Exact when* the log densities of the model are right, for any number of particles: a filter's estimate of the
    likelihood is unbiased. With a correlation also: the model's ``draw`` makes standard normal numbers.

    Parameters
    ----------
    log_prior
        ``log_prior(theta)``, the log density of the parameters; None: constant, or that of `ls.Parameters`, of which
        ``parameters.posterior(kernel)`` makes the kernel.
    model
        An `ls.models.StateSpace`.
    data
        Observations, with a leading axis over them; NaN where one is missing.
    proposal
        Such as `RandomWalk`.
    particles
        How many. The standard deviation of the log likelihood estimate is best at 1.0 to 1.7; ``ls.advise(kernel,
        initial)`` measures it and recommends a number.
    correlation
        ρ of the correlated method: the noise of the candidate's filter is ρ u + √(1-ρ²) ε, with u the noise at the
        position. Particles are then sorted along the state before they are resampled, so that nearby noise gives nearby
        estimates. Values near 1 let long series do with few particles.
    paths
        Keep one path of the hidden states with each draw: ``run.paths`` are then draws from their joint posterior, and
        ``run.forecast(steps)`` simulates on from them.
    times, inputs, resampling, threshold
        As of `StateSpace.filter`.

    Examples
    --------
    A random walk that is seen with noise; the standard deviation of its steps is unknown:

    >>> import jax.numpy as jnp, jax.random as jr, jax.scipy.stats as jst, lockstep as ls
    >>> model = ls.models.StateSpace(
    ...     initial=lambda z, theta: z,
    ...     transition=lambda z, x, theta, t: x + jnp.exp(theta) * z,
    ...     log_observation=lambda theta, x, y, t: jst.norm.logpdf(y, x),
    ...     draw=lambda key, count: ls.random.normal(key, (count,)),
    ...     observe=lambda key, x, theta, t: x + jr.normal(key),
    ... )
    >>> states, data = model.simulate(jr.key(1), -0.5, times=20)
    >>> kernel = ls.particle_marginal(jst.norm.logpdf, model, data, ls.RandomWalk(1.0), particles=50, paths=True)
    >>> run = ls.sample(kernel, -0.5, draws=100, chains=2, seed=1)
    >>> run.paths.shape, run.forecast(5).states.shape
    ((2, 100, 20), (2, 100, 5))

    See Also
    --------
    pseudo_marginal : the same with an estimate of your own.
    particle_gibbs : for long series.

    References
    ----------
    Andrieu, Doucet and Holenstein (2010), JRSS B 72; Deligiannidis, Doucet and Pitt (2018), JRSS B 80.
    """
    require_model(model)
    is_plain = isinstance(correlation, (int, float)) and correlation == 0
    made = require_filter(model, series(data, times, inputs), particles, resampling, threshold, is_sorted=not is_plain)
    estimate = ParticleEstimate(log_prior, made, flag(paths, "paths"))
    return MetropolisHastings(proposal, Carried(estimate, None if is_plain else correlation))
