"""Adapted proposals: what they learn, that they are frozen, and that a repetition learns the same."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.chains.windows import lesson, windows_of
from lockstep.engine.block import Output
from lockstep.proposals.scales import normal_fit

SPREAD = np.array([0.02, 1.0, 6.0])


def log_density(theta):
    return -0.5 * jnp.sum((theta / SPREAD) ** 2)


def test_a_walk_learns_scale_and_covariance_and_repeats_itself():
    kernel = ls.standard(log_density, ls.RandomWalk(1.0))
    long, short = (
        ls.sample(kernel, np.zeros(3), draws=draws, chains=4, seed=5, warmup=2000, adapt=True) for draws in (1000, 50)
    )
    # Frozen before the first draw, from the seed alone: a shorter run is the beginning of a longer one.
    assert np.array_equal(long.positions[:, :50], short.positions)
    assert np.array_equal(long.kernel.proposal.scale, short.kernel.proposal.scale)
    assert long.warmup == 2000
    # The kernel of the run is the adapted one: it fits the target, far from where it began.
    factor = long.kernel.proposal.scale
    learned = np.sqrt(np.diag(factor @ factor.T)) / SPREAD
    assert np.all((learned > 0.5) & (learned < 4))
    assert 0.15 < long.acceptance < 0.5
    np.testing.assert_allclose(long.positions.std(axis=(0, 1)), SPREAD, rtol=0.25)
    # ... and run as it is, without adaptation, it gives draws of the same kind.
    with pytest.raises(ValueError, match=r"no proposal of .* can be adapted"):
        ls.sample(ls.standard(log_density, ls.IndependentNormal(0.0, 1.0)), np.zeros(3), adapt=True)


def test_every_kind_of_proposal_and_kernel_is_adapted():
    generator = np.random.default_rng(0)
    positions = generator.normal(size=(4, 500, 3)) * SPREAD
    walk = ls.RandomWalk(1.0).adapted(positions, 0.5)
    np.testing.assert_allclose(walk.scale, 0.5 * 2.38 / np.sqrt(3) * normal_fit(positions)[1])
    uniform = ls.UniformWalk(1.0).adapted(positions, 1.0)
    np.testing.assert_allclose(uniform.half_width / SPREAD, 2.38, rtol=0.1)
    steps = ls.CrankNicolson(0.0, 1.0).adapted(positions, 0.6)
    assert steps.step == pytest.approx(0.3)
    np.testing.assert_allclose(np.sqrt(np.sum(steps.scale**2, axis=1)), SPREAD, rtol=0.1)
    component = ls.Component(2, ls.RandomWalk(1.0)).adapted(positions, 1.0)
    assert component.proposal.scale[0, 0] == pytest.approx(2.38 * SPREAD[2], rel=0.1)
    named = ls.Component("b", ls.RandomWalk(1.0)).adapted({"a": positions[:, :, 0], "b": positions[:, :, 1]}, 1.0)
    assert named.proposal.scale[0, 0] == pytest.approx(2.38 * SPREAD[1], rel=0.1)


def test_chains_that_do_not_move_shrink_their_steps():
    still = np.zeros((4, 64, 3))
    assert np.array_equal(ls.RandomWalk(1.0).adapted(still, 0.3).scale, 0.3 * np.eye(3))
    assert np.array_equal(ls.UniformWalk([1.0, 2.0, 3.0]).adapted(still, 0.5).half_width, [0.5, 1.0, 1.5])


@pytest.mark.parametrize("shape", [(), (3,)])
def test_what_a_window_teaches(shape):
    """Its own acceptance, against what suits the dimension; and positions of the second half of what was seen."""
    windows = [(64 * number, 64) for number in range(8)]
    positions = np.arange(512.0).reshape(1, 512, *[1] * len(shape)) * np.ones((2, 512, *shape))
    is_accepted = np.zeros((2, 512), bool)
    is_accepted[:, 5 * 64 : 5 * 64 + 32] = True  # half of the sixth window
    output = Output(positions, ls.Info(is_accepted, np.zeros((2, 512)), np.ones((2, 512), bool)))
    target = {(): 0.44, (3,): 0.234 + 0.206 / 3}[shape]
    seen, log_step = lesson(output, windows, 5, 0.3)
    assert log_step == pytest.approx(0.3 + (0.5 - target) / 0.45 / np.sqrt(6))
    np.testing.assert_array_equal(seen, positions[:, 128:384])
    # The last quarter is for the scale alone, whose logarithm is bounded.
    seen, log_step = lesson(output, windows, 7, -7.9)
    np.testing.assert_array_equal(seen, positions[:, 128:384])
    assert log_step == -8.0


@pytest.mark.parametrize("warmup", [1, 63, 64, 1000, 12_345])
def test_windows_cover_the_warm_up(warmup):
    windows = windows_of(warmup)
    assert windows[0][0] == 0 and sum(steps for _, steps in windows) == warmup
    assert all(a + steps == b for (a, steps), (b, _) in itertools.pairwise(windows))
    assert all(start % 64 == 0 for start, _ in windows)
    # No last window is too short to tell an acceptance.
    assert len(windows) == 1 or windows[-1][1] >= windows[-2][1] - 64
