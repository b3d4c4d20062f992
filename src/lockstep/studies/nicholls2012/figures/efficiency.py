"""Efficiency of penalty, pseudo-marginal, naive and standard chains against the variance of the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.studies.nicholls2012.efficiency import VARIANCES
from lockstep.studies.nicholls2012.figures.style import BLACK, BLUE, PURPLE, VERMILION, new_figure

NAME = "efficiency"
TITLE = "Efficiency against the noise"
CAPTION = (
    "Updates an independent draw of θ₁+θ₂ (left) and the longest time without an accepted move (right) against "
    "the variance of D̂, at equal variance for all algorithms; random walk (top) and independence proposal "
    "(bottom). Exact algorithms are solid. As the noise grows the pseudo-marginal chain sticks where the density "
    "was over-estimated; the penalty chain slows down too, but far less. The naive chain (dashed) mixes well, "
    "towards the wrong law. Bars: two standard errors."
)
STYLES = {
    "standard": (BLACK, None, "-"),
    "penalty": (BLUE, "o", "-"),
    "naive": (VERMILION, "s", (0, (5, 2))),
    "pseudo-marginal": (PURPLE, "D", "-"),
}
QUANTITIES = {"autocorrelation_time": "updates an independent draw", "longest_sojourn": "longest sojourn (updates)"}


def draw(efficiency: dict[str, dict[str, Any]]) -> Any:
    """The figure from what `measure_efficiency` found, by proposal and algorithm."""
    figure, rows = new_figure(len(efficiency), 2, 9.6, 7.0, sharex=True, squeeze=False)
    for panels, (proposal, found) in zip(rows, efficiency.items(), strict=True):
        for axes, (quantity, words) in zip(panels, QUANTITIES.items(), strict=True):
            for algorithm in STYLES:
                _curve(axes, algorithm, found[algorithm], quantity)
            axes.set_xscale("log", base=2)
            axes.set_xticks(VARIANCES, [f"{v:g}" for v in VARIANCES])
            axes.set_yscale("log")
            axes.set_ylabel(words)
            axes.set_title(proposal.capitalize())
            axes.grid(axis="y", color="0.9", linewidth=0.8)
    for axes in rows[-1]:
        axes.set_xlabel(r"variance of $\hat D$")
    rows[0, 0].legend(loc="upper left")
    return figure


def _curve(axes: Any, algorithm: str, by_variance: dict[float, Any], quantity: str) -> None:
    color, marker, dashes = STYLES[algorithm]
    values = np.array([of[quantity] for of in by_variance.values()])
    if algorithm == "standard":  # it sees no noise
        axes.axhline(values[0, 0], color=color, linewidth=1.2, label="standard (sees D)")
        return
    axes.errorbar(
        list(by_variance),
        values[:, 0],
        2 * values[:, 1],
        color=color,
        marker=marker,
        linestyle=dashes,
        markersize=5,
        capsize=2.5,
        linewidth=1.4,
        label=algorithm,
    )
