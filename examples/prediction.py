"""Predicted separation against the exact coupling, on the paper's example; makes a figure of docs/prediction.md.

The prediction knows nothing of D or of the law of the noise; the exact coupling knows both.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax.random as jr
from matplotlib.figure import Figure

import lockstep as ls
from lockstep.studies.nicholls2012 import separation
from lockstep.studies.nicholls2012.model import RANDOM_WALK, difference, draw_target

COUNTS = (8, 32, 128)
# Separation along the path and least separation of any coupling, for the corrected rule: quadrature.
REFERENCE = {8: (127, 605), 32: (620, 4506), 128: (2658, 34900)}


def inverse_gamma(m):
    """D - 1 + 1/average of m exponential variables."""
    return ls.estimators.smooth(
        None,
        lambda average, position, candidate: difference(position, candidate) - 1 + 1 / average,
        m,
        draw=lambda key, count: jr.exponential(key, (count,)),
    )


def predictions():
    """Predictions from ordinary naive runs, by number of samples."""
    found = {}
    for m in COUNTS:
        run = ls.sample(ls.naive(inverse_gamma(m), RANDOM_WALK), draw_target, draws=20_000, chains=4, seed=1)
        found[m] = ls.separation.predict(run)
        print(f"m = {m}: {found[m].sentence()}")
    return found


def draw_predictions(found, path):
    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    axes = figure.subplots()
    exact = {m: separation("random walk", m, updates=5_000, chains=32) for m in COUNTS}
    axes.plot(COUNTS, [exact[m].rho_1 for m in COUNTS], "-", color="#D55E00", label="naive, exact coupling")
    for rule, colour, label in (("naive", "#D55E00", "naive"), ("corrected", "#009E73", "corrected, along the path")):
        rho, error = zip(*((found[m][rule].rho, 2 * found[m][rule].rho_se) for m in COUNTS), strict=True)
        axes.errorbar(COUNTS, rho, error, fmt="o", color=colour, capsize=3, label=f"{label}, predicted")
    axes.plot(list(REFERENCE), [path for path, _ in REFERENCE.values()], "--", color="#009E73", label="quadrature")
    least = [found[m]["corrected"].least_rho for m in COUNTS]
    axes.plot(COUNTS, least, "^", color="#0072B2", label="corrected, least of any coupling, predicted")
    axes.plot(list(REFERENCE), [value for _, value in REFERENCE.values()], "--", color="#0072B2")
    axes.set(xscale="log", yscale="log", xlabel="samples in an estimate, m", ylabel="updates between separations, ρ")
    axes.set_xticks(COUNTS, [str(m) for m in COUNTS])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def main(directory="."):
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    draw_predictions(predictions(), directory / "prediction.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
