"""Coupled pairs of the penalty and the naive chain: their paths, and the equilibrium of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.core.types import Tree
from lockstep.coupling.common_noise import Coupled
from lockstep.sampling import sample
from lockstep.separation import summary
from lockstep.studies.nicholls2012.model import COVARIANCES, MEANS, draw_target
from lockstep.studies.nicholls2012.pairs import coupled_pair
from lockstep.studies.nicholls2012.settings import SHOWN_COUNT, Settings
from lockstep.studies.nicholls2012.statistics import Measured, mean_of

SHOWN_UPDATES = 200
GRID = np.linspace(-0.5, 17.0, 351)
BANDWIDTH = 0.2
LEGS = ("penalty", "naive")


def measure_coupled(settings: Settings, proposal: str, report: Callable[[str], None]) -> dict[str, Any]:
    """Coupled runs at m = 8 and 32 that start together in equilibrium."""
    found: dict[str, Any] = {"moments": {}}
    for m in (SHOWN_COUNT, 32):
        run = sample(
            Coupled(*coupled_pair(proposal, m, "naive")),
            draw_target,
            draws=max(SHOWN_UPDATES, settings.updates // settings.chains),
            chains=settings.chains,
            seed=settings.seed_of("coupled", proposal, m),
            progress=False,
        )
        sums = {leg: positions.sum(axis=-1) for leg, positions in zip(LEGS, run.positions, strict=True)}
        found["moments"][m] = {leg: _moments(sums[leg]) for leg in LEGS}
        if m == SHOWN_COUNT:
            found["path"] = _typical_path(sums, run.info)
            found["densities"] = {leg: density(sums[leg]) for leg in LEGS}
            together = summary(run)
            found["identical"] = Measured(together.identical_fraction, together.identical_fraction_se)
            found["coalescence_time"] = together.coalescence_time
        report(f"coupled chains, {proposal}, m = {m}: {run.info.is_equal.mean():.1%} of the states identical")
    return found


def _moments(sums: np.ndarray) -> dict[str, Measured]:
    return {"mean": mean_of(sums), "variance": mean_of((sums - sums.mean()) ** 2)}


def _typical_path(sums: dict[str, np.ndarray], info: Tree) -> dict[str, np.ndarray]:
    """The pair of chains whose first separation is the median one among all pairs of the run."""
    marks = np.asarray(info.marks)
    first = np.where(marks.any(axis=1), marks.argmax(axis=1), marks.shape[1])
    chosen = int(np.argsort(first, kind="stable")[len(first) // 2])
    shown = slice(0, SHOWN_UPDATES)
    equal = np.asarray(info.is_equal)[chosen, shown]
    return {
        **{leg: sums[leg][chosen, shown] for leg in LEGS},
        "is_equal": equal,
        "separations": np.flatnonzero(marks[chosen, shown]) + 1,
        "coalescences": np.flatnonzero(np.diff(equal.astype(int)) == 1) + 2,
    }


def density(values: np.ndarray) -> np.ndarray:
    """A density on the grid, by a normal kernel over fine bins."""
    width = GRID[1] - GRID[0]
    edges = np.concatenate([GRID - width / 2, GRID[-1:] + width / 2])
    heights = np.histogram(values, edges)[0] / values.size / width
    return kernel_matrix(width) @ heights


def kernel_matrix(width: float) -> np.ndarray:
    """The normal kernel between all points of the grid."""
    apart = (GRID[:, None] - GRID[None, :]) / BANDWIDTH
    return np.asarray(np.exp(-(apart**2) / 2) / np.sqrt(2 * np.pi) / BANDWIDTH * width)


def smoothed_target() -> np.ndarray:
    """The density of θ₁+θ₂ under the target, seen through the same kernel: what an exact chain estimates."""
    total = np.zeros_like(GRID)
    for mean, covariance in zip(MEANS.sum(axis=1), COVARIANCES, strict=True):
        variance = covariance.sum() + BANDWIDTH**2
        total += 0.5 * np.exp(-((GRID - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return total
