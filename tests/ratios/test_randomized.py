"""Randomized ratios: the auxiliary x and the base draw from keys of their own."""

import jax.random as jr
import numpy as np

import lockstep as ls
from lockstep.core.precision import double_precision


def test_x_and_the_base_draw_independently():
    """Both draw a normal number from their key: over one key the two would be equal."""
    base = ls.pseudo_marginal(lambda noise, theta: noise - theta**2, ls.RandomWalk(1.0), draw=jr.normal).ratio
    randomization = ls.Density(
        lambda noise, position, candidate: noise, lambda x, position, candidate: -(x**2) / 2, draw=jr.normal
    )
    ratio = ls.Randomized(base, randomization)
    with double_precision():
        for shape in ((), (4096,)):
            of_base, of_x = (np.asarray(noise) for noise in ratio.noise(jr.key(1), 0.0, shape))
            assert of_base.shape == of_x.shape == shape
            assert not np.intersect1d(of_base, of_x).size
    assert abs(np.corrcoef(of_base, of_x)[0, 1]) < 5 / 64
