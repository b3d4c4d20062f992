"""Mean gaps |α - α_N| against m: the naive kernel is closer to the penalty method than to the standard one."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.studies.nicholls2012.figures.style import OF_PROPOSAL, guide, log_counts, new_figure

NAME = "gaps"
TITLE = "Closer to penalty than to standard"
CAPTION = (
    "The probability that the naive kernel decides otherwise than an exact one, in one update, against m: "
    "standard Metropolis–Hastings (squares) and the penalty method (circles), for both proposals. Grey guides "
    "have the slopes -1/2 and -1 of the paper. The naive kernel is closer to the penalty method, and increasingly "
    "so."
)
MARKS = {"standard": ("s", "against standard"), "naive": ("o", "against penalty")}


def draw(times: dict[str, dict[str, Any]]) -> Any:
    """The figure from what `measure_times` found, by pair and proposal."""
    figure, axes = new_figure(1, 1, 7.2, 4.8)
    for pair, (marker, words) in MARKS.items():
        for proposal, found in times[pair].items():
            counts = np.array(list(found))
            gaps = np.array([of["gap"] for of in found.values()])
            style = {"color": OF_PROPOSAL[proposal], "linestyle": "-" if pair == "standard" else (0, (5, 2))}
            axes.errorbar(
                counts,
                gaps[:, 0],
                2 * gaps[:, 1],
                marker=marker,
                markersize=5,
                linewidth=1.2,
                label=f"{words}, {proposal}",
                **style,
            )
    first, last = min(counts), max(counts)
    for pair, order, words in (("standard", -0.5, "slope −1/2"), ("naive", -1.0, "slope −1")):
        highest = max(found[first]["gap"].value for found in times[pair].values())
        guide(axes, first, last, 1.4 * highest, order, words)
    axes.set_xlim(0.85 * first, 1.9 * last)
    axes.set_yscale("log")
    axes.set_ylabel("mean gap  E|α − α$_N$|")
    log_counts(axes, counts)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.legend(loc="lower left")
    return figure
