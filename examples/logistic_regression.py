"""Logistic regression with a million rows (or ten: ``--rows 10_000_000``), a handful of them at each update."""

import argparse
import time

import jax.numpy as jnp
import numpy as np

import lockstep as ls

DIMENSION = 10


def simulated(rows, seed=0):
    """Covariates in single precision, the first one an intercept, and outcomes."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((rows, DIMENSION), np.float32)
    x[:, 0] = 1.0
    truth = np.linspace(-1.0, 1.0, DIMENSION)
    return {"x": x, "y": generator.uniform(size=rows) < 1 / (1 + np.exp(-x @ truth))}, truth


def log_likelihood(theta, row):
    """Of one row."""
    logit = jnp.dot(row["x"], theta)
    return row["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2) / 100


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    data, truth = simulated(rows)

    began = time.perf_counter()
    kernel = ls.subsampled(log_prior, log_likelihood, data, initial=np.zeros(DIMENSION), progress=True)
    print(f"mode, approximation and settings: {time.perf_counter() - began:.1f} s")
    print(f"{kernel.ratio.estimator.count} of {rows:,} rows an update; proposal {type(kernel.proposal).__name__}")

    run = ls.sample(kernel, kernel.proposal.mean, draws=20_000, chains=8, progress=True)
    print(run.summary())
    print("distance from the truth in standard deviations:")
    print(np.round((run.positions.mean(axis=(0, 1)) - truth) / run.positions.std(axis=(0, 1)), 1))


if __name__ == "__main__":
    main()
