"""What the plots of a report show, as numbers: series cut down to what a page can hold, densities, ranks, marks."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from lockstep.core.sampled import Sampled
from lockstep.coupling.infos import Marked, kind_of
from lockstep.coupling.names import Component, components
from lockstep.engine.bad_ratios import infos

MOST_COMPONENTS = 24
MOST_POINTS = 600_000  # of all traces together
RANK_BINS = 20
DENSITY_POINTS = 96
DENSITY_DRAWS = 20_000
WINDOWS = 100
MOST_MARKS = 4000


def plots(run: Sampled) -> dict[str, Any]:
    """Everything that the page draws."""
    shown = components(run)[:MOST_COMPONENTS]
    points = MOST_POINTS // max(1, len(shown) * run.chains * len(shown[0].legs))
    return {
        "draws": run.draws,
        "chains": run.chains,
        "thin": run.thin,
        "kind": kind_of(run.info),
        "components": [_component(component, points) for component in shown],
        "acceptance": [_packed(_windows(leg.is_accepted, run.thin)) for leg in infos(run.info)],
        "separation": _separation(run),
    }


def _component(component: Component, points: int) -> dict[str, Any]:
    values = [np.asarray(leg, float) for leg in component.legs]
    width = max(1, math.ceil(2 * values[0].shape[1] / max(points, 200))) if values[0].shape[1] > points else 1
    return {
        "name": component.name,
        "width": width,
        "traces": [[_packed(_extremes(chain, width)) for chain in leg] for leg in values],
        "densities": [_densities(leg, is_discrete=component.legs[0].dtype.kind in "iub") for leg in values],
        "ranks": [_packed(chain) for chain in _ranks(values[0])],
    }


def _extremes(values: np.ndarray, width: int) -> np.ndarray:
    """The smallest and the largest of every ``width`` values, so that no excursion is lost."""
    if width == 1:
        return values
    padded = np.pad(values, (0, -len(values) % width), mode="edge").reshape(-1, width)
    return np.stack([padded.min(axis=1), padded.max(axis=1)], axis=1).ravel()


def _densities(values: np.ndarray, is_discrete: bool) -> dict[str, Any]:
    """A density for each chain on one grid; frequencies for whole numbers."""
    from arviz_stats.base import array_stats

    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    if is_discrete and high - low < 200:
        grid = np.arange(low, high + 1)
        curves = [np.array([np.mean(chain == x) for x in grid]) for chain in values]
        return {"is_discrete": True, "x": _packed(grid), "y": [_packed(curve) for curve in curves]}
    curves, grid = [], np.linspace(low, high, DENSITY_POINTS)
    for chain in values:
        some = chain[np.isfinite(chain)][:: max(1, len(chain) // DENSITY_DRAWS)]
        if some.size < 4 or np.ptp(some) == 0:
            curves.append(np.zeros(DENSITY_POINTS))
            continue
        x, y, _ = array_stats.kde(some)
        curves.append(np.interp(grid, x, y, left=0.0, right=0.0))
    return {"is_discrete": False, "x": _packed(grid), "y": [_packed(curve) for curve in curves]}


def _ranks(values: np.ndarray) -> np.ndarray:
    """For each chain, the share of its draws in each bin of the ranks among all chains."""
    order = np.argsort(np.argsort(values.ravel() + 0.0, kind="stable"), kind="stable").reshape(values.shape)
    bins = order * RANK_BINS // values.size
    return np.array([np.bincount(chain, minlength=RANK_BINS) / len(chain) for chain in bins])


def _windows(flags: np.ndarray, thin: int) -> np.ndarray:
    """The share of accepted candidates in consecutive windows, for each chain."""
    share = np.asarray(flags, float).reshape(*flags.shape[:2], -1).mean(axis=2) / thin
    edges = np.unique(np.linspace(0, share.shape[1], WINDOWS + 1).astype(int))
    return np.add.reduceat(share, edges[:-1], axis=1) / np.diff(edges)


def _separation(run: Sampled) -> dict[str, Any] | None:
    """Draws at which coupled chains separated and became equal again, and the expected number of separations so far."""
    if not isinstance(run.info, Marked):
        return None
    marks = np.asarray(run.info.marks, float)
    gaps = np.asarray(run.info.gaps, float)
    width = max(1, math.ceil(run.draws / 1000))
    every = np.minimum(np.arange(width - 1, run.draws + width - 1, width), run.draws - 1)
    found: dict[str, Any] = {
        "marks": [_where(chain) for chain in marks],
        "expected": [_packed(chain) for chain in np.cumsum(gaps, axis=1)[:, every]],
        "counted": [_packed(chain) for chain in np.cumsum(marks, axis=1)[:, every]],
        "width": width,
    }
    if run.info.is_equal is not None:
        is_equal = np.asarray(run.info.is_equal, float) >= run.thin
        begins = ~is_equal[:, :-1] & is_equal[:, 1:]
        found["coalescences"] = [_where(np.concatenate([[False], chain])) for chain in begins]
        found["apart"] = [_spells(~chain) for chain in is_equal]
    return found


def _where(flags: np.ndarray) -> list[int]:
    return np.flatnonzero(flags)[:MOST_MARKS].tolist()


def _spells(flags: np.ndarray) -> list[list[int]]:
    """First and last index of every run of true flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [[int(a), int(b - 1)] for a, b in edges.reshape(-1, 2)[:MOST_MARKS]]


def _packed(values: np.ndarray) -> Any:
    """Numbers as text: single precision suffices for a picture."""
    if np.ndim(values) == 2:
        return [_packed(row) for row in values]
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode("ascii")
