"""Surrogates from pilot runs: a quadratic is found where there is one, without one more evaluation."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.surrogates.quadratic import _concave
from lockstep.surrogates.replay import replayed

PRECISION = np.array([[2.0, 0.6], [0.6, 1.0]])
CENTRE = np.array([1.0, -30.0])


def log_normal(theta):
    z = theta - CENTRE
    return -0.5 * z @ jnp.asarray(PRECISION) @ z


def exact(theta):
    """The same in double precision, outside of a run."""
    return -0.5 * np.einsum("...i,ij,...j", theta - CENTRE, PRECISION, theta - CENTRE)


def pilot(proposal, log_density=log_normal, start=CENTRE, **options):
    return ls.sample(
        ls.standard(log_density, proposal), start, **({"draws": 150, "chains": 2, "seed": 2, "warmup": 37} | options)
    )


def curvature_of(found):
    return -found.curvature / np.outer(found.scale, found.scale)


@pytest.mark.parametrize(
    "proposal",
    [
        pytest.param(ls.RandomWalk(1.0), id="symmetric", marks=pytest.mark.study),
        pytest.param(ls.IndependentNormal(CENTRE, 2.0), id="independence", marks=pytest.mark.study),
        pytest.param(ls.CrankNicolson(CENTRE, np.eye(2), 0.7), id="Crank–Nicolson"),
    ],
)
def test_a_normal_density_is_found_whatever_was_proposed(proposal):
    found = ls.surrogates.quadratic(pilot(proposal), ridge=1e-9)
    np.testing.assert_allclose(curvature_of(found), PRECISION, rtol=1e-6)
    points = CENTRE + np.random.default_rng(0).normal(size=(10, 2)) / 2
    values = np.array([found(point) - found(CENTRE) for point in points])
    np.testing.assert_allclose(values, exact(points), atol=1e-6)
    assert found.spread < 1e-6


def test_nothing_is_evaluated_anew():
    calls = []

    def dear(theta):
        calls.append(1)
        return -0.5 * float(theta @ theta)

    run = pilot(ls.RandomWalk(1.5), ls.blackbox(dear), np.zeros(2))
    count = len(calls)
    found = ls.surrogates.quadratic(run, ridge=1e-9)
    assert len(calls) == count
    np.testing.assert_allclose(curvature_of(found), np.eye(2), atol=1e-6)
    assert isinstance(found(np.zeros(2)), np.float64)  # on NumPy, without compiled code


@pytest.mark.parametrize("options", [{}, {"warmup": 64}, {"warmup": 0}, {"adapt": True, "warmup": 130}])
def test_candidates_are_made_again_from_the_noise(options):
    run = pilot(ls.RandomWalk(1.0), **options)
    seen = replayed(run)
    is_accepted = run.info.is_accepted[:, 1:].ravel()
    moved = run.positions[:, 1:].reshape(-1, 2)
    np.testing.assert_allclose(seen.candidates[is_accepted], moved[is_accepted], rtol=1e-12)
    assert np.all(np.any(seen.candidates[~is_accepted] != moved[~is_accepted], axis=1))
    np.testing.assert_allclose(seen.differences, exact(seen.candidates) - exact(seen.positions), atol=1e-9)


def test_noise_is_averaged_and_structures_are_kept():
    """The exchange algorithm on a normal mean: D is known but for the noise of the simulated data."""
    data = np.array([0.3, 1.2, -0.4, 0.5])
    kernel = ls.exchange(
        lambda theta: 0.0 * theta["mean"],
        lambda theta, x: -0.5 * jnp.sum((x - theta["mean"]) ** 2),
        lambda key, theta: theta["mean"] + jr.normal(key, (4,)),
        data,
        ls.RandomWalk(0.7),
    )
    start = {"mean": np.array(0.4)}
    run = ls.sample(kernel, start, draws=2000, chains=4, seed=0)
    found = ls.surrogates.quadratic(run)
    assert curvature_of(found)[0, 0] == pytest.approx(4.0, rel=0.1)
    assert found.spread > 0.3
    again = ls.sample(ls.screened(kernel, found), start, draws=200, chains=2, seed=1)
    assert again.positions["mean"].std() > 0.3


def test_it_is_flat_where_the_density_is_not_concave_and_below_what_the_pilot_saw():
    def log_density(theta):
        return -0.5 * theta[0] ** 2 + jnp.logaddexp(-0.5 * (theta[1] - 3) ** 2, -0.5 * (theta[1] + 3) ** 2)

    run = pilot(ls.RandomWalk([1.0, 4.0]), log_density, np.array([0.0, 3.0]), draws=600)
    assert np.any(run.positions[..., 1] < 0) and np.any(run.positions[..., 1] > 0)
    found = ls.surrogates.quadratic(run)
    assert np.linalg.eigvalsh(found.curvature).max() <= 1e-12
    lowest = min(found(point) for point in run.positions.reshape(-1, 2))
    assert found(np.array([1e6, 0.0])) == pytest.approx(lowest) == found.floor


def test_directions_that_are_not_curved_down_are_left_flat():
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    linear, curvature = _concave(turned @ np.array([1.0, 2.0, 3.0, 4.0]), turned * [-2.0, -0.01, 0.0, 0.5] @ turned.T)
    np.testing.assert_allclose(linear, turned[:, 0], atol=1e-12)
    np.testing.assert_allclose(curvature, -2.0 * np.outer(turned[:, 0], turned[:, 0]), atol=1e-12)


def test_what_is_no_pilot_run_is_refused():
    with pytest.raises(TypeError, match=r"must be what ls\.sample"):
        ls.surrogates.quadratic(log_normal)
    run = pilot(ls.RandomWalk(1.0))
    with pytest.raises(ValueError, match="take thin=1"):
        ls.surrogates.quadratic(dataclasses.replace(run, thin=2))
    with pytest.raises(ValueError, match="loaded from disk"):
        ls.surrogates.quadratic(dataclasses.replace(run, kernel=None))
    with pytest.raises(ValueError, match="cannot be made again"):
        ls.surrogates.quadratic(dataclasses.replace(run, seed=3))
    with pytest.raises(ValueError, match="too few for the 9 coefficients"):
        few = dataclasses.replace(
            run,
            walked=run.walked[:, :8],
            info=run.info._replace(is_accepted=run.info.is_accepted[:, :8], log_ratio=run.info.log_ratio[:, :8]),
        )
        ls.surrogates.quadratic(few)
    with pytest.raises(ValueError, match="never moved"):
        ls.surrogates.quadratic(pilot(ls.Component(0, ls.RandomWalk(1.0)), start=CENTRE))
    kernel = ls.screened(ls.standard(log_normal, ls.RandomWalk(1.0)), log_normal)
    with pytest.raises(TypeError, match="not screened yet"):
        ls.surrogates.quadratic(ls.sample(kernel, CENTRE, draws=50, chains=2))
    with pytest.raises(ValueError, match="ridge of quadratic is -1"):
        ls.surrogates.quadratic(run, ridge=-1)
    discrete = ls.sample(ls.standard(lambda state: 0.0 * state, ls.Finite(np.full((3, 3), 1 / 3))), 0, draws=60)
    with pytest.raises(TypeError, match="floating-point"):
        ls.surrogates.quadratic(discrete)


def test_named_parameters_are_screened_where_their_chains_walk():
    calls = []

    def log_likelihood(rate):
        calls.append(rate)
        return 12 * float(np.log(rate)) - 4 * float(rate)

    posterior = ls.Parameters(rate=ls.positive).posterior
    kernel = posterior(ls.standard(ls.blackbox(log_likelihood), ls.RandomWalk(1.5)))
    pilot = ls.sample(kernel, {"rate": 3.0}, draws=300, chains=2, seed=1)
    screened = ls.screened(kernel, ls.surrogates.quadratic(pilot))
    calls.clear()
    run = ls.sample(screened, {"rate": 3.0}, draws=3000, chains=2, seed=2)
    assert len(calls) < 3000  # of 6,000 candidates
    # Of this density, rate^12 exp(-4 rate) on the rates themselves, a gamma law: 13/4.
    assert abs(run.positions["rate"].mean() - 13 / 4) < 0.15
