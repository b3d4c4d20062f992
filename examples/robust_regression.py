"""Robust regression (Student t errors) with 200,000 rows: approximate by subsampling, and exact by TunaMH."""

import jax.numpy as jnp
import numpy as np

import lockstep as ls

ROWS, DEGREES, SCALE = 200_000, 4.0, 1.0
TRUTH = np.array([1.0, -0.5, 0.25])


def simulated(seed=0):
    """A straight line with heavy-tailed errors and some gross outliers."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(ROWS, len(TRUTH)))
    y = x @ TRUTH + SCALE * generator.standard_t(DEGREES, ROWS)
    y[:: ROWS // 100] += 50.0
    return {"x": x, "y": y}


def log_likelihood(theta, row):
    """Of one row: a t law with known degrees of freedom and scale."""
    u = (row["y"] - jnp.dot(row["x"], theta)) / SCALE
    return -0.5 * (DEGREES + 1) * jnp.log1p(u**2 / DEGREES)


def main():
    data = simulated()
    approximate = ls.sample(ls.subsampled(log_likelihood, data), np.zeros(3), draws=5000, chains=4)
    bound = ls.subsampling.robust(lambda row: row["x"], DEGREES, SCALE)
    exact = ls.sample(ls.tunamh(log_likelihood, data, bound), np.zeros(3), draws=5000, chains=4)
    print(exact.summary())
    print("difference of the posterior means in standard deviations:")
    difference = approximate.positions.mean(axis=(0, 1)) - exact.positions.mean(axis=(0, 1))
    print(np.round(difference / exact.positions.std(axis=(0, 1)), 3))


if __name__ == "__main__":
    main()
