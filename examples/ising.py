"""The attraction of an Ising lattice from one picture of it: five algorithms beside the exact answer.

The normalising constant of the lattice can be had by a determinant, so that everything can be compared.

    python examples/ising.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import lockstep as ls

GRID = np.linspace(0.0, 1.0, 501)
TRUTH = 0.35
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#E69F00", "#CC79A7")  # Okabe and Ito's palette


def log_prior(theta):
    return jnp.where((theta >= 0) & (theta <= 1), 0.0, -jnp.inf)


def exact_posterior(model, data) -> np.ndarray:
    """The posterior density on the grid."""
    with jax.enable_x64(True):
        log_density = jax.vmap(lambda t: model.log_likelihood(t, data) - model.log_normalizer(t))(jnp.asarray(GRID))
    log_density = np.asarray(log_density)
    weights = np.exp(log_density - log_density.max())
    return weights / np.trapezoid(weights, GRID)


def kernels(model, data):
    common = (log_prior, model.log_likelihood, model.simulate, data, ls.RandomWalk(0.2))
    return {
        "exchange, perfect draws": ls.exchange(*common),
        "bridged exchange, 4 bridges": ls.bridged_exchange(*common, bridges=4),
        "double MH, 1 sweep": ls.exchange(*common, inner=1),
        "double MH, 10 sweeps": ls.exchange(*common, inner=10),
        "averaged exchange, 8 data sets": ls.averaged_exchange(*common, count=8),
    }


def main(folder: Path, draws: int = 400, chains: int = 24) -> dict[str, tuple[float, float, float]]:
    model = ls.models.Ising((10, 10))
    data = model.simulate(jax.random.key(1), TRUTH)
    density = exact_posterior(model, data)
    mean = np.trapezoid(density * GRID, GRID)
    sd = np.sqrt(np.trapezoid(density * (GRID - mean) ** 2, GRID))
    print(f"S = {int(model.statistic(data))}; exact posterior: mean {mean:.4f}, standard deviation {sd:.4f}")
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(GRID, density, "k-", linewidth=2.5, label="exact")
    found = {}
    for name, kernel in kernels(model, data).items():
        run = ls.sample(kernel, TRUTH, draws=draws, chains=chains, warmup=50, seed=0)
        means = run.positions.mean(axis=1)
        error = means.std(ddof=1) / np.sqrt(chains)
        found[name] = (means.mean(), error, run.positions.std())
        rate = run.info.is_accepted.mean()
        print(f"{name:32s} mean {means.mean():.4f} ± {error:.4f}, sd {run.positions.std():.4f}, acceptance {rate:.2f}")
        heights, edges = np.histogram(run.positions, bins=50, range=(0, 0.8), density=True)
        style = "-" if kernel.exact_when else "--"
        colour = COLOURS[len(found) - 1]
        axes.plot((edges[1:] + edges[:-1]) / 2, heights, style, color=colour, linewidth=1.4, label=name)
    axes.set(xlabel="attraction θ", ylabel="posterior density", xlim=(0, 0.8))
    axes.legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "ising.png", dpi=130)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/examples"))
