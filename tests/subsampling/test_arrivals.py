"""Which arrivals of the Poisson process count, which are kept, and what they weigh: by hand, number by number."""

import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.ratios.tuna import Arrivals, PoissonProduct, Process

SLOPES = np.array([0.5, -1.0, 2.0])
BOUNDS = 1.5 * np.abs(SLOPES)
HERE, THERE = 0.5, 2.5
CHI = 0.2
TOTAL, SIZE = BOUNDS.sum(), THERE - HERE
EXTRA = CHI * (TOTAL * SIZE) ** 2


@pytest.fixture(scope="module")
def minibatch():
    bound = ls.subsampling.Bound(lambda row: row["bound"], lambda position, candidate: jnp.abs(candidate - position))
    kernel = ls.tunamh(
        None, lambda theta, row: row["slope"] * theta, {"slope": SLOPES, "bound": BOUNDS}, bound,
        ls.RandomWalk(1.0), None, chi=CHI,
    )  # fmt: skip
    with double_precision():
        return canonical(kernel, "kernel").ratio.randomization


def process(end, keeps):
    """Rows 0, 1, 2 come: the first early, the second just before a time, the third just after it."""
    return Process(Arrivals(jnp.asarray([0.3, end - 0.4, 0.2]), jnp.arange(3), jnp.asarray(keeps)), None)


@pytest.mark.parametrize("kept", [(True, True), (True, False), (False, True)])
def test_rows_up_to_the_rate_weigh_if_they_are_kept(minibatch, kept):
    phi = (SLOPES * (HERE - THERE) + BOUNDS * SIZE) / 2
    back = (SLOPES * (THERE - HERE) + BOUNDS * SIZE) / 2
    chances = (EXTRA * BOUNDS + TOTAL * phi) / (EXTRA * BOUNDS + TOTAL * BOUNDS * SIZE)
    keeps = chances + np.where([*kept, True], -1e-6, 1e-6)
    weights = np.log(EXTRA * BOUNDS + TOTAL * back) - np.log(EXTRA * BOUNDS + TOTAL * phi)
    with double_precision():
        noise, here, there = process(EXTRA + TOTAL * SIZE, keeps), jnp.asarray(HERE), jnp.asarray(THERE)
        found = minibatch.log_weight(minibatch.sample(noise, here, there), here, there)
    assert float(found) == pytest.approx(np.sum(weights[:2] * kept), abs=1e-12)


def test_the_weight_of_other_positions_is_that_of_the_rows_that_were_kept(minibatch):
    """The rows stay those of the pair at which they were drawn; the weight of the way back is the inverse."""
    with double_precision():
        noise, here, there = process(EXTRA + TOTAL * SIZE, [1.0, 0.0, 0.0]), jnp.asarray(HERE), jnp.asarray(THERE)
        x = minibatch.sample(noise, here, there)
        ahead, back = minibatch.log_weight(x, here, there), minibatch.log_weight(x, there, here)
    assert float(ahead) == pytest.approx(-float(back), abs=1e-12) and abs(float(ahead)) > 0.01


def test_the_poisson_product_is_over_the_rows_up_to_its_rate(minibatch):
    rate = 2 * TOTAL * SIZE
    factors = 1 + TOTAL * SLOPES * SIZE / (BOUNDS * rate)
    with double_precision():
        found = PoissonProduct(minibatch, jnp.asarray(HERE))(process(rate, np.zeros(3)), jnp.asarray(THERE))
    assert float(found) == pytest.approx(np.log(factors[:2]).sum(), abs=1e-12)


def test_noise_of_gaps_rows_and_keeps_has_keys_of_its_own(minibatch):
    import jax.random as jr

    with double_precision():
        noise = minibatch.noise(jr.key(3), jnp.zeros(()), (2000,))
        gaps, rows, keeps = (np.asarray(one) for one in noise.first)
    assert gaps.mean() == pytest.approx(1, abs=0.05) and keeps.mean() == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(np.bincount(rows.ravel()) / rows.size, BOUNDS / TOTAL, atol=0.02)
    uniform = -np.expm1(-gaps)
    correlations = np.corrcoef([one.ravel() for one in (uniform, rows, keeps)])
    assert np.abs(correlations - np.eye(3)).max() < 5 / np.sqrt(rows.size)
    assert len(np.unique(jr.key_data(noise.key), axis=0)) == 2000
