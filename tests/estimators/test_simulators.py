"""Synthetic likelihoods and ABC: cumulants and unbiasedness against many draws, black boxes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls

MEAN, FACTOR = np.array([0.3, -0.2]), np.array([[1.0, 0.0], [0.4, 0.8]])
SEEN = MEAN + FACTOR @ np.array([1.2, -0.7])
COUNT, MANY = 60, 8000


def simulate(noise, theta):
    return theta + FACTOR @ noise


def normals(key, count):
    return jr.normal(key, (count, 2))


@pytest.mark.parametrize("shrinkage", [0.0, 0.4])
def test_cumulants_and_the_unbiased_density(shrinkage):
    one = ls.synthetic_likelihood(simulate, None, SEEN, COUNT, shrinkage, draw=normals).at_candidate
    with jax.enable_x64(True):
        here = jnp.asarray(MEAN)
        noise = one.noise(jr.key(1), here, (MANY,))
        found = jax.jit(jax.vmap(lambda n: one(n, here, here)))(noise)
        density = jax.jit(jax.vmap(lambda n: one.evaluation(n, here)))(noise)
        found = jax.tree.map(np.asarray, found)
    covariance = FACTOR @ FACTOR.T
    shrunk = (1 - shrinkage) * covariance + shrinkage * np.diag(np.diag(covariance))
    truth = -0.5 * (np.linalg.slogdet(shrunk)[1] + (SEEN - MEAN) @ np.linalg.solve(shrunk, SEEN - MEAN))
    values = np.asarray(found.value)
    error = values.std() / np.sqrt(MANY)
    # The delta method leaves terms of order 1/m of each.
    assert abs(values.mean() - truth - np.mean(found.bias)) < 5 * error + 0.15 * abs(np.mean(found.bias))
    assert abs(np.mean(found.bias)) > 10 * error
    assert np.mean(found.variance) == pytest.approx(values.var(), rel=0.15)
    assert np.mean(found.third) == pytest.approx(stats.moment(values, 3), rel=0.5)
    exact = stats.multivariate_normal(MEAN, covariance).pdf(SEEN)
    estimates = np.exp(np.asarray(density))
    assert abs(estimates.mean() - exact) < 5 * estimates.std() / np.sqrt(MANY)


def test_black_boxes_estimate_alike():
    def on_host(noise, theta):
        return theta + noise @ FACTOR.T

    kernels = [
        ls.corrected(ls.synthetic_likelihood(f, None, SEEN, COUNT, draw=normals), ls.RandomWalk(0.3))
        for f in (simulate, ls.blackbox(on_host), ls.blackbox(on_host, vectorized=True))
    ]
    runs = [ls.sample(kernel, MEAN, draws=15, chains=2, seed=2).positions for kernel in kernels]
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-8)
    np.testing.assert_allclose(runs[2], runs[0], rtol=1e-8)


def test_generators_names_and_summaries():
    def drawn(mean, rng, count):
        return rng.normal(mean, 1.0, size=(count, 20))

    parameters = ls.Parameters(mean=stats.norm(0, 1))
    synthetic = ls.synthetic_likelihood(ls.blackbox(drawn, vectorized=True), lambda x: [x.mean()], np.ones(20), 30)
    for kernel in (ls.corrected(synthetic, ls.RandomWalk(0.3)), ls.pseudo_marginal(synthetic, ls.RandomWalk(0.3))):
        run = ls.sample(parameters.posterior(kernel), {"mean": 0.8}, draws=300, chains=2, warmup=20, seed=1)
        # The posterior of 20 normal data with mean 1.
        assert abs(run.positions["mean"].mean() - 20 / 21) < 0.15


def test_abc_is_an_unbiased_estimate_of_its_own_likelihood():
    def distance(data):
        return jnp.abs(data[0])

    near = ls.abc(
        lambda noise, theta: theta + noise, distance, 0.5, 4, draw=lambda key, count: jr.normal(key, (count, 1))
    )
    with jax.enable_x64(True):
        noise = near.noise(jr.key(3), 0.0, (MANY,))
        logs = jax.vmap(lambda n: near(n, jnp.asarray(0.4)))(noise)
    # E exp(-x²/(2ε²)) for x ~ N(θ, 1).
    exact = np.sqrt(0.25 / 1.25) * np.exp(-0.5 * 0.4**2 / 1.25)
    estimates = np.exp(np.asarray(logs))
    assert abs(estimates.mean() - exact) < 5 * estimates.std() / np.sqrt(MANY)
    assert "not the posterior itself" in ls.pseudo_marginal(near, ls.RandomWalk(1.0)).exact_when


def test_refusals():
    with pytest.raises(ValueError, match="the covariance of 2 summaries needs at least 4 simulations"):
        ls.synthetic_likelihood(simulate, None, SEEN, 3)
    with pytest.raises(ValueError, match="needs more than 5 simulations"):
        ls.pseudo_marginal(ls.synthetic_likelihood(simulate, None, SEEN, 5), ls.RandomWalk(1.0))
    with pytest.raises(ValueError, match="must be a vector"):
        ls.synthetic_likelihood(simulate, None, 1.0, 30)
    with pytest.raises(ValueError, match="weight of abc"):
        ls.abc(simulate, np.sum, 0.1, 1, weight="flat")


@pytest.mark.study
def test_influenza_in_twenty_lines_compiled_by_changing_the_import():
    """The example is short, and the same program with JAX's functions draws the same, but for rounding."""
    source = (Path(__file__).parents[2] / "examples" / "influenza_synthetic.py").read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in source.splitlines()) - 1 <= 20  # the docstring aside
    short = source.replace("draws=500, warmup=500, adapt=True", "draws=20, chains=2")
    assert short != source
    compiled = short.replace("import numpy as np", "import jax.numpy as np")
    compiled = compiled.replace("simulate = ls.blackbox(simulate, vectorized=True)\n", "")
    runs = []
    for program in (short, compiled):
        names = {}
        exec(program, names)
        runs.append(names["run"].positions)
    for name in ("beta", "gamma", "spread"):
        # in_bed is single precision where JAX makes it
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=1e-4)
    assert min(runs[0]["spread"].min(), runs[0]["beta"].min()) > 0
