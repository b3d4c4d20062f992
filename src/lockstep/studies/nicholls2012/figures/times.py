"""Separation times against the number of samples m, with the paper's regressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.studies.nicholls2012.figures.style import OF_PROPOSAL, log_counts, new_figure
from lockstep.studies.nicholls2012.statistics import Measured, line

NAME = "times"
TITLE = "Separation times"
CAPTION = (
    "Separation times against m for the random walk (solid lines) and the independence proposal (dashed lines). "
    "In each group of three: ρ̂₁ from the gaps (left, ●), ρ̂₂ from the return times (centre, ■), τ̂ from "
    "equilibrium (right, ◆), with bars of two standard errors. Left: naive against penalty with a linear "
    "regression of ρ̂₂ on m. Right: Penalty Estimate against penalty with ρ̂₁ = c·m^{3/2}: its chain stays in "
    "lockstep far longer. Both axes are logarithmic."
)
QUANTITIES = {"rho_1": ("o", 0.9), "rho_2": ("s", 1.0), "tau": ("D", 1.11)}
TITLES = {"naive": "Naive against penalty", "penalty_estimate": "Penalty Estimate against penalty"}
LINES = {"random walk": "-", "independence": (0, (5, 2))}
SYMBOLS = {"rho_1": r"$\hat\rho_1$", "rho_2": r"$\hat\rho_2$", "tau": r"$\hat\tau$"}


def linear(found: dict[int, Any]) -> tuple[Measured, Measured] | None:
    """Intercept and slope of ρ̂₂ in m; None where there are too few marks."""
    counts = [m for m in found if np.isfinite(found[m]["rho_2"].value) and found[m]["rho_2"].se > 0]
    if len(counts) < 2:
        return None
    points = [found[m]["rho_2"] for m in counts]
    return line(counts, [point.value for point in points], [point.se for point in points])


def constant(found: dict[int, Any]) -> float:
    """The c of ρ̂₁ = c·m^{3/2}, by weighted least squares of the logarithms."""
    relative = np.array([found[m]["rho_1"].se / found[m]["rho_1"].value for m in found])
    logs = np.array([np.log(found[m]["rho_1"].value / m**1.5) for m in found])
    return float(np.exp(np.sum(logs / relative**2) / np.sum(1 / relative**2)))


def draw(times: dict[str, dict[str, Any]]) -> Any:
    """The figure from what `measure_times` found, by pair and proposal."""
    figure, panels = new_figure(1, 2, 10.4, 4.8)
    for axes, pair in zip(panels, TITLES, strict=True):
        for proposal, found in times[pair].items():
            color = OF_PROPOSAL[proposal]
            grid = np.geomspace(0.85 * min(found), 1.18 * max(found), 200)
            fit = linear(found)
            if pair == "penalty_estimate":
                heights, label = constant(found) * grid**1.5, f"{proposal}: {constant(found):.3g} m$^{{3/2}}$"
            elif fit is not None:
                heights = fit[0].value + fit[1].value * grid
                sign = "−" if fit[0].value < 0 else "+"
                label = f"{proposal}: {fit[1].value:.3g} m {sign} {abs(fit[0].value):.2g}"
            else:
                heights, label = np.full_like(grid, np.nan), proposal
            axes.plot(grid, heights, color=color, linestyle=LINES[proposal], linewidth=1.2, label=label)
            _groups(axes, found, color)
        axes.set_yscale("log")
        axes.set_title(TITLES[pair])
        axes.set_ylabel("updates until the chains separate")
        log_counts(axes, next(iter(times[pair].values())))
        axes.grid(axis="y", color="0.9", linewidth=0.8)
        axes.legend(loc="upper left")
    _explain(panels[1])
    return figure


def _explain(axes: Any) -> None:
    """A second legend, of the three estimates in a group."""
    first = axes.get_legend()
    handles = [
        axes.plot([], [], marker, color="0.35", markersize=5, label=SYMBOLS[quantity])[0]
        for quantity, (marker, _) in QUANTITIES.items()
    ]
    axes.legend(handles=handles, loc="lower right", ncols=3, handlelength=1)
    axes.add_artist(first)


def _groups(axes: Any, found: dict[int, Any], color: str) -> None:
    for quantity, (marker, shift) in QUANTITIES.items():
        at = np.array(list(found)) * shift
        values = np.array([of[quantity] for of in found.values()])
        axes.errorbar(
            at, values[:, 0], 2 * values[:, 1], fmt=marker, color=color, markersize=4, capsize=2.5, elinewidth=1
        )
