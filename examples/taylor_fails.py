"""A model for which a Taylor expansion at one mode is no control: the library says so, and is right all the same.

Each row is normal around θ or around -θ, with equal chances: θ and -θ are equally likely.
"""

import jax
import jax.numpy as jnp
import numpy as np

import lockstep as ls

ROWS = 300


def log_likelihood(theta, row):
    return jnp.logaddexp(-0.5 * (row - theta[0]) ** 2, -0.5 * (row + theta[0]) ** 2)


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2) / 25


def quadrature(data):
    """Mean of |θ| and of θ by brute force."""
    grid = jnp.linspace(-3, 3, 6001)[:, None]
    values = jax.vmap(lambda theta: log_prior(theta) + jnp.sum(jax.vmap(log_likelihood, (None, 0))(theta, data)))(grid)
    weights = jnp.exp(values - values.max())
    weights = weights / weights.sum()
    return float(weights @ jnp.abs(grid[:, 0])), float(weights @ (grid[:, 0] > 0))


def main():
    generator = np.random.default_rng(0)
    data = 0.7 * generator.choice([-1, 1], ROWS) + generator.normal(size=ROWS)
    run = ls.sample(ls.subsampled(log_likelihood, data, log_prior), np.array([0.5]), draws=20_000, chains=4)
    theta = run.positions[:, :, 0]
    print(run.kernel)
    print(f"mean of |θ| {np.abs(theta).mean():.3f}, share of θ > 0 {np.mean(theta > 0):.3f}")
    print("quadrature: {:.3f}, {:.3f}".format(*quadrature(data)))


if __name__ == "__main__":
    main()
