"""Does a random graph model fit? Graphs drawn from the posterior against the one observed."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.arguments import MOST_SEED, whole
from lockstep.core.foreign import attribute
from lockstep.core.precision import double_precision
from lockstep.core.sampled import Sampled
from lockstep.models.ergm import ERGM


class Panel(NamedTuple):
    """One property of graphs: its values, and how many nodes, ties or pairs have each of them.

    ``at`` are the values (a distance of infinity is that of pairs without a path), ``observed`` the numbers in the
    graph under study, ``simulated`` those of the simulated graphs, a row each.
    """

    name: str
    of: str
    at: np.ndarray
    observed: np.ndarray
    simulated: np.ndarray

    @property
    def p_values(self) -> np.ndarray:
        """For each value, twice the share of simulated graphs that are as far out as the observed one, at most 1."""
        below = np.mean(self.simulated <= self.observed, axis=0)
        above = np.mean(self.simulated >= self.observed, axis=0)
        return np.minimum(1, 2 * np.minimum(below, above))


class GoodnessOfFit(NamedTuple):
    """The panels of a comparison, ready to print (`table`) and to draw (`figure`)."""

    panels: tuple[Panel, ...]
    title: str

    @property
    def table(self) -> Any:
        """A data frame: a row for each value, with the range of simulated numbers and p-values."""
        import pandas

        rows = [
            (panel.name, at, observed, simulated.min(), simulated.mean(), simulated.max(), p)
            for panel in self.panels
            for at, observed, simulated, p in zip(
                panel.at, panel.observed, panel.simulated.T, panel.p_values, strict=True
            )
        ]
        columns = ["property", "value", "observed", "least", "mean", "most", "p"]
        return pandas.DataFrame(rows, columns=columns).set_index(["property", "value"])

    def __repr__(self) -> str:
        return f"{self.title}\n{self.table.round(2).to_string()}"

    def figure(self) -> Any:
        """A figure with a panel for each property: bands of the simulated graphs, and the observed one."""
        from lockstep.models.goodness_figure import drawn

        return drawn(self)


def goodness_of_fit(model: ERGM, run: Sampled, simulations: int = 100, seed: int = 0) -> GoodnessOfFit:
    """Graphs simulated at draws from the posterior, against the observed one, in what the model was not told.

    Degrees, edgewise shared partners and distances (with a direction: out- and in-degrees), and the statistics of the
    model itself. A model fits where the observed numbers lie well within the simulated ones. Missing ties are taken
    from a draw of the run.

    Parameters
    ----------
    model
        An `ERGM` with a graph.
    run
        A run for its posterior, or an array of parameters, a row each.
    simulations
        How many graphs to simulate.
    seed
        Of the choice of draws and of the simulations.

    Examples
    --------
    >>> import networkx, numpy as np, lockstep as ls
    >>> model = ls.models.ERGM(["edges"], networkx.florentine_families_graph(), toggles=1_000)
    >>> fit = ls.models.goodness_of_fit(model, np.array([[-1.5], [-1.4]]), simulations=20)
    >>> [panel.name for panel in fit.panels]
    ['degree', 'edgewise shared partners', 'distance', 'statistic of the model']

    References
    ----------
    Hunter, Goodreau and Handcock (2008), Journal of the American Statistical Association 103.
    """
    if not isinstance(model, ERGM) or model.data is None:
        raise TypeError(f"model of goodness_of_fit is {model!r}; it must be an ERGM with a graph, ERGM(terms, graph)")
    simulations = whole(simulations, "simulations of goodness_of_fit", 2)
    thetas, missing = _draws(model, run)
    seed = whole(seed, "seed of goodness_of_fit", 0, MOST_SEED)
    chosen = np.random.default_rng(seed).integers(len(thetas), size=simulations)
    with double_precision():
        keys = jax.random.split(jax.random.key(seed), simulations)
        simulate = jax.jit(jax.vmap(model.simulate))
        simulated = np.asarray(simulate(keys, jax.numpy.asarray(thetas[chosen])))
    observed = model.data
    if model.missing is not None and missing is not None:
        observed = np.asarray(model.missing.completed(missing[chosen[0]]))
    graphs = [np.asarray(observed), *simulated]
    panels = [_panel(name, of, [count(x) for x in graphs], first) for name, of, count, first in _properties(model)]
    statistics = np.array([model.statistic(x) for x in graphs])
    own = Panel("statistic of the model", "", np.array(model.names), statistics[0], statistics[1:])
    return GoodnessOfFit((*panels, own), f"{model!r}: the observed graph and {simulations} simulated ones")


def _draws(model: ERGM, run: Sampled) -> tuple[np.ndarray, np.ndarray | None]:
    """Parameters, a row each, and ties in place of missing ones."""
    positions, missing = attribute(run, "positions", run), None
    if isinstance(positions, dict) and model.missing is not None and {"theta", "missing"} <= set(positions):
        missing = np.asarray(positions["missing"]).reshape(-1, len(model.missing.pairs))
        positions = positions["theta"]
    if isinstance(positions, dict) and set(positions) == set(model.names):
        positions = np.stack([np.asarray(positions[name]) for name in model.names], axis=-1)
    try:
        thetas = np.asarray(positions, float)
    except (TypeError, ValueError):
        thetas = np.zeros(0)
    if thetas.ndim < 2 or thetas.shape[-1] != len(model.terms) or not thetas.size or not np.all(np.isfinite(thetas)):
        raise TypeError(
            f"run of goodness_of_fit is {run!r}; it must be a run for the posterior of {model!r}, or an array of "
            f"parameters, a row of {len(model.terms)} each"
        )
    if model.missing is not None and missing is None:
        raise TypeError("run of goodness_of_fit has no missing ties, but the graph has; give one of model.posterior")
    return thetas.reshape(-1, len(model.terms)), missing


def _properties(model: ERGM) -> list[Any]:
    if model.is_directed:
        degrees = [("out-degree", "nodes", out_degrees, 0), ("in-degree", "nodes", in_degrees, 0)]
    else:
        degrees = [("degree", "nodes", out_degrees, 0)]
    partners = partial(shared_partners, is_directed=model.is_directed)
    apart = partial(distances, is_directed=model.is_directed)
    return [*degrees, ("edgewise shared partners", "ties", partners, 0), ("distance", "pairs", apart, 1)]


def _panel(name: str, of: str, counted: list[np.ndarray], first: int) -> Panel:
    """Numbers of graphs side by side, without the values that no graph has; distances end with infinity."""
    ends = [counts[-1:] for counts in counted] if name == "distance" else [counts[:0] for counts in counted]
    counted = [counts[:-1] if name == "distance" else counts for counts in counted]
    last = max(int(np.flatnonzero(counts).max(initial=-1)) for counts in counted) + 1
    padded = [np.pad(counts, (0, max(0, last - len(counts))))[:last] for counts in counted]
    rows = np.array([np.concatenate([some, end]) for some, end in zip(padded, ends, strict=True)], float)
    at = np.arange(first, first + last, dtype=float)
    at = np.append(at, np.inf) if name == "distance" else at
    return Panel(name, of, at, rows[0], rows[1:])


def out_degrees(x: np.ndarray) -> np.ndarray:
    """How many nodes have 0, 1, … ties (that leave them)."""
    return np.bincount(x.sum(axis=1).astype(int))


def in_degrees(x: np.ndarray) -> np.ndarray:
    """How many nodes have 0, 1, … ties that enter them."""
    return np.bincount(x.sum(axis=0).astype(int))


def shared_partners(x: np.ndarray, is_directed: bool) -> np.ndarray:
    """How many ties have 0, 1, … shared partners."""
    from scipy.sparse import csr_array

    sparse = csr_array(x.astype(np.int64))
    shared = (sparse @ sparse).multiply(sparse)
    counts = np.bincount(np.asarray(shared.tocsr().data, int), minlength=1)
    counts[0] = sparse.nnz - counts[1:].sum()
    return counts if is_directed else counts // 2


def distances(x: np.ndarray, is_directed: bool) -> np.ndarray:
    """How many pairs are at distance 1, 2, …; the last number is of pairs that no path joins."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    lengths = shortest_path(csr_array(x.astype(float)), directed=is_directed, unweighted=True)
    lengths = lengths[~np.eye(len(x), dtype=bool)]
    joined = np.bincount(lengths[np.isfinite(lengths)].astype(int), minlength=2)[1:]
    counts = np.append(joined, np.sum(~np.isfinite(lengths)))
    return counts if is_directed else counts // 2
