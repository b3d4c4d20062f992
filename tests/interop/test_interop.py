"""Models from NumPyro and PyMC: their log densities are those tools' own, and what cannot be split is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import constrain_fn, potential_energy

import lockstep as ls
from lockstep.core.precision import double_precision

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(300, 2))
Y = X @ np.array([2.0, -1.0]) + 0.5 * GENERATOR.normal(size=300)


def regression(x, y=None, prior_scale=10.0):
    slope = numpyro.sample("slope", dist.Normal(0.0, prior_scale).expand([2]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    share = numpyro.sample("share", dist.Dirichlet(jnp.ones(3)))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ slope + 0.1 * share[0], sigma), obs=y)


def test_numpyro_models_split_into_prior_and_rows():
    target = ls.interop.numpyro(regression, X, y=Y, prior_scale=3.0)
    assert {name: value.shape for name, value in target.initial.items()} == {"slope": (2,), "sigma": (), "share": (2,)}
    position = {"slope": np.array([1.0, 2.0]), "sigma": np.array(0.3), "share": np.array([0.2, -0.5])}
    with double_precision():
        position = jax.tree.map(jnp.asarray, position)
        rows = jax.jit(jax.vmap(target.log_likelihood, in_axes=(None, 0)))(position, target.data.arrays)
        ours = float(jax.jit(target.log_prior)(position)) + np.sum(rows)
        options = {"y": jnp.asarray(Y), "prior_scale": 3.0}
        theirs = -float(potential_energy(regression, (jnp.asarray(X),), options, position))
        assert ours == pytest.approx(theirs, abs=1e-8)
        theirs = constrain_fn(numpyro.handlers.seed(regression, 0), (jnp.asarray(X),), options, position)
    many = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (2, 5, *leaf.shape)), position)
    constrained = target.constrain(many)
    for name in ("slope", "sigma", "share"):
        np.testing.assert_allclose(constrained[name][1, 4], theirs[name], rtol=1e-12)


@pytest.mark.study
def test_runs_of_numpyro_models_show_values_by_name():
    def line(x, y=None):
        slope = numpyro.sample("slope", dist.Normal(0.0, 3.0))
        sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
        with numpyro.plate("rows", x.shape[0]):
            numpyro.sample("y", dist.Normal(x * slope, sigma), obs=y)

    target = ls.interop.numpyro(line, X[:, 0], y=Y)
    run = ls.sample(ls.subsampled(target), target.initial, draws=30, chains=2, seed=1)
    assert set(run.positions) == {"slope", "sigma"} and run.positions["sigma"].min() > 0
    np.testing.assert_allclose(run.positions["sigma"], np.exp(run.walked["sigma"]), rtol=1e-12)
    assert set(run.summary().table.index) == {"slope", "sigma"}
    np.testing.assert_array_equal(run.to_datatree().posterior["sigma"], run.positions["sigma"])


def no_plate(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(x[:, 0] * slope, 1.0), obs=y)


def fixed_plate(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", 1):
        numpyro.sample("y", dist.Normal(slope, 1.0), obs=y)


def parameter_a_row(x, y=None):
    with numpyro.plate("rows", x.shape[0]):
        local = numpyro.sample("local", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(local, 1.0), obs=y)


def discrete(x, y=None):
    which = numpyro.sample("which", dist.Bernoulli(0.5))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", dist.Normal(which, 1.0), obs=y)


def unobserved(x):
    numpyro.sample("slope", dist.Normal(0.0, 1.0))


@pytest.mark.parametrize(
    "model, options, message",
    [
        (no_plate, {"y": Y}, "observed site 'y' is in no plate"),
        (fixed_plate, {"y": Y}, "observed site 'y' is in no plate"),
        (parameter_a_row, {"y": Y}, "'local' is in the plate over the data"),
        (discrete, {"y": Y}, "'which' is discrete"),
        (unobserved, {}, "observes nothing"),
    ],
)
def test_models_that_cannot_be_subsampled_are_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        ls.interop.numpyro(model, X, **options)


def test_a_model_without_data_is_refused():
    with pytest.raises(ValueError, match="no argument of the model is an array"):
        ls.interop.numpyro(regression, 3)


def test_pymc_models():
    pymc = pytest.importorskip("pymc")
    with pymc.Model() as model:
        slope = pymc.Normal("slope", 0.0, 3.0, shape=2)
        sigma = pymc.HalfNormal("sigma", 2.0)
        pymc.Deterministic("variance", sigma**2)
        pymc.Normal("y", X @ slope, sigma, observed=Y)
    before = jax.config.jax_enable_x64
    target = ls.interop.pymc(model)
    assert jax.config.jax_enable_x64 == before
    position = {name: value + 0.3 for name, value in target.initial.items()}
    with double_precision():
        ours = float(target.log_density(jax.tree.map(jnp.asarray, position)))
    assert ours == pytest.approx(float(model.compile_logp(mode="FAST_COMPILE")(position)), abs=1e-8)
    many = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (2, 5, *np.shape(leaf))), position)
    constrained = target.constrain(many)
    assert set(constrained) == {"slope", "sigma", "variance"}
    np.testing.assert_allclose(constrained["sigma"], np.exp(many["sigma_log__"]))
    np.testing.assert_allclose(constrained["variance"], constrained["sigma"] ** 2)
    # RUNS show the parameters and deterministics by name, wherever they are shown.
    run = ls.sample(ls.standard(target.log_density, ls.RandomWalk(0.05)), target.initial, draws=20, chains=2)
    assert set(run.summary().table.index) == {"slope[0]", "slope[1]", "sigma", "variance"}
    np.testing.assert_allclose(run.to_datatree().posterior["sigma"], np.exp(run.walked["sigma_log__"]))


def test_discrete_pymc_models_are_refused():
    pymc = pytest.importorskip("pymc")
    with pymc.Model() as model:
        pymc.Poisson("count", 3.0)
    with pytest.raises(ValueError, match=r"\['count'\] are discrete"):
        ls.interop.pymc(model)
