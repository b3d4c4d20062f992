"""The first lines that a user writes."""

import warnings

import jax.numpy as jnp
import jax.random as jr

import lockstep as ls


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def one_sample(key, position, candidate):  # a noisy look at D
    return log_density(candidate) - log_density(position) + jr.normal(key)


def prior(theta):
    return -0.5 * theta**2 / 4


def likelihood(theta, x):
    return -0.5 * jnp.sum((x - theta) ** 2)


def simulate(key, theta):
    return theta + jr.normal(key, (5,))


def test_these_lines_run_as_written():
    walk = ls.RandomWalk(1.0)
    run = ls.sample(ls.standard(log_density, walk), jnp.zeros(2), draws=2_000, chains=4, seed=1)
    assert run.positions.shape == (4, 2_000, 2)
    tree = run.to_datatree()
    assert {"posterior", "sample_stats"} <= set(tree.children)

    noisy = ls.estimators.mean(one_sample, count=32)
    for make in (ls.naive, ls.penalty, ls.corrected):
        ls.sample(make(noisy, walk), jnp.zeros(2), draws=500, chains=2, seed=1)
    exact = ls.penalty(ls.estimators.known_variance(noisy, 1 / 32), walk)
    assert exact.exact_when is not None

    data = jnp.array([0.3, 1.2, -0.4, 0.8, 1.7])
    run = ls.sample(ls.exchange(prior, likelihood, simulate, data, walk), jnp.array(0.0), draws=500, chains=2, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "exact kernel" in repr(run.summary())
