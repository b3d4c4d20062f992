"""Synthetic likelihoods and ABC: cumulants and unbiasedness against many draws, black boxes, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas
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


def many_normals(key, theta):
    return theta + jr.normal(key, (40,))


def three(data):
    return jnp.array([jnp.mean(data), jnp.std(data), jnp.max(data)])


def boxed(rng, theta):
    return theta + rng.normal(size=40)


def boxed_three(data):
    return [np.mean(data), np.std(data), np.max(data)]


@pytest.mark.parametrize("vectorized", [None, False, True])
def test_summaries_given_as_observed_data_are_refused(vectorized):
    """Of three summaries the same three summaries can be taken, without a word."""
    make, summaries = many_normals, three
    if vectorized is not None:
        make = ls.blackbox(
            boxed if not vectorized else lambda rng, theta, count: theta + rng.normal(size=(count, 40)), vectorized
        )
        summaries = boxed_three
    observed = np.linspace(-1.0, 1.5, 40)

    def run(given):
        synthetic = ls.synthetic_likelihood(make, summaries, given, 30)
        for kernel in (ls.corrected, ls.pseudo_marginal):
            ls.sample(kernel(synthetic, ls.RandomWalk(0.1)), 0.2, draws=3, chains=1)

    run(observed)
    for summarised in (boxed_three(observed), np.array(boxed_three(observed))):
        with pytest.raises(
            ValueError, match=r"observed .* has shape \(3,\), which is that of summaries.*\(40,\).*summaries=None"
        ):
            run(summarised)


@pytest.mark.parametrize("boxed", [False, True])
def test_summaries_may_be_lists(boxed):
    def pairs(noise, theta):
        return [theta + 0.1 * noise[0], noise[1] ** 2]

    def normals(key, count):
        return jr.normal(key, (count, 2))

    make = ls.blackbox(pairs) if boxed else pairs
    identity = lambda data: [data[0], 2 * data[1]]  # noqa: E731
    runs = [
        ls.sample(
            ls.corrected(ls.synthetic_likelihood(make, summaries, [0.3, 1.0], 20, draw=normals), ls.RandomWalk(0.1)),
            0.2, draws=10, chains=2,
        )
        for summaries in (None, identity)
    ]  # fmt: skip
    assert 0 < runs[0].acceptance <= 1 and runs[0].positions.shape == runs[1].positions.shape
    near = ls.abc(make, lambda data: int(data[0] > 9) if boxed else (data[0] > 9).astype(int), 0.1, 3, draw=normals)
    assert ls.sample(ls.pseudo_marginal(near, ls.RandomWalk(0.1)), 0.2, draws=10, chains=2).acceptance == 1


def test_simulations_go_on_in_a_directory(tmp_path):
    """What was held against the observed data once is the same model still."""
    synthetic = ls.synthetic_likelihood(ls.blackbox(boxed), boxed_three, np.linspace(-1.0, 1.5, 40), 30)
    kernel = ls.corrected(synthetic, ls.RandomWalk(0.1))
    first, more = (ls.sample(kernel, 0.2, draws=n, chains=1, directory=tmp_path / "run").positions for n in (3, 6))
    assert np.array_equal(first, more[:, :3])


def test_tables_of_pandas_are_data_and_summaries():
    def table(rng, theta):
        return pandas.Series(theta + rng.normal(size=12))

    def summaries(data):
        return data.agg(["mean", "std"])

    given = ls.synthetic_likelihood(ls.blackbox(table), summaries, table(np.random.default_rng(0), 1.0), 20)
    plain = ls.synthetic_likelihood(
        ls.blackbox(table), lambda data: np.asarray(summaries(data)), table(np.random.default_rng(0), 1.0), 20
    )
    runs = [ls.sample(ls.corrected(one, ls.RandomWalk(0.3)), 0.9, draws=10, chains=2) for one in (given, plain)]
    assert np.array_equal(runs[0].positions, runs[1].positions)


@pytest.mark.parametrize("boxed", [False, True])
def test_what_is_no_distance_is_refused(boxed):
    """A vector of them would have been one likelihood more for each entry; a negative one is nearer than near."""
    make = (
        ls.blackbox(lambda rng, theta: theta + rng.normal(size=3))
        if boxed
        else lambda key, theta: theta + jr.normal(key, (3,))
    )

    def run(distance):
        ls.sample(
            ls.pseudo_marginal(ls.abc(make, distance, 0.5, 4, "uniform"), ls.RandomWalk(0.1)), 0.2, draws=3, chains=1
        )

    with pytest.raises(ValueError, match=r"distance of abc returned an array of shape \(3,\); it must be one number"):
        run(lambda data: abs(data))
    with pytest.raises(ValueError, match="is a distance negative"):
        run(lambda data: data[0] - 9.0)
    with pytest.raises(TypeError, match="distance of abc takes data, observed; it is called with simulated data alone"):
        run(lambda data, observed: abs(data[0] - observed))


def test_summaries_of_another_shape_are_refused():
    """Where they would be broadcast against those of simulated data, without a word."""
    one = ls.synthetic_likelihood(many_normals, lambda data: data[:3] if len(data) == 40 else data[:1], np.ones(7), 30)
    with pytest.raises(ValueError, match=r"shape \(3,\) for simulated data and \(1,\) for observed.*must be alike"):
        ls.sample(ls.corrected(one, ls.RandomWalk(0.1)), 0.2, draws=3, chains=1)


def test_summaries_that_fail_on_observed_data_say_what_observed_is():
    def of_table(data):
        return jnp.array([data[:, 0].mean(), data[:, 1].mean()])

    with pytest.raises(IndexError) as caught:
        ls.synthetic_likelihood(simulate, of_table, np.array([0.3, 0.2]), 30)
    assert any("observed are data, as simulate makes them" in note for note in caught.value.__notes__)
    with pytest.raises(ValueError, match=r"summaries of observed have shape \(\).*observed are data"):
        ls.synthetic_likelihood(simulate, np.mean, np.ones(20), 30)


def test_observed_data_of_another_length_are_summarised():
    """Point processes: as many points as there are."""

    def points(rng, theta):
        return rng.uniform(size=rng.poisson(np.exp(theta)))

    synthetic = ls.synthetic_likelihood(ls.blackbox(points), lambda x: [len(x), np.sum(x)], np.full(7, 0.4), 30)
    run = ls.sample(ls.corrected(synthetic, ls.RandomWalk(0.2)), 2.0, draws=20, chains=2)
    assert 0 < run.acceptance < 1


def test_a_chain_that_sticks_where_estimates_are_too_noisy_is_told_so():
    """In a corner of a wide prior: summaries of data that the model cannot have made have hardly a covariance."""

    def spread(noise, theta):
        return jnp.array([theta + jnp.mean(noise), jnp.mean(jnp.exp(noise * jnp.exp(-theta)))])

    synthetic = ls.synthetic_likelihood(
        spread, None, np.array([0.1, 1.6]), 40, draw=lambda key, m: jr.normal(key, (m, 9))
    )
    starts = ls.Starts(np.array([0.0, 5.0]))
    told = r"chain 1 never moved.*variance \S+, half of which the rule corrected.*About [\d,]+ samples.*instead of 40"
    with pytest.warns(ls.LockstepWarning, match=told):
        run = ls.sample(ls.corrected(synthetic, ls.RandomWalk(0.1)), starts, draws=200, chains=2)
    first, *_ = run.summary().findings
    assert "where it stood an estimate of D has the variance" in first and "starts near the bulk" in first
    variance, samples = re.search(r"the variance (\S+), half .* About ([\d,]+) samples", first).groups()
    assert 40 * float(variance) * 0.99 < int(samples.replace(",", "")) < 40 * float(variance) * 1.11  # to two digits
    kernel = run.kernel
    assert kernel.cure(np.zeros(1)) is None  # where estimates are good, it sticks for another reason
    assert ls.naive(synthetic, ls.RandomWalk(0.1)).cure(np.full(1, 5.0)) is None  # which takes nothing off


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
