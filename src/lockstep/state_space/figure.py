"""The figure of a particle filter: filtered states with a band, data, and effective sample sizes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "0.35"


def draw(found: Any, data: Any = None, path: Any = None) -> Any:
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
    figure = Figure(figsize=(8.0, 2.2 * len(rows) + 1.8), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(rows) + 1, 1, sharex=True, height_ratios=[2.0] * len(rows) + [1.0]))
    low, high = int(np.argmin(found.levels)), int(np.argmax(found.levels))
    for axis, (name, mean, band) in zip(axes, rows, strict=False):
        label = f"{100 * (found.levels[high] - found.levels[low]):.0f} % of the filtered states"
        axis.fill_between(found.times, band[:, low], band[:, high], color=BLUE, alpha=0.25, linewidth=0, label=label)
        axis.plot(found.times, mean, color=BLUE, linewidth=1.6, label="mean")
        axis.set_ylabel(name)
    if data is not None:
        axes[0].plot(found.times, np.asarray(data), ".", color=GREY, markersize=4, label="data")
    axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=9)
    axes[-1].plot(found.times, found.effective, color=ORANGE, linewidth=1.2)
    axes[-1].set(ylim=(0, found.particles * 1.03), xlabel="time", ylabel="effective\nparticles")
    for axis in axes:
        axis.grid(alpha=0.3, linewidth=0.4)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _name(place: Any, index: int | None) -> str:
    """The name of a component of the state, where it has one."""
    name = jax.tree_util.keystr(place, simple=True, separator=".") or "state"
    return name if index is None else f"{name}[{index}]"
