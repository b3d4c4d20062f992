"""What users bring along works on our runs: ArviZ's functions and plots, and particle filters of `particles`."""

import sys

import arviz_stats
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

import lockstep as ls


@pytest.fixture(scope="module")
def run():
    kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta["a"] ** 2) - 0.5 * theta["b"] ** 2, ls.RandomWalk(1.2))
    start = {"a": np.zeros(2), "b": np.array(0.0)}
    return ls.sample(kernel, start, draws=1000, chains=4, warmup=50, seed=1)


@pytest.fixture(scope="module")
def tree(run):
    return run.to_datatree()


def test_functions_of_arviz(tree):
    for function in (arviz_stats.ess, arviz_stats.rhat, arviz_stats.mcse):
        found = function(tree)
        assert found["a"].shape == (2,) and np.isfinite(found["a"]).all() and np.isfinite(found["b"])
    table = arviz_stats.summary(tree)
    assert list(table.index) == ["a[0]", "a[1]", "b"]
    assert (arviz_stats.rhat(tree)["a"] < 1.05).all()


@pytest.mark.parametrize(
    "name",
    [
        "plot_trace",
        "plot_dist",
        "plot_autocorr",
        "plot_ess_evolution",
        pytest.param("plot_rank", marks=pytest.mark.study),
    ],
)
def test_plots_of_arviz(tree, name, tmp_path):
    matplotlib.use("agg")
    plots = pytest.importorskip("arviz_plots")
    plots_of = getattr(plots, name)(tree, backend="matplotlib")
    plots_of.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5_000


# --- a linear Gaussian state-space model, whose likelihood the Kalman filter knows
VARIANCES = 0.5, 0.3  # of the state's steps and of the observations
TIMES = 20


def observations():
    generator = np.random.default_rng(3)
    x, seen = 0.0, []
    for _ in range(TIMES):
        x = 0.7 * x + np.sqrt(VARIANCES[0]) * generator.normal()
        seen.append(x + np.sqrt(VARIANCES[1]) * generator.normal())
    return np.array(seen)


def kalman(rho, seen):
    """The log likelihood of ρ; the first state is N(0, VARIANCES[0])."""
    mean, variance, total = 0.0, VARIANCES[0], 0.0
    for i, y in enumerate(seen):
        if i:
            mean, variance = rho * mean, rho**2 * variance + VARIANCES[0]
        spread = variance + VARIANCES[1]
        total -= 0.5 * ((y - mean) ** 2 / spread + np.log(2 * np.pi * spread))
        gain = variance / spread
        mean, variance = mean + gain * (y - mean), (1 - gain) * variance
    return total


def particle_filter(seen, particles_number=50):
    particles = pytest.importorskip("particles")
    from particles import distributions, state_space_models

    class Model(state_space_models.StateSpaceModel):
        def PX0(self):
            return distributions.Normal(scale=np.sqrt(VARIANCES[0]))

        def PX(self, t, xp):
            return distributions.Normal(loc=self.rho * xp, scale=np.sqrt(VARIANCES[0]))

        def PY(self, t, xp, x):
            return distributions.Normal(loc=x, scale=np.sqrt(VARIANCES[1]))

    def log_estimate(rho, rng):
        if abs(rho) >= 1:
            return -np.inf
        np.random.seed(rng.integers(2**32))  # what `particles` draws from
        model = state_space_models.Bootstrap(ssm=Model(rho=float(rho)), data=seen)
        smc = particles.SMC(fk=model, N=particles_number)
        smc.run()
        return smc.logLt

    return log_estimate


@pytest.mark.study
def test_a_particle_filter_as_a_black_box():
    """The pseudo-marginal posterior of ρ is that of the Kalman filter, and depends on the seed alone."""
    seen = observations()
    kernel = ls.pseudo_marginal(ls.blackbox(particle_filter(seen)), ls.RandomWalk(0.5))
    run = ls.sample(kernel, 0.5, draws=300, chains=4, warmup=20, seed=1)
    grid = np.linspace(-0.999, 0.999, 2001)
    weights = np.exp([kalman(rho, seen) for rho in grid])
    weights /= weights.sum()
    mean = weights @ grid
    assert abs(run.positions.mean() - mean) < 4 * arviz_stats.mcse(run.positions)
    assert run.positions.std() == pytest.approx(np.sqrt(weights @ (grid - mean) ** 2), rel=0.2)
    again = ls.sample(kernel, 0.5, draws=20, chains=4, warmup=20, seed=1)
    np.testing.assert_array_equal(again.positions, run.positions[:, :20])


@pytest.mark.filterwarnings("ignore:.*ArviZ is undergoing:FutureWarning")
def test_an_older_arviz_takes_inference_data(run, monkeypatch):
    """What our own environment has: ArviZ before version 1, which does not take a DataTree."""
    arviz = pytest.importorskip("arviz")
    if not arviz.__version__.startswith("0."):
        pytest.skip("an ArviZ that takes the tree itself")
    table = arviz.summary(run.to_inferencedata(), round_to="none")
    assert list(table.index) == ["a[0]", "a[1]", "b"]
    np.testing.assert_allclose(table["mean"], run.summary().table["mean"], rtol=1e-12)
    data = run.to_inferencedata()
    assert data.sample_stats["is_accepted"].shape == (4, 1000) and data.attrs["inference_library"] == "lockstep"
    monkeypatch.setattr(arviz, "__version__", "1.0.0")
    with pytest.raises(TypeError, match=r"arviz 1\.0\.0 has no InferenceData: it takes run\.to_datatree\(\)"):
        run.to_inferencedata()
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"arviz before version 1.*arviz-stats, arviz-plots.*run\.to_datatree\(\)"):
        run.to_inferencedata()
