"""Rules: from an estimate of D and its cumulants to a log ratio.

Let D̂ = D + ε. Away from D = 0 detailed balance is violated by the factor E e^ε, and
log E e^ε = bias + variance/2 + third/6 + …; a rule takes off what it knows of this.
"""

from __future__ import annotations

import numpy as np

from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part
from lockstep.core.rule import Rule
from lockstep.core.trees import choose
from lockstep.core.types import Array

__all__ = [
    "Corrected",
    "Penalty",
    "PenaltySeries",
    "PlugIn",
    "Rule",
    "corrected",
    "penalty",
    "penalty_series",
    "plug_in",
]

NEVER = -np.inf


@part
class PlugIn(Rule):
    """The estimate as it is: ``D̂``."""

    name = "naive"
    needs_variance = False
    reads_value_alone = True
    computes_on_numpy = True
    error = "O(1/m)"
    colour, marker = "#D55E00", "o"

    def __call__(self, estimate: Estimate) -> Array:
        return estimate.value


@part
class Penalty(Rule):
    """``D̂ - variance/2``."""

    name = "penalty"
    needs_variance = True
    computes_on_numpy = True
    colour, marker = "#0072B2", "s"
    error = "O(1/m) if the estimate is biased or skewed, far smaller for normal estimates"

    def __call__(self, estimate: Estimate) -> Array:
        return _corrected(estimate, _checked(estimate.variance) / 2)

    def exact_when(self, estimator: Estimator) -> str | None:
        if not estimator.is_variance_known:
            return None
        return "the estimate is normal with mean D and the stated variance, the same in both directions"


@part
class PenaltySeries(Rule):
    """``D̂ - u`` with Ceperley and Dewing's series for a variance that is estimated from n values.

    With χ² the estimated variance of the mean, u = χ²/2 + χ⁴/(4(n+1)) + χ⁶/(3(n+1)(n+3)) + …: then e^{-u} is unbiased
    for e^{-σ²/2n} if the values are normal. The sum of the whole series is -log 0F1, which does not exist for large χ²;
    the three terms kept here are positive and rise with χ², so that a noisy update is only rejected more often.
    """

    name = "penalty_series"
    needs_variance = True
    is_advised = False
    computes_on_numpy = True
    colour, marker = "#56B4E9", "P"
    error = "below that of the plain penalty for normal samples"

    def __call__(self, estimate: Estimate) -> Array:
        n, chi2 = estimate.count, _checked(estimate.variance)
        return _corrected(estimate, chi2 / 2 + chi2**2 / (4 * (n + 1)) + chi2**3 / (3 * (n + 1) * (n + 3)))


@part
class Corrected(Rule):
    """``D̂ - (bias + variance/2)``: removes the first order of what breaks detailed balance."""

    name = "corrected"
    needs_variance = True
    computes_on_numpy = True
    order = 1.5
    colour, marker = "#009E73", "D"
    error = "O(m^-2) away from ties, if the variance is the same in both directions"

    def __call__(self, estimate: Estimate) -> Array:
        # Summed first: for the log of an average of weights they cancel to exactly 0, and the rule is the naive one.
        return _corrected(estimate, estimate.bias + _checked(estimate.variance) / 2)

    def exact_when(self, estimator: Estimator) -> str | None:
        return Penalty().exact_when(estimator)


plug_in, penalty, penalty_series, corrected = PlugIn(), Penalty(), PenaltySeries(), Corrected()
RULES: tuple[Rule, ...] = (plug_in, penalty, penalty_series, corrected)  # that are judged, the simplest first


def _corrected(estimate: Estimate, correction: Array) -> Array:
    """The estimate less a correction; an estimate of minus infinity rejects, whatever its cumulants are."""
    return choose(estimate.value == NEVER, NEVER, estimate.value - correction)


def _checked(variance: Array) -> Array:
    """The variance, or NaN where it is negative: such an update is counted, never silently decided."""
    return choose(variance >= 0, variance, np.nan)
