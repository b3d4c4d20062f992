"""Bounds of convergence where the distance is known, and the warm-up that they give."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.separation.summary import mean_and_error
from lockstep.studies.nicholls2012.model import log_density as log_mixture


def log_normal(theta):
    return -0.5 * jnp.sum(theta**2)


KERNEL = ls.standard(log_normal, ls.RandomWalk(2.0))


def start(key):
    return 6 + jr.normal(key, (1,))


def test_a_coupled_warmup_is_what_the_pairs_say(tmp_path):
    run = ls.sample(KERNEL, start, draws=50, chains=2, seed=3, warmup="coupled", directory=tmp_path / "run")
    assert 5 < run.warmup < 200
    again = ls.sample(KERNEL, start, draws=50, chains=2, seed=3, warmup="coupled", directory=tmp_path / "run")
    assert again.warmup == run.warmup and np.array_equal(again.positions, run.positions)
    by_hand = ls.sample(KERNEL, start, draws=50, chains=2, seed=3, warmup=run.warmup)
    assert np.array_equal(by_hand.positions, run.positions)
    assert ls.load(tmp_path / "run").warmup == run.warmup


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"warmup": "long"}, "must be a whole number, at least 0, or"),
        ({"warmup": "coupled", "adapt": True}, "adapt in a run of its own"),
    ],
)
def test_a_warmup_that_cannot_be_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        ls.sample(KERNEL, start, draws=10, **options)


def test_modes_that_starts_do_not_reach_are_spoken_of_and_modes_that_they_reach_are_noticed():
    def log_two_modes(theta):
        return jnp.sum(jnp.logaddexp(-0.5 * (theta - 20) ** 2, -0.5 * (theta + 20) ** 2))

    kernel = ls.standard(log_two_modes, ls.RandomWalk(1.0))

    def at_one(key):
        return 20 + jr.normal(key, (1,))

    assert "no pair comes to is not seen" in repr(ls.convergence(kernel, at_one, pairs=16, lag=20, seed=1))
    assert "no pair comes to is not seen" in repr(ls.unbiased(kernel, at_one, pairs=16, lag=20, start=20, end=40))
    with pytest.raises(RuntimeError, match="have not met within most=500"):
        ls.convergence(kernel, lambda key: 20 * jr.rademacher(key, (1,)) + jr.normal(key, (1,)), seed=1, most=500)


COMMAND = "pytest -m study tests/lagged/test_convergence.py"


# --- studies ----------------------------------------------------------------------------------------------------------
def distances_on_a_grid(updates, scale=0.5, begin=10.0, reach=16.0, step=0.02):
    """Total variation to N(0, 1) of the walk from a point, after 0, 1, … updates, by a fine grid."""
    x = np.arange(-reach, reach + step / 2, step)
    width = int(6 * scale / step)
    steps = stats.norm.pdf(step * np.arange(-width, width + 1), scale=scale)
    steps /= steps.sum()
    target = np.exp(-0.5 * x**2)
    target /= target.sum()
    log_pi = -0.5 * x**2
    law = np.zeros_like(x)
    law[np.argmin(np.abs(x - begin))] = 1.0
    shifts = np.arange(-width, width + 1)
    index = np.arange(len(x))[:, None] + shifts
    inside = (index >= 0) & (index < len(x))
    index = index.clip(0, len(x) - 1)
    accept = np.where(inside, np.exp(np.minimum(0, log_pi[index] - log_pi[:, None])), 0.0) * steps
    stay = 1 - accept.sum(axis=1)
    found = []
    for _ in range(updates + 1):
        found.append(np.abs(law - target).sum() / 2)
        moved = np.zeros_like(law)
        np.add.at(moved, index.ravel(), (law[:, None] * accept).ravel())
        law = moved + law * stay
    return np.array(found)


@pytest.mark.study
def test_the_example_of_biswas_jacob_and_vanetti(field_book):
    """N(0, 1) from 10, steps of sd 0.5, lag 150: the bound is above the distance, and within a factor of 2 of it."""
    kernel = ls.standard(log_normal, ls.RandomWalk(0.5))
    pairs = ls.convergence(kernel, np.array([10.0]), pairs=4096, lag=150, seed=1)
    exact = distances_on_a_grid(400)
    times = np.flatnonzero(exact > 0.01)
    bound = pairs.total_variation(times)
    ratio = bound.bound / exact[times]
    print(f"\nbound over distance: {ratio.min():.3f} to {ratio.max():.3f} for t up to {times[-1]}")
    print(f"TV < 0.01 after {times[-1] + 1} updates, by the bound {pairs.updates_until(0.01)}")
    assert np.all(bound.high >= exact[times]) and ratio.max() < 2
    source = (
        "N. Biswas, P. E. Jacob and P. Vanetti (2019), Estimating convergence of Markov chains with L-lag couplings, "
        "NeurIPS 32, 7389–7399, figure 1 (the settings as in the authors' script standard_normal_RWMH.R), which has "
        "curves and no numbers; the distance itself, which their bound is above, by a fine grid. Ours is the bound."
    )
    for t in (40, 70, 100):
        at = pairs.total_variation(t)
        field_book.enter(
            "Convergence: bounds from lagged pairs",
            f"N(0, 1) from 10, steps of 0.5, lag 150: total variation after {t} updates",
            (exact[t], 0.0),
            (at.bound, (at.high - at.bound) / 1.96),
            source,
            COMMAND,
            is_bound=True,
        )


DATA = np.array([0.8, -0.3, 1.9, 1.1, 0.4])
TRUE_MEAN, TRUE_SD = DATA.sum() / (len(DATA) + 1 / 4), (len(DATA) + 1 / 4) ** -0.5


def log_prior(theta):
    return -0.5 * theta**2 / 4


def log_likelihood(theta, x):
    return -0.5 * jnp.sum((x - theta) ** 2)


def log_estimate(z, theta):
    """The normal likelihood as an average over a latent variable of variance ½, by 32 samples."""
    parts = -((DATA[:, None] - theta - np.sqrt(0.5) * z) ** 2)
    return log_prior(theta) + jnp.sum(jnp.log(jnp.mean(jnp.exp(parts), axis=1)))


@pytest.mark.study
@pytest.mark.parametrize("name", ["pseudo-marginal", "exchange"])
def test_a_normal_model_with_a_known_posterior(name):
    walk = ls.RandomWalk(1.0)
    kernel = {
        "pseudo-marginal": ls.pseudo_marginal(log_estimate, walk, draw=lambda key: jr.normal(key, (len(DATA), 32))),
        "exchange": ls.exchange(
            log_prior, log_likelihood, lambda key, theta: theta + jr.normal(key, (len(DATA),)), DATA, walk
        ),
    }[name]
    found = ls.unbiased(kernel, lambda key: 2 * jr.normal(key), pairs=512, seed=4)
    print(f"\n{name}: {found}\nexact {TRUE_MEAN:.4f}, sd {TRUE_SD:.4f}")
    assert found.standard_error <= TRUE_SD / 30
    assert abs(found.estimate - TRUE_MEAN) < 3 * found.standard_error


def log_normalizer_of_a_torus(theta, side):
    """Kaufman's formula for the Ising model on a square torus without a field (1949)."""
    k = np.arange(2 * side)
    gamma = np.arccosh(np.maximum(np.cosh(2 * theta) / np.tanh(2 * theta) - np.cos(np.pi * k / side), 1.0))
    gamma[0] = 2 * theta + np.log(np.tanh(theta))
    values = [2 * f(side * gamma[which::2] / 2) for which in (1, 0) for f in (np.cosh, np.sinh)]
    logs, signs = np.array([np.log(np.abs(v)).sum() for v in values]), np.array([np.prod(np.sign(v)) for v in values])
    whole = logs.max() + np.log(signs @ np.exp(logs - logs.max()))
    return side**2 / 2 * np.log(2 * np.sinh(2 * theta)) + whole - np.log(2)


@pytest.mark.study
def test_an_ising_lattice_with_perfect_draws(field_book):
    """A torus of 32 × 32: the exchange algorithm against a grid of parameters with the known constant."""
    small = ls.models.Ising((6, 6), periodic=True)
    assert log_normalizer_of_a_torus(0.3, 6) == pytest.approx(float(small.log_normalizer(0.3)), abs=1e-10)
    side, low, high = 32, 0.15, 0.42
    model = ls.models.Ising((side, side), periodic=True)
    with double_precision():
        data = np.asarray(model.simulate(jr.key(3), 0.3))
    grid = np.linspace(low, high, 2001)
    log_posterior = np.array([t * float(model.statistic(data)) - log_normalizer_of_a_torus(t, side) for t in grid])
    weights = np.exp(log_posterior - log_posterior.max())
    weights /= weights.sum()
    mean = weights @ grid
    spread = np.sqrt(weights @ (grid - mean) ** 2)

    def log_uniform(theta):
        return jnp.where((theta > low) & (theta < high), 0.0, -jnp.inf)

    kernel = ls.exchange(log_uniform, model.log_likelihood, model.simulate, data, ls.RandomWalk(2 * spread))
    found = ls.unbiased(
        kernel, lambda key: jr.uniform(key, minval=0.25, maxval=0.35), pairs=64, lag=20, start=20, end=80, seed=5
    )
    print(f"\n{found}\nby the grid {mean:.5f}, sd {spread:.5f}")
    assert found.standard_error < spread / 10
    source = (
        "B. Kaufman (1949), Crystal statistics II, Physical Review 76, 1232–1243: the normalizing constant of a finite "
        "torus, with which the posterior is computed on a grid; ours by the exchange algorithm, without it."
    )
    quantity = "Ising, torus of 32 × 32 drawn at θ = 0.3: posterior mean of θ, by unbiased pairs of exchange chains"
    ours = found.estimate, found.standard_error
    assert abs(field_book.enter("Lattices: unknown constants", quantity, (mean, 0.0), ours, source, COMMAND)) < 3


@pytest.mark.study
def test_pairs_are_nearly_as_good_as_one_long_chain():
    """Variance times cost within 1.5 of a long chain's, on the mixture of the paper with steps of sd 4."""
    kernel = ls.standard(log_mixture, ls.RandomWalk(4.0))
    found = ls.unbiased(kernel, lambda key: 4.5 + 3 * jr.normal(key, (2,)), pairs=1024, seed=6)
    print(f"\n{found}\nvariance × cost over a long chain's: {1 / found.efficiency}")
    assert np.all(np.abs(found.estimate - 4.5) < 4 * found.standard_error)
    assert np.all(found.efficiency > 1 / 1.5)
    # A long chain by itself says the same of its variance.
    long = ls.sample(kernel, np.full(2, 4.5), draws=50_000, chains=4, seed=7, warmup=1000).positions
    for i in range(2):
        _, error = mean_and_error(long[:, :, i])
        ratio = found.values[:, i].var(ddof=1) * found.updates / found.pairs / (error**2 * long[:, :, i].size)
        print(f"against a long chain: {ratio:.3f}")
        assert ratio < 1.5
