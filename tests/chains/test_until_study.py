"""Stopping when the error is small does not spoil the mean or its interval."""

import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats

import lockstep as ls
from lockstep.chains.until import Look

pytestmark = [pytest.mark.study, pytest.mark.optimized]  # which takes long: compiled as users' programs are

RUNS, CHAINS, DRAWS = 1000, 4, 4096


def log_normal(theta):
    return -0.5 * jnp.sum(theta**2)


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_means_at_the_stopping_time_are_unbiased_and_covered(share):
    """1,000 runs of a normal target; each group of four chains is a run of its own, and is judged by itself."""
    starts = np.random.default_rng(1).normal(size=(RUNS * CHAINS, 1))
    kernel, until = ls.standard(log_normal, ls.RandomWalk(2.4)), ls.until.error(share)
    run = ls.sample(kernel, ls.Starts(starts), draws=DRAWS, chains=RUNS * CHAINS, seed=1)
    scores, stops = [], []
    for values in run.positions[..., 0].reshape(RUNS, CHAINS, DRAWS):
        draws = 0
        while True:
            draws = until.next_look(draws)
            if until.judge(Look(values[:, :draws], draws, 0.0, {})).is_enough:
                break
        scores.append(values[:, :draws].mean() / array_stats.mcse(values[:, :draws], method="mean"))
        stops.append(draws)
    covered = np.mean(np.abs(scores) < 1.959964)
    numbers, counts = np.unique(stops, return_counts=True)
    print(f"\nuntil.error({share}): stops {dict(zip(numbers.tolist(), counts.tolist(), strict=True))}")
    print(f"  mean {np.mean(scores):+.3f} Monte Carlo errors (its own error 0.032), 95 % intervals cover {covered:.1%}")
    assert len(numbers) > 1  # the stopping time is random
    assert abs(np.mean(scores)) < 0.1
    assert 0.93 <= covered <= 0.97
