"""A linear normal model: filters against Kalman's answers, and posteriors against those on a grid."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen
from linear_normal import THETA, grid_posterior, kalman, log_prior, look_ahead, model, propose

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.state_space.estimate import ParticleEstimate
from lockstep.state_space.filter import require_filter
from lockstep.state_space.series import series

DATA = model().simulate(jr.key(1), THETA, times=100).data


def estimates(made, count=400, seed=2):
    """Log likelihood estimates of a filter."""
    with double_precision():
        theta = jax.tree.map(jnp.asarray, THETA)

        def one(key):
            return made(made.noise(key), theta)[0].log_likelihood

        return np.asarray(jax.jit(jax.vmap(one))(jr.split(jr.key(seed), count)))


FILTERS = {
    "bootstrap": ({}, {}),
    "multinomial": ({}, {"scheme": "multinomial"}),
    "threshold": ({}, {"threshold": 0.5}),
    "sorted": ({}, {"is_sorted": True}),
    "guided": ({"propose": propose}, {}),
    "auxiliary": ({"look_ahead": look_ahead, "propose": propose}, {"threshold": 0.7}),
}


# The others are counted out in test_unbiased_filters.
@pytest.mark.parametrize("kind", chosen(FILTERS, {"threshold", "auxiliary"}))
def test_likelihood_estimates_have_the_mean_of_kalman(kind):
    more, options = FILTERS[kind]
    data, times = DATA[:12].copy(), np.array([0, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 13])
    data[5] = np.nan
    arguments = {"scheme": "systematic", "threshold": 1.0, "is_sorted": False, **options}
    found = estimates(require_filter(model(**more), series(data, times), 30, **arguments))
    ratios = np.exp(found - kalman(data, *THETA.values(), times)[0])
    assert abs(ratios.mean() - 1) < 3 * ratios.std() / np.sqrt(len(ratios))
    assert ratios.std() < 1


def test_a_better_proposal_makes_estimates_less_noisy():
    plan = series(DATA[:12])
    spreads = [
        estimates(require_filter(model(**more), plan, 30, "systematic", 1.0, False)).std()
        for more, _ in (FILTERS["bootstrap"], FILTERS["auxiliary"])
    ]
    assert spreads[1] < 0.7 * spreads[0]


def test_filtered_means_and_quantiles():
    found = model().filter(jr.key(3), THETA, DATA[:20], particles=4_000, quantiles=(0.1, 0.9), paths=200)
    _, means, variances = kalman(DATA[:20], *THETA.values())
    errors = np.sqrt(variances / found.effective)
    assert np.all(np.abs(found.means - means) < 5 * errors)
    spread = 1.2815515655446004 * np.sqrt(variances)
    assert np.all(np.abs(found.quantiles - np.stack([means - spread, means + spread], axis=1)) < 10 * errors[:, None])
    assert np.isclose(found.increments.sum(), found.log_likelihood)
    # The ends of paths are draws from the last filtering distribution.
    assert found.paths.shape == (200, 20)
    assert abs(found.paths[:, -1].mean() - means[-1]) < 5 * np.sqrt(variances[-1] / 200)


def test_correlated_noise_gives_correlated_estimates():
    """At equal parameters the log ratio is less noisy: T = 100, 30 particles."""
    made = require_filter(model(), series(DATA), 30, "systematic", 1.0, True)
    correlated, independent = spreads_of_ratio(made, (0.99, 0.0))
    assert correlated < 0.5 * independent


@pytest.mark.study
@pytest.mark.optimized
def test_correlated_noise_in_a_long_series():
    made = require_filter(model(), series(np.resize(DATA, 1000)), 50, "systematic", 1.0, True)
    correlated, independent = spreads_of_ratio(made, (0.99, 0.0), 400)
    ratio = correlated / independent
    print(f"standard deviation of the log ratio, correlated / uncorrelated: {ratio:.3f}")
    assert ratio < 1 / 3


def spreads_of_ratio(made, correlations, count=100):
    """The standard deviation of the log ratio at equal parameters, for each correlation."""
    with double_precision():
        theta = jax.tree.map(jnp.asarray, THETA)

        def one(key, correlation):
            first, fresh = made.noise(key), made.noise(jr.fold_in(key, 1))
            root = jnp.sqrt(1 - correlation**2)
            second = jax.tree.map(lambda old, new: correlation * old + root * new, first, fresh)
            return made(second, theta)[0].log_likelihood - made(first, theta)[0].log_likelihood

        ratios, keys = jax.jit(jax.vmap(one, in_axes=(0, None))), jr.split(jr.key(4), count)
        return [float(np.std(np.asarray(ratios(keys, correlation)))) for correlation in correlations]


KERNELS = {
    "marginal": lambda: ls.particle_marginal(
        log_prior, model(), DATA, ls.RandomWalk({"phi": 0.1, "log_sigma": 0.4}), 400
    ),
    "correlated": lambda: ls.particle_marginal(
        log_prior, model(), DATA, ls.RandomWalk({"phi": 0.1, "log_sigma": 0.4}), 50, correlation=0.98
    ),
    "gibbs": lambda: ls.particle_gibbs(
        log_prior,
        model(),
        DATA,
        lambda log_density: ls.Cycle([ls.standard(log_density, ls.RandomWalk({"phi": 0.1, "log_sigma": 0.15}))] * 4),
        20,
    ),
}


@pytest.mark.study
@pytest.mark.optimized
@pytest.mark.parametrize("kind", KERNELS)
def test_posterior_is_that_of_kalman(kind):
    run = ls.sample(KERNELS[kind](), THETA, draws=4_000, chains=8, seed=5, warmup=500)
    table = run.summary().table
    for name, (mean, spread) in grid_posterior(DATA).items():
        row = table.loc[name]
        print(f"{kind}: {name} {row['mean']:.4f} ± {row['mcse_mean']:.4f}, exact {mean:.4f}")
        print(f"{kind}: sd of {name} {row['sd']:.4f} ± {row['mcse_sd']:.4f}, exact {spread:.4f}")
        assert abs(row["mean"] - mean) < 3 * row["mcse_mean"]
        assert abs(row["sd"] - spread) < 3 * row["mcse_sd"]


def test_estimates_in_a_kernel_are_those_of_the_filter():
    """A kernel's evaluation is the prior plus the filter's estimate, and minus infinity outside of the prior."""
    made = require_filter(model(), series(DATA[:6]), 10, "systematic", 1.0, False)
    with double_precision():
        theta = jax.tree.map(jnp.asarray, THETA)
        key = jr.key(7)
        estimate = ParticleEstimate(log_prior, made)
        expected = log_prior(theta) + jax.jit(lambda key: made(made.noise(key), theta)[0].log_likelihood)(key)
        compiled = jax.jit(estimate)
        assert np.isclose(compiled(key, theta), expected, rtol=1e-12)
        assert compiled(key, {"phi": jnp.asarray(1.5), "log_sigma": jnp.asarray(0.0)}) == -np.inf
