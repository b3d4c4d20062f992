"""The bound of the distance of two equilibria lies above the distance, and is 0 for one kernel twice."""

import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.separation.summary import mean_and_error


def shifted(mean, walk):
    return ls.standard(lambda theta: -0.5 * jnp.sum((theta - mean) ** 2), walk)


def test_the_bound_of_two_shifted_normal_laws():
    """W_p of N(0, 1) and N(0.2, 1) is 0.2 for every p."""
    walk = ls.RandomWalk(2.0)
    pair = ls.MaximallyCoupled(shifted(0.0, walk), shifted(0.2, walk))
    run = ls.sample(pair, jnp.zeros(1), draws=2000, chains=8, seed=1, warmup=100)
    for order in (1, 2):
        found = ls.separation.distance(run, order)
        assert found.bound + 3 * found.bound_se > 0.2 and found.bound < 1.5 and 0 < found.bound_se < 0.1
        powers = np.abs(run.positions.first - run.positions.second)[..., 0] ** order
        assert found.bound == pytest.approx(powers.mean() ** (1 / order), rel=1e-12)
        # The error of a root, by the slope of the root.
        mean, error = mean_and_error(powers)
        assert found.bound_se == pytest.approx(error * mean ** (1 / order - 1) / order, rel=1e-12)
    assert "at most" in str(found) and "order 2" in str(found)
    first, second = (leg.mean() for leg in run.positions)
    assert abs(first - second) <= ls.separation.distance(run).bound
    same = ls.sample(ls.Coupled(pair.first, pair.first), jnp.zeros(1), draws=100, chains=2, seed=1)
    assert ls.separation.distance(same).bound == 0
    with pytest.raises(ValueError, match="order is 0"):
        ls.separation.distance(run, 0)


def test_other_runs_are_refused():
    run = ls.sample(shifted(0.0, ls.RandomWalk(2.0)), np.zeros(1), draws=20, chains=2)
    with pytest.raises(TypeError, match="MaximallyCoupled"):
        ls.separation.distance(run)
