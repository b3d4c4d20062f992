"""Figures of lagged pairs: bounds against the number of updates, meeting times, and the estimate as pairs add up."""

from __future__ import annotations

from os import PathLike
from typing import Any

import jax
import numpy as np

BLUE, ORANGE = "#0072B2", "#D55E00"


def draw_bounds(convergence: Any, path: Any = None) -> Any:
    """The bounds of both distances with their bands."""
    from lockstep.core.drawing import Drawing

    figure = Drawing(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    last = int(max(convergence.meeting_times.max() - convergence.lag, 1))
    times = np.unique(np.linspace(0, last, 300).astype(int))
    for axes, bounds, label, colour in (
        (left, convergence.total_variation(times), "total variation distance, at most", BLUE),
        (right, convergence.wasserstein(times), "Wasserstein distance, at most", ORANGE),
    ):
        is_above = bounds.bound > 0
        axes.plot(times[is_above], bounds.bound[is_above], color=colour)
        axes.fill_between(times, np.maximum(bounds.low, 1e-6), bounds.high, color=colour, alpha=0.2, linewidth=0)
        axes.set(xlabel="updates t", ylabel=label, yscale="log")
        if is_above.any():
            axes.set_ylim(bounds.bound[is_above].min() / 3, 1.5 * bounds.bound.max())
        axes.grid(alpha=0.3, linewidth=0.4)
    if not convergence.unmet:
        left.axhline(0.01, color="0.3", linestyle="--", linewidth=1.0)
        left.axvline(convergence.updates_until(0.01), color="0.3", linestyle=":", linewidth=1.2)
    return _saved(figure, path)


def draw_estimate(result: Any, path: Any = None) -> Any:
    """Meeting times, and the first component's estimate with its interval as pairs add up."""
    from lockstep.core.drawing import Drawing

    figure = Drawing(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(result.meeting_times - result.lag, bins=40, color=BLUE)
    left.set(xlabel="updates until a pair met, behind the lag", ylabel="pairs")
    values = np.asarray(jax.tree.leaves(result.values)[0]).reshape(result.pairs, -1)[:, 0]
    counts = np.arange(2, result.pairs + 1)
    sums, squares = np.cumsum(values)[1:], np.cumsum((values - values.mean()) ** 2)[1:]
    means = sums / counts
    errors = np.sqrt(squares / counts / (counts - 1))
    right.plot(counts, means, color=ORANGE)
    right.fill_between(counts, means - 1.96 * errors, means + 1.96 * errors, color=ORANGE, alpha=0.2, linewidth=0)
    right.set(xlabel="pairs", ylabel="estimate and 95 % interval", xscale="log")
    for axes in (left, right):
        axes.grid(alpha=0.3, linewidth=0.4)
    return _saved(figure, path)


def _saved(figure: Any, path: str | PathLike[str]) -> Any:
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
