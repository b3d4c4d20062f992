"""The figure of a particle filter: filtered states with a band, data, and effective sample sizes."""

from __future__ import annotations

from os import PathLike
from typing import Any

import jax
import numpy as np

from lockstep.core.types import Tree

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "0.35"
ALIKE = 0.2  # the share of a panel that states and data each fill at least where they are shown together


def draw(found: Any, data: Tree = None, path: str | PathLike[str] | None = None) -> Any:
    """Draw it; save it if a path is given. Returns the matplotlib figure."""
    from matplotlib.figure import Figure

    means, bands = jax.tree_util.tree_leaves_with_path(found.means), jax.tree.leaves(found.quantiles)
    rows = [
        (
            _name(place, i if mean.ndim > 1 else None),
            mean.reshape(len(mean), -1)[:, i],
            band.reshape(*band.shape[:2], -1)[:, :, i],
        )
        for (place, mean), band in zip(means, bands, strict=True)
        for i in range(int(np.prod(mean.shape[1:])))
    ][:4]
    seen = None if data is None else np.asarray(data, float)
    panels = len(rows) + (seen is not None and not _are_alike(seen, rows[0][2]))
    figure = Figure(figsize=(8.0, 2.2 * panels + 1.8), layout="constrained")
    axes = np.atleast_1d(figure.subplots(panels + 1, 1, sharex=True, height_ratios=[2.0] * panels + [1.0]))
    low, high = int(np.argmin(found.levels)), int(np.argmax(found.levels))
    for axis, (name, mean, band) in zip(axes, rows, strict=False):
        label = f"{100 * (found.levels[high] - found.levels[low]):.0f} % of the filtered states"
        axis.fill_between(found.times, band[:, low], band[:, high], color=BLUE, alpha=0.25, linewidth=0, label=label)
        axis.plot(found.times, mean, color=BLUE, linewidth=1.6, label="mean")
        axis.set_ylabel(name)
    if seen is not None:
        place = axes[0] if panels == len(rows) else axes[-2]
        place.plot(found.times, seen, ".", color=GREY, markersize=4, label="data")
        if place is not axes[0]:
            place.set_ylabel("data")
    axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=9)
    axes[-1].plot(found.times, found.effective, color=ORANGE, linewidth=1.2)
    axes[-1].set(ylim=(0, found.particles * 1.03), xlabel="time", ylabel="effective\nparticles")
    for axis in axes:
        axis.grid(alpha=0.3, linewidth=0.4)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _are_alike(data: np.ndarray, band: np.ndarray) -> bool:
    """Whether data are of the size of the states, so that neither is flattened where both are shown."""
    seen, states = data[np.isfinite(data)], band[np.isfinite(band)]
    both = np.concatenate([seen, states])
    return not both.size or min(np.ptp(one) if one.size else np.inf for one in (seen, states)) >= ALIKE * np.ptp(both)


def _name(place: Any, index: int | None) -> str:
    """The name of a component of the state, where it has one."""
    name = jax.tree_util.keystr(place, simple=True, separator=".") or "state"
    return name if index is None else f"{name}[{index}]"
