"""Posteriors of large data against NumPyro's NUTS on all rows, quadrature, and a limit of memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import arviz_stats
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC, NUTS

import lockstep as ls

pytestmark = [pytest.mark.study, pytest.mark.optimized]  # which takes long: compiled as users' programs are

N, DIMENSION = 10**5, 5
REFERENCE = 10_000  # draws: fewer would not know standard deviations to 3 %
TRUTH = np.array([0.5, -0.4, 0.3, 0.0, 0.2])


def covariates(rows=N):
    generator = np.random.default_rng(2)
    x = generator.normal(size=(rows, DIMENSION))
    x[:, 1] = 0.8 * x[:, 0] + 0.6 * x[:, 1]  # correlated
    return generator, x


def bernoulli(theta, row):
    logit = jnp.dot(row["x"], theta)
    return row["y"] * logit - jnp.logaddexp(0.0, logit)


def poisson(theta, row):
    log_rate = jnp.dot(row["x"], theta)
    return row["y"] * log_rate - jnp.exp(log_rate)


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2) / 100


def model_of(family):
    def model(x, y):
        theta = numpyro.sample("theta", dist.Normal(0.0, 10.0).expand([x.shape[1]]).to_event(1))
        with numpyro.plate("rows", x.shape[0]):
            numpyro.sample("y", family(x @ theta), obs=y)

    return model


FAMILIES = {
    "logistic": (
        bernoulli,
        lambda eta: dist.Bernoulli(logits=eta),
        lambda g, eta: g.binomial(1, 1 / (1 + np.exp(-eta))),
    ),
    "poisson": (poisson, lambda eta: dist.Poisson(jnp.exp(eta)), lambda generator, eta: generator.poisson(np.exp(eta))),
}


@pytest.fixture(scope="module", params=FAMILIES)
def problem(request):
    """Data, and a reference by NUTS on all of them in double precision."""
    log_likelihood, family, simulate = FAMILIES[request.param]
    generator, x = covariates()
    data = {"x": x, "y": simulate(generator, x @ TRUTH).astype(float)}
    with jax.enable_x64(True):
        mcmc = MCMC(NUTS(model_of(family), dense_mass=True), num_warmup=500, num_samples=REFERENCE, progress_bar=False)
        mcmc.run(jr.key(0), jnp.asarray(data["x"]), jnp.asarray(data["y"]))
        reference = np.asarray(mcmc.get_samples()["theta"])
    return request.param, log_likelihood, data, reference


def require_agreement(positions, reference):
    """Means within 3 Monte Carlo standard errors, standard deviations within 3 %."""
    for i in range(reference.shape[1]):
        ours, theirs = positions[:, :, i], reference[None, :, i]
        error = np.hypot(arviz_stats.mcse(ours), arviz_stats.mcse(theirs))
        assert abs(ours.mean() - theirs.mean()) < 3 * error, i
        assert ours.std() / theirs.std() == pytest.approx(1, abs=0.03), i


def test_subsampled_posteriors_agree_with_nuts(problem):
    _, log_likelihood, data, reference = problem
    run = ls.sample(ls.subsampled(log_prior, log_likelihood, data), np.zeros(DIMENSION), draws=10_000, chains=4)
    assert run.acceptance > 0.9
    require_agreement(run.positions, reference)


def test_an_adapted_walk_on_subsamples_agrees_with_nuts(problem):
    _, log_likelihood, data, reference = problem
    estimator = ls.estimators.subsample(log_prior, log_likelihood, data, 100)
    kernel = ls.corrected(estimator, ls.RandomWalk(1e-3))
    run = ls.sample(kernel, np.zeros(DIMENSION), draws=40_000, chains=8, warmup=3000, adapt=True)
    require_agreement(run.positions, reference)


def test_tunamh_agrees_with_nuts(problem):
    name, log_likelihood, data, reference = problem
    if name != "logistic":
        pytest.skip("the Poisson log likelihood has no bounded derivatives")
    bound = ls.subsampling.logistic(lambda row: row["x"])
    run = ls.sample(ls.tunamh(log_prior, log_likelihood, data, bound), np.zeros(DIMENSION), draws=10_000)
    assert run.kernel.exact_when is not None and run.info.is_valid.all()
    require_agreement(run.positions, reference)


# --- far from normal -------------------------------------------------------------------------------------------------
def moments_by_quadrature(log_density, *axes):
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    with jax.enable_x64(True):
        values = np.asarray(jax.lax.map(log_density, jnp.asarray(grid), batch_size=512))
    weights = np.exp(values - values.max())
    weights /= weights.sum()
    mean = weights @ grid
    return mean, np.sqrt(weights @ (grid - mean) ** 2)


@pytest.mark.parametrize("count", [None, 100])
def test_a_skewed_posterior_of_few_rows(count):
    """N = 200, five successes: the posterior of the intercept is skewed."""
    generator = np.random.default_rng(4)
    x = np.stack([np.ones(200), generator.normal(size=200)], axis=1)
    data = {"x": x, "y": (np.arange(200) % 40 == 0).astype(float)}

    def log_posterior(theta):
        return jnp.sum(jax.vmap(bernoulli, in_axes=(None, 0))(theta, data)) + log_prior(theta)

    mean, spread = moments_by_quadrature(log_posterior, np.linspace(-9, -1, 400), np.linspace(-4, 4, 400))
    kernel = ls.subsampled(log_prior, bernoulli, data, count=count)
    if count is None:
        with pytest.warns(ls.LockstepWarning, match="all of them are used instead"):
            run = ls.sample(kernel, np.zeros(2), draws=20_000, chains=4)
    else:
        run = ls.sample(kernel, np.zeros(2), draws=20_000, chains=4)
    for i in range(2):
        error = arviz_stats.mcse(run.positions[:, :, i])
        assert abs(run.positions[:, :, i].mean() - mean[i]) < max(3 * error, 0.02 * spread[i])
    np.testing.assert_allclose(run.positions.std(axis=(0, 1)), spread, rtol=0.03)


def two_places(theta, row):
    """A row is normal around θ or around -θ."""
    return jnp.logaddexp(-0.5 * (row - theta[0]) ** 2, -0.5 * (row + theta[0]) ** 2)


def test_a_posterior_with_two_modes():
    """By the one-line kernel, which finds both; and by subsamples of half the rows without a control."""
    generator = np.random.default_rng(0)
    data = 0.4 * generator.choice([-1, 1], 300) + generator.normal(size=300)

    def log_posterior(theta):
        return jnp.sum(jax.vmap(two_places, in_axes=(None, 0))(theta, data)) + log_prior(theta)

    mean, spread = moments_by_quadrature(log_posterior, np.linspace(-3, 3, 6001))
    assert abs(mean[0]) < 1e-10
    with pytest.warns(ls.LockstepWarning) as caught:
        run = ls.sample(ls.subsampled(log_prior, two_places, data), np.array([0.5]), draws=20_000, chains=4)
    assert any("2 modes or more" in str(warning.message) for warning in caught)
    estimator = ls.estimators.subsample(log_prior, two_places, data, 150, control=None)
    walk = ls.sample(
        ls.corrected(estimator, ls.RandomWalk(0.15)), np.array([0.5]), draws=100_000, chains=8, warmup=1000
    )
    for found in (run, walk):
        theta = found.positions[:, :, 0]
        assert abs(theta.mean()) < 3.5 * arviz_stats.mcse(theta)
        assert theta.std() == pytest.approx(spread[0], rel=0.03)


# --- larger than memory ----------------------------------------------------------------------------------------------
LIMITED = """
    import resource, sys
    import jax, jax.numpy as jnp, numpy as np
    import lockstep as ls

    def log_likelihood(theta, row):
        logit = jnp.dot(row["x"], theta)
        return row["y"] * logit - jnp.logaddexp(0.0, logit)

    def data_in_use():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))

    folder, is_loaded = sys.argv[1], sys.argv[2] == "loaded"
    jnp.zeros(3).block_until_ready()
    limit = data_in_use() + 700 * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    mode = None if is_loaded else "r"
    data = {name: np.load(f"{folder}/{name}.npy", mmap_mode=mode) for name in ("x", "y")}
    run = ls.sample(ls.subsampled(None, log_likelihood, data), np.zeros(10), draws=500, chains=2)
    print("acceptance", run.acceptance, *run.positions.mean(axis=(0, 1)))
"""


def test_data_larger_than_memory(tmp_path):
    """2 GB of rows under a limit of 0.7 GB: from disk they run, loaded they do not."""
    generator = np.random.default_rng(0)
    rows, truth = 25_000_000, np.full(10, 0.2)
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float64, (rows, 10))
    y = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", np.int8, (rows,))
    for start in range(0, rows, 1_000_000):
        part = slice(start, start + 1_000_000)
        x[part] = generator.normal(size=(1_000_000, 10))
        y[part] = generator.uniform(size=1_000_000) < 1 / (1 + np.exp(-x[part] @ truth))
    del x, y

    def run(how):
        script = [sys.executable, "-c", textwrap.dedent(LIMITED), str(tmp_path), how]
        return subprocess.run(script, capture_output=True, text=True, check=False)

    disk, loaded = run("disk"), run("loaded")
    assert disk.returncode == 0, disk.stderr[-2000:]
    _, acceptance, *means = disk.stdout.split()
    assert float(acceptance) > 0.9
    np.testing.assert_allclose([float(m) for m in means], truth, atol=0.01)
    assert loaded.returncode != 0
