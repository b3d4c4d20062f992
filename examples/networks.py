"""Two classical networks as exponential random graphs: the posterior by exchange, and whether the model fits.

python examples/networks.py [folder]
"""

from __future__ import annotations

import figures
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


def posterior(model, scale, draws=200, chains=16) -> ls.Run:
    """A short run learns the shape of the posterior, for the proposals of a longer one."""
    pilot_kernel = model.posterior(log_prior, ls.RandomWalk(scale))
    pilot = ls.sample(pilot_kernel, model.initial(), draws=150, chains=chains, warmup=50, seed=1)
    flat = pilot.positions.reshape(-1, len(model.terms))
    factor = np.linalg.cholesky(np.cov(flat.T)) * 2.0 / np.sqrt(len(model.terms))
    kernel = model.posterior(log_prior, ls.RandomWalk(factor))
    return ls.sample(kernel, flat.mean(axis=0), draws=draws, chains=chains, warmup=100, seed=2)


def report(name, model, run, simulations: int = 200) -> dict[str, tuple[float, float]]:
    flat = run.positions.reshape(-1, len(model.terms))
    print(f"{name}: {model}, {model.mixing.toggles:,} toggles a draw, acceptance {run.info.is_accepted.mean():.2f}")
    found = {}
    for term, column, means in zip(model.names, flat.T, run.positions.mean(axis=1).T, strict=True):
        found[term] = (column.mean(), column.std())
        error = means.std(ddof=1) / np.sqrt(len(means))
        print(f"  {term:16s} mean {column.mean():7.3f} ± {error:.3f}, standard deviation {column.std():.3f}")
    fit = ls.models.goodness_of_fit(model, run, simulations)
    for panel in fit.panels:
        far = np.mean(panel.p_values < 0.1)
        print(f"  {panel.name}: {far:.0%} of the observed numbers are outside of 90 % of the simulated ones")
    figures.save(fit.figure(), name.split()[0].lower())
    return found


def main() -> None:
    marriages = ls.models.ERGM(["edges", "stars(2)", "triangles"], florentine())
    report("Florentine marriages", marriages, posterior(marriages, [0.4, 0.08, 0.3]))
    terms = ["edges", "gwesp(0.2)", "gwdegree(0.8)", "nodematch(club)"]
    karate = ls.models.ERGM(terms, networkx.karate_club_graph())
    report("Karate club", karate, posterior(karate, [0.15, 0.1, 0.3, 0.15]))


if __name__ == "__main__":
    main()
