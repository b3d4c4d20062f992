"""The figure of an advice: separations and kernel discrepancy against the number of samples."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np


def draw(advice: Any, path: str | PathLike[str] | None = None) -> Any:
    """Draw it; save it if a path is given. Returns the matplotlib figure."""
    from matplotlib.ticker import LogLocator, NullFormatter

    from lockstep.core.drawing import Drawing

    figure = Drawing(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for one in advice.rules:
        rule, colour = one.name, one.colour
        looks = [look for look in advice.looks if rule in look.rules and not np.isnan(look.rules[rule].sure_rho)]
        if not looks:
            continue
        counts = [look.count for look in looks]
        style: dict[str, Any] = {"color": colour, "marker": one.marker, "label": rule.replace("_", "-")}
        style["linewidth"] = 2.4 if rule == advice.rule else 1.2
        left.plot(counts, [advice.updates / look.rules[rule].sure_rho for look in looks], **style)
        sizes = [look.rules[rule].discrepancy for look in looks]
        bounds = [look.rules[rule].discrepancy_interval[1] for look in looks]
        right.plot(counts, np.where(np.isnan(sizes), np.nan, sizes), **style)
        # Where the replicates resolve no discrepancy there is a bound from above.
        right.plot(
            counts, np.where(np.isnan(sizes), bounds, np.nan), linestyle="none", marker="v", mfc="none", mec=colour
        )
    for axes, label in ((left, f"separations in {advice.updates:,} updates"), (right, "kernel discrepancy")):
        axes.set(xscale="log", yscale="log", xlabel="samples in an estimate, m", ylabel=label)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3, which="both", linewidth=0.4)
        if advice.count is not None:
            axes.axvline(advice.count, color="0.3", linestyle=":", linewidth=1.2)
    left.axhline(advice.separations, color="0.3", linestyle="--", linewidth=1.0)
    if advice.count is not None:
        left.plot([advice.count], [advice.separations], marker="*", markersize=15, color="0.2", zorder=5)
        left.set_title(f"advised: {advice.rule.replace('_', '-')}, m = {advice.count}", fontsize=11)
    left.legend(frameon=False)
    right.set_title("the less, the less bias (open triangles: at most)", fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
