"""The figure of a goodness of fit."""

from __future__ import annotations

from typing import Any

import numpy as np

ALL, MIDDLE = "#cfe2f3", "#6a9fd0"


def drawn(fit: Any) -> Any:
    """A panel for each property: the simulated graphs as bands (all, and the middle 90 %), the observed one as dots."""
    import matplotlib.pyplot as plt

    count = len(fit.panels)
    figure, axes = plt.subplots(1, count, figsize=(3.7 * count, 3.6), layout="constrained", squeeze=False)
    for axis, panel in zip(axes[0], fit.panels, strict=True):
        if panel.of:
            _shares(axis, panel)
        else:
            _statistics(axis, panel)
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.suptitle(fit.title, fontsize=10)
    return figure


def _shares(axis: Any, panel: Any) -> None:
    """Shares of nodes, ties or pairs; what has no path stands apart, at the right."""
    observed = panel.observed / max(panel.observed.sum(), 1)
    simulated = panel.simulated / np.maximum(panel.simulated.sum(axis=1, keepdims=True), 1)
    is_joined = np.isfinite(panel.at)
    place = np.where(is_joined, panel.at, 1.2 * panel.at[is_joined].max(initial=0) + 1)
    low, high = np.quantile(simulated, (0.05, 0.95), axis=0)
    ends = simulated.min(axis=0), simulated.max(axis=0)
    axis.fill_between(place[is_joined], *(end[is_joined] for end in ends), color=ALL, label="simulated, all")
    axis.fill_between(place[is_joined], low[is_joined], high[is_joined], color=MIDDLE, label="the middle 90 % of them")
    axis.plot(place[is_joined], observed[is_joined], "ko-", markersize=3.5, linewidth=1, label="observed")
    if not is_joined.all():
        axis.vlines(place[~is_joined], *(end[~is_joined] for end in ends), color=ALL, linewidth=7)
        axis.vlines(place[~is_joined], low[~is_joined], high[~is_joined], color=MIDDLE, linewidth=7)
        axis.plot(place[~is_joined], observed[~is_joined], "ko", markersize=3.5)
        ticks = place[is_joined][:: max(1, is_joined.sum() // 6)]
        axis.set_xticks([*ticks, place[-1]], [*(f"{tick:.0f}" for tick in ticks), "no path"])
    else:
        axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set(xlabel=panel.name, ylabel=f"share of {panel.of}", ylim=(0, None))


def _statistics(axis: Any, panel: Any) -> None:
    """Statistics in their own standard deviations from the average of the simulated graphs."""
    centre, spread = panel.simulated.mean(axis=0), np.maximum(panel.simulated.std(axis=0), 1e-12)
    simulated, observed = (panel.simulated - centre) / spread, (panel.observed - centre) / spread
    low, high = np.quantile(simulated, (0.05, 0.95), axis=0)
    place = np.arange(len(panel.at))
    axis.vlines(place, simulated.min(axis=0), simulated.max(axis=0), color=ALL, linewidth=9)
    axis.vlines(place, low, high, color=MIDDLE, linewidth=9)
    axis.plot(place, observed, "ko", markersize=3.5)
    axis.set_xticks(place, panel.at, rotation=30, ha="right", fontsize=8)
    axis.set(xlabel=panel.name, ylabel="from average, in their sd", xlim=(-0.6, len(place) - 0.4))
