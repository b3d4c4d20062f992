"""The paper's section 5: separation times, shares and moments against independently computed numbers."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import special, stats

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.studies import nicholls2012 as study
from lockstep.studies.nicholls2012.estimators import gamma_from_normal, log_gamma_quantile
from lockstep.studies.nicholls2012.model import density_of_sum, difference

pytestmark = pytest.mark.optimized

# Computed by quadrature and quasi-Monte Carlo, by a program of its own; (value, standard error).
RHO = {
    ("naive", "random walk"): {8: (72.19, 0.09), 32: (295.8, 0.4), 128: (1188.6, 1.9)},
    ("naive", "independence"): {8: (32.74, 0.02), 32: (132.3, 0.1), 128: (530.0, 0.5)},
    ("penalty_estimate", "random walk"): {8: (552.3, 0.8), 32: (4460, 7)},
    ("penalty_estimate", "independence"): {8: (246.3, 0.2), 32: (1988, 2)},
}
MEAN_GAP = {"random walk": {8: 0.023011, 32: 0.010444}, "independence": {8: 0.050901, 32: 0.023379}}
SLOPES = {"naive": (1.0, 0.02), "penalty_estimate": (1.5, 0.02), "standard": (0.52, 0.02)}


def slow_unless(is_quick, *values):
    """A case that only the studies run, unless it is quick; the test of `lockstep paper` looks at both proposals."""
    return pytest.param(*values, marks=() if is_quick else pytest.mark.study)


PROPOSALS = [slow_unless(proposal == "random walk", proposal) for proposal in study.PROPOSALS]


@functools.cache
def separation(pair, proposal, m):
    return study.separation(proposal, m, pair, updates=30_000, chains=64, seed=1)


@pytest.mark.parametrize(("pair", "proposal"), [slow_unless(case == ("naive", "random walk"), *case) for case in RHO])
def test_return_times(pair, proposal):
    for m, (truth, error) in RHO[pair, proposal].items():
        found = separation(pair, proposal, m)
        assert found.rho_1 == pytest.approx(truth, abs=3 * np.hypot(found.rho_1_se, error)), m
        assert found.rho_1 == pytest.approx(truth, rel=0.02), m
        assert found.rho_1_se < 0.007 * truth
        if found.marks > 100:
            assert found.rho_2 == pytest.approx(truth, abs=4 * found.rho_2_se)
            assert found.rho_1_se < found.rho_2_se


@pytest.mark.parametrize(
    "proposal",
    [pytest.param(name, marks=pytest.mark.study if name == "random walk" else ()) for name in study.PROPOSALS],
)
def test_naive_against_standard(proposal):
    for m, truth in MEAN_GAP[proposal].items():
        found = separation("standard", proposal, m)
        assert 1 / found.rho_1 == pytest.approx(truth, abs=3 * found.rho_1_se / found.rho_1**2)
        assert 1 / found.rho_1 == pytest.approx(truth, rel=0.02)


@pytest.mark.study
@pytest.mark.parametrize("proposal", study.PROPOSALS)
@pytest.mark.parametrize("pair", SLOPES)
def test_slopes(pair, proposal):
    counts = np.array([16, 32, 64, 128, 256])
    log_rho = np.log([separation(pair, proposal, int(m)).rho_1 for m in counts])
    slope, tolerance = SLOPES[pair]
    assert np.polyfit(np.log(counts), log_rho, 1)[0] == pytest.approx(slope, abs=tolerance)


@pytest.mark.study
def test_identical_states_and_first_passages():
    found = separation("naive", "independence", 8)
    assert found.identical_fraction == pytest.approx(0.898, abs=0.005)
    assert found.tau / found.rho_1 == pytest.approx(1.0017, abs=4 * found.tau_se / found.rho_1)
    walk = separation("naive", "random walk", 8)
    assert walk.tau / walk.rho_1 == pytest.approx(1.0022, abs=4 * walk.tau_se / walk.rho_1)
    assert found.bound_slack > 0 and walk.bound_slack > 0
    assert np.isnan(walk.identical_fraction)


@pytest.mark.parametrize(("m", "factor"), [(8, 8), slow_unless(False, 256, 280)])
def test_the_gaps_tell_more_than_the_marks(m, factor):
    """The paper says so; measured before: 8 times less variance at m = 8, 280 times at m = 256."""
    found = separation("naive", "random walk", m)
    assert (found.rho_2_se / found.rho_1_se) ** 2 == pytest.approx(factor, rel=0.5)


def test_marks_are_one_sided():
    """The naive kernel accepts wherever the penalty method does."""
    exact, approximate = study.coupled_pair("random walk", 8)
    run = ls.sample(ls.Shadowed(exact, approximate), study.draw_target, draws=4000, chains=4, seed=2)
    assert np.all(run.info.approximate.is_accepted[run.info.exact.is_accepted])


@pytest.mark.parametrize(
    ("proposal", "m", "mean", "variance"),
    [
        ("random walk", 8, 8.9945, 11.324),
        slow_unless(False, "random walk", 32, 8.999, 11.067),
        slow_unless(False, "independence", 8, 9.0311, 10.842),
        slow_unless(False, "independence", 32, 9.0085, 10.959),
    ],
)
def test_equilibrium_of_the_naive_chain(proposal, m, mean, variance):
    kernel = ls.naive(study.InverseGamma.of(m), study.PROPOSALS[proposal])
    run = ls.sample(kernel, study.draw_target, draws=30_000, chains=64, seed=4, warmup=200)
    total = run.positions.sum(axis=-1)
    for values, truth in ((total, mean), ((total - mean) ** 2, variance)):
        chain_means = values.mean(axis=1)
        error = chain_means.std(ddof=1) / np.sqrt(64)
        assert chain_means.mean() == pytest.approx(truth, abs=4 * error)
        assert error < 0.012 * truth


def test_another_proposal():
    """Uniform steps on [-6, 6]² fit the paper as well, says an independent computation."""
    found = study.separation(ls.UniformWalk(6.0), 8, updates=5_000, chains=64)
    assert found.rho_1 == pytest.approx(72, rel=0.1)


# --- the model --------------------------------------------------------------------------------------------------------
def test_the_target_is_what_is_drawn():
    with double_precision():
        draws = np.asarray(jax.vmap(study.draw_target)(jr.split(jr.key(0), 40_000)))
        theta = jnp.array([2.5, 4.0])
        explicit = sum(
            0.5 * stats.multivariate_normal(m, c).pdf(np.asarray(theta))
            for m, c in (((3, 3), [[1, 0.5], [0.5, 1]]), ((6, 6), [[1, -0.5], [-0.5, 1]]))
        )
        other = jnp.array([5.0, 5.5])
        explicit_other = sum(
            0.5 * stats.multivariate_normal(m, c).pdf(np.asarray(other))
            for m, c in (((3, 3), [[1, 0.5], [0.5, 1]]), ((6, 6), [[1, -0.5], [-0.5, 1]]))
        )
        assert float(difference(theta, other)) == pytest.approx(np.log(explicit_other / explicit), abs=1e-12)
    grid = np.linspace(-9, 27, 20_001)
    density = density_of_sum(grid)
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-9)
    assert np.trapezoid(density * (grid - 9) ** 2, grid) == pytest.approx(11, abs=1e-6)
    cdf = np.cumsum(density) * (grid[1] - grid[0])
    assert stats.kstest(draws.sum(axis=1), lambda s: np.interp(s, grid, cdf)).pvalue > 1e-6


@pytest.mark.parametrize("shape", [3.5, 8.0, 31.5, 256.0])
def test_gamma_variables_from_normal_ones(shape):
    z = np.linspace(-6, 6, 1001)
    with double_precision():
        found = np.asarray(gamma_from_normal(jnp.asarray(log_gamma_quantile(shape)), jnp.asarray(z)))
    truth = np.where(z < 0, special.gammaincinv(shape, special.ndtr(z)), special.gammainccinv(shape, special.ndtr(-z)))
    assert np.allclose(found, truth, rtol=1e-9, atol=0)


def test_sufficient_statistics_agree_with_samples():
    """The study's estimator and the library's own, from real samples: one law of estimates and of scores."""
    m = 8
    by_samples = ls.estimators.smooth(
        None, lambda average, position, candidate: -1 + 1 / average, m, draw=lambda key, n: jr.exponential(key, (n,))
    )
    with double_precision():
        theta, key = jnp.zeros(2), jr.key(3)
        fast = study.InverseGamma.of(m)
        values = np.asarray(fast.noise(key, theta, (50_000,))[1])
        noise = by_samples.noise(jr.key(4), theta, (50_000,))
        other = np.asarray(jax.vmap(lambda n: by_samples(n, theta, theta).value)(noise))
        score = np.asarray(study.NormalScore.of(m).noise(key, theta, (50_000,))) * np.sqrt(m)
        estimate = fast((0.0, values.mean()), theta, theta)
    assert stats.ks_2samp(values, other).pvalue > 1e-6
    # G_m(D̂) = P(Gamma(m) ≥ ΣW), with ΣW = m/(D̂ + 1): the score of the very same draw.
    assert np.allclose(special.ndtri(special.gammaincc(m, m / (values + 1))), score, atol=1e-7)
    assert float(estimate.bias) == pytest.approx(1 / 7)
    assert values.mean() == pytest.approx(1 / 7, abs=5 * values.std() / np.sqrt(len(values)))
    assert values.var() == pytest.approx(64 / (49 * 6), rel=0.1)


def test_the_normal_mean_has_an_independent_chi_square_variance():
    with double_precision():
        z, variance = (np.asarray(v) for v in study.NormalMean.of(8).noise(jr.key(1), jnp.zeros(2), (40_000,)))
    assert stats.kstest(z * np.sqrt(8), "norm").pvalue > 1e-6
    assert stats.kstest(variance * 8 * 7, stats.chi2(7).cdf).pvalue > 1e-6
    assert abs(stats.spearmanr(z, variance).statistic) < 5 / np.sqrt(40_000)


def test_bad_arguments():
    with pytest.raises(ValueError, match="random walk"):
        study.separation("walk", 8)
    with pytest.raises(ValueError, match="penalty_estimate"):
        study.separation("random walk", 8, pair="exchange")
    with pytest.raises(ValueError, match="m is 1"):
        study.separation("random walk", 1)
