"""A model for which a Taylor expansion at one mode is no control: the library says so, and is right all the same.

Each row is normal around θ or around -θ, with equal chances: θ and -θ are equally likely.

    python examples/taylor_fails.py [folder]
"""

import figures
import jax
import jax.numpy as jnp
import numpy as np

import lockstep as ls

ROWS = 300


def log_likelihood(theta, row):
    return jnp.logaddexp(-0.5 * (row - theta[0]) ** 2, -0.5 * (row + theta[0]) ** 2)


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2) / 25


GRID = np.linspace(-3, 3, 6001)


def quadrature(data):
    """The posterior density on the grid, by brute force."""
    every = jax.vmap(lambda theta: log_prior(theta) + jnp.sum(jax.vmap(log_likelihood, (None, 0))(theta, data)))
    values = np.asarray(every(jnp.asarray(GRID)[:, None]))
    density = np.exp(values - values.max())
    return density / np.trapezoid(density, GRID)


def main():
    generator = np.random.default_rng(0)
    data = 0.7 * generator.choice([-1, 1], ROWS) + generator.normal(size=ROWS)
    run = ls.sample(ls.subsampled(log_prior, log_likelihood, data), np.array([0.5]), draws=20_000, chains=4)
    theta = run.positions[:, :, 0]
    print(run.kernel)
    print(f"mean of |θ| {np.abs(theta).mean():.3f}, share of θ > 0 {np.mean(theta > 0):.3f}")
    density = quadrature(data)
    expected = [np.trapezoid(density * value, GRID) for value in (np.abs(GRID), GRID > 0)]
    print("quadrature: {:.3f}, {:.3f}".format(*expected))

    figure, axes = figures.panels(size=(7.0, 3.6))
    axes.hist(
        theta.ravel(), 120, range=(-1.5, 1.5), density=True, color=figures.BLUE, alpha=0.35, label="ls.subsampled"
    )
    axes.plot(GRID, density, color=figures.BLACK, label="quadrature")
    axes.set(xlabel="θ", ylabel="posterior density", xlim=(-1.5, 1.5))
    axes.legend(frameon=False)
    figures.save(figure, "taylor_fails")


if __name__ == "__main__":
    main()
