"""Numbers with their standard errors, and straight lines through them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.core.types import Array


class Measured(NamedTuple):
    """A number and its Monte Carlo standard error."""

    value: float
    se: float

    def __str__(self) -> str:
        return plus_minus(self.value, self.se)


def mean_of(values: np.ndarray) -> Measured:
    """The mean of chains, with ArviZ's standard error, which respects autocorrelation."""
    from arviz_stats.base import array_stats

    values = np.asarray(values, float)
    if np.ptp(values) == 0:
        return Measured(float(values.flat[0]), 0.0)
    return Measured(float(values.mean()), float(array_stats.mcse(values, method="mean")))


def ratio_of(first: Measured, second: Measured) -> Measured:
    """The ratio of two independent measurements."""
    ratio = first.value / second.value
    return Measured(ratio, abs(ratio) * float(np.hypot(first.se / first.value, second.se / second.value)))


def line(x: Array, y: Array, se: Any) -> tuple[Measured, Measured]:
    """Intercept and slope of the weighted least-squares line through points with known standard errors."""
    x, y, se = (np.asarray(values, float) for values in (x, y, se))
    design = np.stack([np.ones_like(x), x], axis=1) / se[:, None]
    covariance = np.linalg.inv(design.T @ design)
    intercept, slope = covariance @ design.T @ (y / se)
    errors = np.sqrt(np.diag(covariance))
    return Measured(float(intercept), float(errors[0])), Measured(float(slope), float(errors[1]))


def power(m: Any, values: list[Measured]) -> Measured:
    """The slope of log(value) in log(m)."""
    relative = [value.se / value.value for value in values]
    return line(np.log(m), np.log([value.value for value in values]), relative)[1]


def plus_minus(value: float, se: float) -> str:
    """A number with as many digits as its standard error supports (two of the error); without one, it is rough."""
    if not np.isfinite(se):
        return f"about {value:,.2g}" if abs(value) < 100 else f"about {round(value, -1):,.0f}"
    if se <= 0:
        return f"{value:,.5g}"
    digits = max(0, 1 - int(np.floor(np.log10(se))))
    return f"{value:,.{digits}f} ± {se:,.{digits}f}"
