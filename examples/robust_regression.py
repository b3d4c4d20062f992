"""Robust regression (Student t errors) with 200,000 rows: approximate by subsampling, and exact by TunaMH.

python examples/robust_regression.py [folder]
"""

import figures
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
    approximate = ls.sample(ls.subsampled(None, log_likelihood, data), np.zeros(3), draws=5000, chains=4)
    bound = ls.subsampling.robust(lambda row: row["x"], DEGREES, SCALE)
    exact = ls.sample(ls.tunamh(None, log_likelihood, data, bound), np.zeros(3), draws=5000, chains=4, seed=1)
    print(exact.summary())
    print("difference of the posterior means in standard deviations:")
    difference = approximate.positions.mean(axis=(0, 1)) - exact.positions.mean(axis=(0, 1))
    print(np.round(difference / exact.positions.std(axis=(0, 1)), 3))

    figure, axes = figures.panels(1, len(TRUTH), (9.0, 3.2))
    for i, one in enumerate(axes):
        for run, colour, name in ((exact, figures.BLACK, "TunaMH, exact"), (approximate, figures.ORANGE, "subsampled")):
            one.hist(run.positions[:, :, i].ravel(), 60, density=True, histtype="step", color=colour, label=name)
        one.axvline(TRUTH[i], color="#999999", linestyle=":")
        one.set(xlabel=f"coefficient {i + 1}", yticks=[])
    axes[0].set(ylabel="posterior density")
    axes[0].legend(frameon=False, loc="upper left", fontsize=8)
    axes[0].set_ylim(top=1.3 * axes[0].get_ylim()[1])
    figures.save(figure, "robust_regression")


if __name__ == "__main__":
    main()
