"""Synthetic likelihoods of two simulators whose moments are known: how far posteriors move with the simulations.

With the moments known, the posterior of infinitely many simulations is known on a grid. That of the naive rule is
elsewhere, and moves with the number of simulations; that of the corrected one hardly does. Both are found without
chains: from many estimates at the points of a grid follow the transition matrix there and the law that it leaves as it
is.

The prior is 0 where the known posterior is tiny. In the corners of the square around the one of lifetimes the estimates
have variances up to 10⁵, with which a corrected chain that comes there once does not leave.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import special, stats

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.parameters.keywords import by_name


@dataclass(frozen=True)
class Task:
    """A simulator of summaries, their exact moments, those observed, and priors of the two parameters."""

    simulate: Any
    draw: Any
    moments: Any
    observed: np.ndarray
    spread: np.ndarray  # of the priors, normal around 0

    def log_posterior(self, first, second):
        """Of infinitely many simulations, up to a constant."""
        mean, covariance = self.moments(first, second)
        apart = self.observed - mean
        log_likelihood = -(np.linalg.slogdet(covariance)[1] + apart @ np.linalg.solve(covariance, apart)) / 2
        return log_likelihood - np.sum((np.array([first, second]) / self.spread) ** 2) / 2

    def known(self):
        """Means and standard deviations of the posterior of infinitely many simulations."""
        axes = [np.linspace(-5 * s, 5 * s, 121) for s in self.spread]
        log_posterior = np.array([[self.log_posterior(first, second) for second in axes[1]] for first in axes[0]])
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
)
TASKS = {"normal": NORMAL, "Weibull": WEIBULL}
SIDE, REACH = 13, 3.5  # a grid around the known posterior, in its standard deviations
DEPTH = 6.0  # of its logarithm below the maximum: elsewhere the prior is 0, see above
GROUPS = 4  # of independent replicates, which tell the error


def grid_of(task):
    """Positions on a grid around the known posterior, and the probabilities of a walk between them."""
    mean, spread = task.known()
    steps = np.linspace(-REACH, REACH, SIDE)
    units = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    log_posterior = np.array([task.log_posterior(*position) for position in mean + spread * units])
    units = units[log_posterior > log_posterior.max() - DEPTH]
    apart = units[:, None] - units[None]
    walk = np.exp(-0.5 * np.sum(apart**2, axis=-1))
    walk[np.max(abs(apart), axis=-1) > 1.8] = 0.0  # a few steps
    np.fill_diagonal(walk, 0.0)
    return mean + spread * units, walk / walk.sum(axis=1).max()


@functools.partial(jax.jit, static_argnames="replicates")
def estimates(side, positions, key, replicates):
    """So many estimates of the log likelihood at each position, with their cumulants: the library's own."""

    def at(pair):
        position, own = pair
        theta = {"first": position[0], "second": position[1]}
        return jax.vmap(lambda noise: side(noise, theta, theta))(side.noise(own, theta, (replicates,)))

    return jax.lax.map(at, (positions, jr.split(key, len(positions))))


def accepted(new, old):
    """The mean of min(1, exp(new - old)) over all pairs of them."""
    old = np.sort(old)
    weights = np.exp(old[0] - old)
    above = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    first = np.searchsorted(old, new, side="right")
    return np.mean(first + np.exp(np.minimum(new - old[0], 500.0)) * above[first]) / len(old)


def stationary(task, grid, walk, rule, found):
    """The law that the chain of a rule has on the grid, by the eigenvector of its transition matrix."""
    # A rule takes off what each side adds: D̂ = v' - v, bias b' - b and variance s' + s.
    half = found.bias + found.variance / 2 if rule == "corrected" else 0.0
    other = found.bias - found.variance / 2 if rule == "corrected" else 0.0
    log_prior = -0.5 * np.sum((grid / task.spread) ** 2, axis=1)[:, None]
    new, old = found.value - half + log_prior, found.value - other + log_prior
    matrix = np.zeros_like(walk)
    for i, j in zip(*np.nonzero(walk), strict=True):
        matrix[i, j] = walk[i, j] * accepted(new[j], old[i])
    np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    system = np.vstack([matrix.T - np.eye(len(grid)), np.ones(len(grid))])
    return np.linalg.lstsq(system, np.append(np.zeros(len(grid)), 1.0), rcond=None)[0]


def moments_of(law, grid):
    mean = law @ grid
    return np.array([mean, np.sqrt(law @ (grid - mean) ** 2)])


def posteriors(task, count, replicates):
    """Means and standard deviations by the naive and by the corrected rule; and with the likelihood known."""
    grid, walk = grid_of(task)
    synthetic = ls.synthetic_likelihood(task.simulate, None, task.observed, count, draw=task.draw)
    side = by_name(synthetic.at_candidate, ("first", "second"))
    groups = {"naive": [], "corrected": []}
    for group in range(GROUPS):
        with double_precision():
            found = estimates(canonical(side, "side"), jnp.asarray(grid), jr.key(group), replicates // GROUPS)
        found = jax.tree.map(np.asarray, found)
        for rule, laws in groups.items():
            laws.append(moments_of(stationary(task, grid, walk, rule, found), grid))
    means = {rule: np.mean(laws, axis=0) for rule, laws in groups.items()}
    errors = {rule: np.std(laws, axis=0, ddof=1) / np.sqrt(GROUPS) for rule, laws in groups.items()}
    exact = np.exp(np.array([task.log_posterior(*position) for position in grid]))
    return means, errors, moments_of(exact / exact.sum(), grid)


def test_the_moments_are_those_of_the_simulators():
    """By an average of many simulations, so that the known posterior is that of these simulators."""
    first, second = 0.2, -0.1
    for task in TASKS.values():
        with double_precision():
            noise = task.draw(jr.key(1), 40_000)
            found = np.asarray(jax.vmap(task.simulate, in_axes=(0, None, None))(noise, first, second))
        mean, covariance = task.moments(first, second)
        apart = np.linalg.solve(np.linalg.cholesky(covariance), (found - mean).T)
        assert np.all(abs(apart.mean(axis=1)) < 5 / np.sqrt(40_000))
        np.testing.assert_allclose(np.cov(apart), np.eye(3), atol=0.05)


def test_the_rule_takes_off_what_each_side_adds():
    """As the matrices above have it: from the estimate of the difference, by the rule itself."""
    synthetic = ls.synthetic_likelihood(NORMAL.simulate, None, NORMAL.observed, 50, draw=NORMAL.draw)
    whole = by_name(synthetic, ("first", "second"))
    with double_precision():
        here, there = {"first": 0.3, "second": 0.1}, {"first": 0.9, "second": -0.4}

        @jax.jit
        def both(here, there):
            noise = whole.noise(jr.key(3), here)
            sides = whole.at_position(noise[0], here, there), whole.at_candidate(noise[1], here, there)
            return ls.rules.corrected(whole(noise, here, there)), *sides

        ratio, old, new = both(here, there)
        by_sides = (new.value - new.bias - new.variance / 2) - (old.value - old.bias + old.variance / 2)
    assert float(ratio) == pytest.approx(float(by_sides), abs=1e-10)


@pytest.mark.study
@pytest.mark.optimized
@pytest.mark.parametrize("name", ["normal", "Weibull"])
def test_corrected_moves_at_most_half_as_much_as_plug_in(name):
    task = TASKS[name]
    few, few_error, exact = posteriors(task, 50, 1600)
    many, many_error, _ = posteriors(task, 500, 400)
    moved, off = {}, {}
    for rule in ("naive", "corrected"):
        moved[rule] = abs(few[rule] - many[rule]) / exact[1]
        off[rule] = abs(few[rule] - exact) / exact[1]
        error = np.hypot(few_error[rule], many_error[rule]) / exact[1]
        print(f"{name}, {rule}: from 50 to 500 simulations, means and standard deviations move by")
        print(moved[rule].round(4).tolist(), "posterior standard deviations, ±", error.round(4).tolist())
        print("with 50 from the known posterior:", off[rule].round(4).tolist())
        assert np.all(error < 0.01)
    assert moved["naive"].max() > 0.05
    assert moved["corrected"].max() < moved["naive"].max() / 2
    assert off["corrected"].max() < off["naive"].max() / 2
