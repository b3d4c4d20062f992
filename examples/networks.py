"""Two classical networks as exponential random graphs: the posterior by exchange, and whether the model fits.

python examples/networks.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import goodness_of_fit
import jax
import jax.numpy as jnp
import networkx
import numpy as np

import lockstep as ls


def florentine() -> networkx.Graph:
    """The marriages among 16 families of Florence; networkx leaves out the Pucci, who had none with the others."""
    graph = networkx.florentine_families_graph()
    graph.add_node("Pucci")
    return graph


def log_prior(theta):
    return -0.5 * jnp.sum((theta / 5) ** 2)


def posterior(model, start, scale, draws=200, chains=16) -> ls.Run:
    """A short run learns the shape of the posterior, for the proposals of a longer one."""
    start = np.array(start)
    common = (log_prior, model.log_likelihood, model.simulate, model.data)
    pilot = ls.sample(ls.exchange(*common, ls.RandomWalk(scale)), start, draws=150, chains=chains, warmup=50, seed=1)
    flat = pilot.positions.reshape(-1, len(start))
    factor = np.linalg.cholesky(np.cov(flat.T)) * 2.0 / np.sqrt(len(start))
    kernel = ls.exchange(*common, ls.RandomWalk(factor))
    return ls.sample(kernel, flat.mean(axis=0), draws=draws, chains=chains, warmup=100, seed=2)


def report(name, model, run, folder: Path, simulations: int = 200) -> dict[str, tuple[float, float]]:
    flat = run.positions.reshape(-1, len(model.terms))
    print(f"{name}: {model}, acceptance {run.info.is_accepted.mean():.2f}")
    found = {}
    for term, column, means in zip(model.terms, flat.T, run.positions.mean(axis=1).T, strict=True):
        found[term.name] = (column.mean(), column.std())
        error = means.std(ddof=1) / np.sqrt(len(means))
        print(f"  {term.name:16s} mean {column.mean():7.3f} ± {error:.3f}, standard deviation {column.std():.3f}")
    chosen = flat[np.random.default_rng(0).integers(len(flat), size=simulations)]
    keys = jax.random.split(jax.random.key(3), simulations)
    simulated = np.asarray(jax.vmap(model.simulate)(keys, jnp.asarray(chosen)))
    title = f"{name}: graphs drawn from the posterior, and the one observed"
    figure, inside = goodness_of_fit.plot(np.asarray(model.data), simulated, title)
    print("  within the 90 % bands:", ", ".join(f"{what} {share:.0%}" for what, share in inside.items()))
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name.split()[0].lower()}.png", dpi=130)
    return found


def main(folder: Path) -> None:
    marriages = ls.models.ERGM(["edges", "stars(2)", "triangles"], florentine())
    report("Florentine marriages", marriages, posterior(marriages, [-1.6, 0.0, 0.1], [0.4, 0.08, 0.3]), folder)
    terms = ["edges", "gwesp(0.2)", "gwdegree(0.8)", "homophily(club)"]
    karate = ls.models.ERGM(terms, networkx.karate_club_graph(), toggles=15_000)
    report("Karate club", karate, posterior(karate, [-4.0, 0.8, 0.5, 1.0], [0.15, 0.1, 0.3, 0.15]), folder)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/examples"))
