"""Influenza in a boarding school, 763 boys: a posterior from simulations alone."""

import numpy as np
from jax import random
from scipy import stats

import lockstep as ls

in_bed = np.log(1 + np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4]))


def simulate(noise, beta, gamma, spread):
    well, ill, seen = 760.0, 3.0, []
    for day in range(14):
        p, q, z = 1 - np.exp(-beta * ill / 763), 1 - np.exp(-gamma), noise[..., day, :]
        new = np.clip(well * p + np.sqrt(well * p * (1 - p)) * z[..., 0], 0, well)
        gone = np.clip(ill * q + np.sqrt(ill * q * (1 - q)) * z[..., 1], 0, ill)
        well, ill = well - new, ill + new - gone
        seen.append(np.log(1 + ill) + spread * z[..., 2])
    return np.stack(seen, axis=-1)[..., ::2]


simulate = ls.blackbox(simulate, vectorized=True)
synthetic = ls.synthetic_likelihood(simulate, None, in_bed[::2], 100, draw=lambda k, m: random.normal(k, (m, 14, 3)))
parameters = ls.Parameters(beta=stats.gamma(2), gamma=stats.gamma(2, scale=0.5), spread=stats.expon(scale=0.3))
kernel = parameters.posterior(ls.corrected(synthetic, ls.RandomWalk(0.1)))
run = ls.sample(kernel, {"beta": 2.0, "gamma": 0.5, "spread": 0.2}, draws=500, warmup=500, adapt=True, seed=1)
