"""Two coupled trajectories: the penalty chain and the naive chain, driven by the same noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.studies.nicholls2012.figures.style import BLACK, GREEN, VERMILION, new_figure

NAME = "trajectories"
TITLE = "Coupled trajectories"
CAPTION = (
    "θ₁+θ₂ of the exact penalty chain (solid) and of the naive chain (dashed), driven by the same noise with m = "
    "8. Top: random walk. The chains take the same steps until they separate (▼) and then shadow one another, "
    "since they share their increments. Bottom: independence proposal. The chains separate (▼), and coalesce (▲) "
    "as soon as both accept the same candidate; grey bands show where they differ. Of all pairs that were run, "
    "each panel shows the one whose first separation is the median."
)


def draw(coupled: dict[str, Any]) -> Any:
    """The figure from what `measure_coupled` found for each proposal."""
    figure, panels = new_figure(2, 1, 8.4, 5.8, sharex=True, sharey=True)
    for axes, (proposal, found) in zip(panels, coupled.items(), strict=True):
        path = found["path"]
        penalty, naive = np.asarray(path["penalty"]), np.asarray(path["naive"])
        updates = np.arange(1, len(penalty) + 1)
        _shade(axes, ~np.asarray(path["is_equal"]))
        axes.step(updates, penalty, where="post", color=BLACK, label="penalty (exact)", linewidth=1.4)
        axes.step(updates, naive, where="post", color=VERMILION, linestyle=(0, (3, 1.5)), label="naive", linewidth=1.4)
        for name, marker, color in (("separations", "v", VERMILION), ("coalescences", "^", GREEN)):
            at = np.asarray(path[name])
            height = 17.3 if name == "separations" else 0.2
            axes.plot(at, np.full(len(at), height), marker, color=color, label=name[:-1], markersize=7)
        axes.set_title(f"{proposal.capitalize()}, m = 8")
        axes.set_ylabel("θ₁ + θ₂")
        axes.set_ylim(-0.8, 18.3)
        axes.set_yticks([0, 6, 12, 18])
        axes.set_xlim(1, len(penalty))
    panels[1].set_xlabel("update")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _shade(axes: Any, is_different: np.ndarray) -> None:
    changes = np.flatnonzero(np.diff(np.concatenate([[0], is_different.astype(int), [0]])))
    for start, end in changes.reshape(-1, 2):
        axes.axvspan(start + 1, end + 1, color="0.5", alpha=0.15, linewidth=0)
