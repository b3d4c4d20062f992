"""Whether estimates are such that a prediction from their cumulants can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.separation.replicates import Replicates
from lockstep.separation.tails import HEAVY, tail_of_squares

FEWEST_SAMPLES = 4
HEAVY_VALUE, HEAVY_VARIANCE = 0.45, 0.75  # Pareto shapes: beyond 1/2 there is no variance, beyond 1 no mean
MOST_BAD = 0.01
LEAST_ASYMMETRY, ALARM = 0.1, 4.0
FEWEST_VALUES = 200
WITHOUT_VARIANCE = (
    "their variance or third moment may not exist, and no correction by cumulants is valid; bound or transform the "
    "samples, take more of them if each is an average of few rows, or use an exact kernel"
)


def problems_of(estimator: Any, forward: Replicates, reverse: Replicates) -> list[str]:
    """Sentences about what is wrong with the estimates, for every rule."""
    found = []
    count = float(np.mean(forward.each.count))
    if count < FEWEST_SAMPLES and not getattr(estimator, "is_variance_known", False):
        found.append(
            f"an estimate has only {count:.0f} samples, from which its cumulants cannot be estimated: take count >= 8"
        )
    possible = forward.halves.difference.mean(axis=0) > -np.inf
    bad = 1 - np.mean(np.isfinite(forward.each.value[possible])) if possible.any() else 0.0
    if bad > MOST_BAD:
        found.append(
            f"{bad:.1%} of the estimates are NaN or infinite where D is finite: such noise has no normal score"
        )
    if heavy := _heavy_samples(forward, reverse) if forward.influences.size else _heavy_estimates(forward):
        found.append(f"{heavy}: {WITHOUT_VARIANCE}")
    return found


def _heavy_samples(forward: Replicates, reverse: Replicates) -> str:
    """A clause if the samples look as if they had no variance."""
    of = tail_of_squares(np.concatenate([one.influences[one.is_noisy] for one in (forward, reverse)]))
    if of <= HEAVY:
        return ""
    return f"the samples have heavy tails (Pareto shape {of / 2:.2f}; from 0.50 on there is no variance)"


def _heavy_estimates(replicates: Replicates) -> str:
    """The same from estimates, whose samples are not known, and from their variances."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Medians: a heavy tail would carry the averages away.
        centre = np.median(replicates.each.value, axis=1, keepdims=True)
        spread = np.median(np.abs(replicates.each.value - centre), axis=1, keepdims=True)
        values = np.abs(replicates.each.value - centre) / spread
        middle = np.median(replicates.each.variance, axis=1, keepdims=True)
        variances = replicates.each.variance / middle
    noisy = replicates.is_noisy
    of_value, of_variance = tail_shape(values[noisy]), tail_shape(variances[noisy])
    if of_value <= HEAVY_VALUE and of_variance <= HEAVY_VARIANCE:
        return ""
    return (
        f"the samples have heavy tails (Pareto shape {of_value:.2f} of the estimates, {of_variance:.2f} of their "
        f"variances, above {HEAVY_VALUE} or {HEAVY_VARIANCE})"
    )


def tail_shape(values: np.ndarray) -> float:
    """The shape k of a generalised Pareto tail; moments below 1/k exist. Minus infinity if there are too few values."""
    from arviz_stats.base import array_stats

    values = values[np.isfinite(values)]
    if values.size < FEWEST_VALUES or np.ptp(values) == 0:
        return -np.inf
    return float(array_stats.pareto_khat(values, chain_axis=None, draw_axis=-1, r_eff=1.0, tail="right"))


def asymmetry_of(forward: Replicates, reverse: Replicates) -> str:
    """A sentence if the variance differs by direction where moves are likely in both, else nothing."""
    difference = forward.halves.difference.mean(axis=0) + forward.log_proposal_ratio
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(forward.halves.variance / reverse.halves.variance)
        weights = np.exp(-np.abs(difference))
    use = np.all(np.isfinite(logs), axis=0) & np.isfinite(weights)
    if use.sum() < 2:
        return ""
    weights = weights[use] / weights[use].sum()
    # Squares free of noise: one half times the other.
    products = logs[0, use] * logs[1, use]
    size = float(weights @ products)
    error = float(np.sqrt(np.sum(weights**2 * (products - size) ** 2)))
    if size < LEAST_ASYMMETRY**2 or size < ALARM * error:
        return ""
    return (
        f"the variance of an estimate differs by direction, typically by a factor of {np.exp(np.sqrt(size)):.2f}: a "
        f"one-sided rule keeps a flux of order 1/m; use ls.estimators.two_sided(estimator)"
    )
