"""Synthetic likelihoods of two simulators whose moments are known: how far posteriors move with the simulations.

With the moments known, the posterior of infinitely many simulations is known on a grid. That of the naive rule is
elsewhere, and moves with the number of simulations; that of the corrected one hardly does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import special, stats

import lockstep as ls


@dataclass(frozen=True)
class Task:
    """A simulator of summaries, their exact moments, those observed, and priors of the two parameters."""

    simulate: Any
    draw: Any
    moments: Any
    observed: np.ndarray
    spread: np.ndarray  # of the priors, normal around 0
    start: dict

    @property
    def parameters(self):
        return ls.Parameters(first=stats.norm(0, self.spread[0]), second=stats.norm(0, self.spread[1]))

    def known(self):
        """Means and standard deviations of the posterior of infinitely many simulations."""
        axes = [np.linspace(-5 * s, 5 * s, 151) for s in self.spread]
        log_posterior = np.empty((151, 151))
        for i, first in enumerate(axes[0]):
            for j, second in enumerate(axes[1]):
                mean, covariance = self.moments(first, second)
                apart = self.observed - mean
                quadratic = apart @ np.linalg.solve(covariance, apart)
                log_likelihood = -(np.linalg.slogdet(covariance)[1] + quadratic) / 2
                log_posterior[i, j] = log_likelihood - np.sum((np.array([first, second]) / self.spread) ** 2) / 2
        weights = np.exp(log_posterior - log_posterior.max())
        found = []
        for axis, own in enumerate(axes):
            marginal = weights.sum(axis=1 - axis) / weights.sum()
            mean = marginal @ own
            found.append((mean, np.sqrt(marginal @ (own - mean) ** 2)))
        return np.array(found).T


# Three normal summaries with one mean, whose spread is a parameter as well.
FACTOR = np.linalg.cholesky(0.7 * np.eye(3) + 0.3)
NORMAL = Task(
    lambda z, first, second: first + jnp.exp(second / 2) * (FACTOR @ z),
    lambda key, count: jr.normal(key, (count, 3)),
    lambda first, second: (np.full(3, first), np.exp(second) * FACTOR @ FACTOR.T),
    np.array([1.5, -0.5, 2.2]),
    np.array([2.0, 1.0]),
    {"first": 1.0, "second": 0.5},
)

# Twenty Weibull lifetimes; the parameters are the logarithms of shape and scale.
LIVES = 20


def lifetimes(log_exponentials, first, second):
    log_life = second + log_exponentials * jnp.exp(-first)
    life = jnp.exp(log_life)
    return jnp.array([jnp.mean(log_life), jnp.mean(life), jnp.mean(life**2)])


def weibull_moments(first, second):
    shape, scale = np.exp(first), np.exp(second)

    def power(k):
        return scale**k * special.gamma(1 + k / shape)

    def power_log(k):  # E life^k log life
        return power(k) * (second + special.digamma(1 + k / shape) / shape)

    log_mean, log_variance = second - np.euler_gamma / shape, np.pi**2 / 6 / shape**2
    mean = np.array([log_mean, power(1), power(2)])
    with_log = [power_log(k) - log_mean * power(k) for k in (1, 2)]
    of_powers = [[power(i + j) - power(i) * power(j) for j in (1, 2)] for i in (1, 2)]
    covariance = np.array([[log_variance, *with_log], [with_log[0], *of_powers[0]], [with_log[1], *of_powers[1]]])
    return mean, covariance / LIVES


OBSERVED_LIVES = stats.weibull_min(1.6, scale=1.2).ppf((np.arange(LIVES) + 0.5) / LIVES)
WEIBULL = Task(
    lifetimes,
    lambda key, count: jnp.log(jr.exponential(key, (count, LIVES))),
    weibull_moments,
    np.array([np.mean(np.log(OBSERVED_LIVES)), np.mean(OBSERVED_LIVES), np.mean(OBSERVED_LIVES**2)]),
    np.array([0.5, 0.5]),
    {"first": 0.45, "second": 0.15},
)
TASKS = {"normal": (NORMAL, 1.0), "Weibull": (WEIBULL, 0.15)}
CHAINS = 16


def posterior(task, scale, rule, count, draws):
    """Means and standard deviations of the two parameters, and the standard errors of these four."""
    synthetic = ls.synthetic_likelihood(task.simulate, None, task.observed, count, draw=task.draw)
    kernel = task.parameters.posterior(rule(synthetic, ls.RandomWalk(scale)))
    run = ls.sample(kernel, task.start, draws=draws, chains=CHAINS, warmup=100, seed=4)
    values = np.stack([run.positions["first"], run.positions["second"]], axis=-1)
    means = values.mean(axis=1)  # of each chain
    squares = ((values - values.mean(axis=(0, 1))) ** 2).mean(axis=1)
    spread = np.sqrt(squares.mean(axis=0))
    found = np.array([means.mean(axis=0), spread])
    errors = np.array([means.std(axis=0), squares.std(axis=0) / (2 * spread)]) / np.sqrt(CHAINS)
    return found, errors


def test_the_moments_are_those_of_the_simulators():
    """By an average of many simulations, so that the known posterior is that of these simulators."""
    first, second = 0.2, -0.1
    for task, _ in TASKS.values():
        noise = np.asarray(task.draw(jr.key(1), 40_000))
        found = np.asarray(jax.vmap(task.simulate, in_axes=(0, None, None))(noise, first, second), float)
        mean, covariance = task.moments(first, second)
        apart = np.linalg.solve(np.linalg.cholesky(covariance), (found - mean).T)
        assert np.all(abs(apart.mean(axis=1)) < 5 / np.sqrt(40_000))
        np.testing.assert_allclose(np.cov(apart), np.eye(3), atol=0.05)


@pytest.mark.study
@pytest.mark.parametrize("name", TASKS)
def test_corrected_moves_at_most_half_as_much_as_plug_in(name):
    task, scale = TASKS[name]
    known = task.known()
    moved, off = {}, {}
    for rule in (ls.naive, ls.corrected):
        few, few_error = posterior(task, scale, rule, 50, 12_000)
        many, many_error = posterior(task, scale, rule, 500, 4000)
        moved[rule.__name__] = abs(few - many) / known[1]
        off[rule.__name__] = abs(few - known) / known[1]
        error = np.hypot(few_error, many_error) / known[1]
        print(f"{name}, {rule.__name__}: from 50 to 500 simulations, means and standard deviations move by")
        print(moved[rule.__name__].round(4).tolist(), "posterior standard deviations, ±", error.round(4).tolist())
        print("with 50 from the known posterior:", off[rule.__name__].round(4).tolist())
        assert np.all(error < 0.03)
    assert moved["naive"].max() > 0.06
    assert moved["corrected"].max() < moved["naive"].max() / 2
    assert off["corrected"].max() < off["naive"].max() / 2
