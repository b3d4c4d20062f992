"""Bias of the naive, the penalty and the corrected chain against m."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.studies.nicholls2012.figures.style import BLUE, GREEN, VERMILION, guide, log_counts, new_figure

NAME = "bias"
TITLE = "Bias, and its correction"
CAPTION = (
    "Absolute bias of the mean log density E log π(θ) (standard deviation under the target: about 1) against m, "
    "for three rules on the same estimator D − 1 + 1/W̄, whose bias and variance are estimated from the m "
    "samples. Naive and penalty are wrong by O(1/m); the corrected rule is far closer. Bars show two standard "
    "errors; an arrow is an upper limit where the bias is not distinguished from 0. Grey guides have the slopes "
    "-1 and -2. Measured by coupling each chain to the exact penalty chain with the independence proposal."
)
STYLES = {"naive": (VERMILION, "o", (0, (5, 2))), "penalty": (BLUE, "s", (0, (5, 2))), "corrected": (GREEN, "D", "-.")}
CLEAR = 2.0  # standard errors


def draw(bias: dict[str, Any]) -> Any:
    """The figure from what `measure_bias` found."""
    figure, axes = new_figure(1, 1, 7.2, 4.8)
    for rule, found in bias.items():
        color, marker, dashes = STYLES[rule]
        counts = np.array(list(found), float) * {"naive": 0.98, "penalty": 1.0, "corrected": 1.02}[rule]
        values = np.abs([of.value for of in found.values()])
        errors = np.array([of.se for of in found.values()])
        is_clear = values > CLEAR * errors
        lower = np.minimum(CLEAR * errors, 0.9 * values)
        style = {"color": color, "marker": marker, "markersize": 5.5, "linewidth": 1.3, "capsize": 2.5}
        axes.errorbar(
            counts[is_clear],
            values[is_clear],
            np.stack([lower, CLEAR * errors])[:, is_clear],
            linestyle=dashes,
            label=rule,
            **style,
        )
        limits = (values + CLEAR * errors)[~is_clear]
        axes.errorbar(
            counts[~is_clear], limits, 0.35 * limits, uplims=True, linestyle="none", **{**style, "marker": "_"}
        )
    axes.set_yscale("log")
    _guides(axes, bias)
    axes.set_ylabel("|bias| of E log π(θ)")
    log_counts(axes, next(iter(bias.values())))
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.legend(loc="lower left")
    return figure


def _guides(axes: Any, bias: dict[str, Any]) -> None:
    counts = list(bias["naive"])
    first, last = counts[0], counts[-1]
    guide(axes, first, last, 1.4 * abs(bias["naive"][first].value), -1, "slope −1")
    guide(axes, first, last, 0.5 * abs(bias["corrected"][first].value), -2, "slope −2")
    axes.set_xlim(0.88 * first, 1.35 * last)
