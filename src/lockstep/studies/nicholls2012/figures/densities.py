"""Densities of θ₁+θ₂: the target, the penalty chains and the naive chains."""

from __future__ import annotations

from typing import Any

from lockstep.studies.nicholls2012.coupled import GRID, smoothed_target
from lockstep.studies.nicholls2012.figures.style import BLACK, OF_PROPOSAL, new_figure
from lockstep.studies.nicholls2012.model import density_of_sum

NAME = "densities"
TITLE = "Densities in equilibrium"
CAPTION = (
    "Density of θ₁+θ₂ with m = 8: the target (solid), the penalty chains (dashed) and the naive chains (dotted). "
    "Top: the densities; the exact penalty chains follow the target, the naive ones miss it slightly. Bottom: the "
    "same less the target, enlarged. With the random walk the naive chain is over-dispersed, as the paper says; "
    "with this independence proposal it puts too much mass into the valley between the modes instead, and the "
    "variance falls."
)
LINES = {"penalty": (0, (5, 2)), "naive": (0, (1, 1.2))}


def draw(coupled: dict[str, Any]) -> Any:
    """The figure from what `measure_coupled` found for each proposal."""
    figure, (top, bottom) = new_figure(2, 1, 7.6, 6.4, sharex=True, height_ratios=[1.5, 1])
    exact = smoothed_target()
    top.plot(GRID, density_of_sum(GRID), color=BLACK, linewidth=1.2, label="target")
    bottom.axhline(0, color=BLACK, linewidth=1.2)
    for proposal, found in coupled.items():
        for leg, estimate in found["densities"].items():
            style = {
                "color": OF_PROPOSAL[proposal],
                "linestyle": LINES[leg],
                "linewidth": 2.2 if leg == "naive" else 1.5,
            }
            top.plot(GRID, estimate, label=f"{leg}, {proposal}", **style)
            bottom.plot(GRID, estimate - exact, **style)
    top.set_ylabel("density")
    top.set_ylim(0)
    top.legend(loc="upper left")
    bottom.set_ylabel("density less target")
    bottom.set_xlabel("θ₁ + θ₂")
    bottom.set_xlim(GRID[0], GRID[-1])
    return figure
