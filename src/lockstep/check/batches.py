"""Whether the mean of dependent vectors is zero, by means of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

SIGNIFICANT = 2.0  # standard errors of a correlation
FURTHER = 2  # doublings
SPARE = 10  # batches beyond the number of entries
LARGEST_CONDITION = 1e10


class Hotelling(NamedTuple):
    """Hotelling's statistic and its p-value, the entries in standard errors, and how many batches there were."""

    statistic: float
    p_value: float
    scores: np.ndarray
    batches: int


def mean_is_zero(values: np.ndarray, names: Sequence[str]) -> Hotelling:
    """Hotelling's test that vectors (chains, draws, entries), dependent along each chain, have mean 0.

    Batches are doubled in length until the means of neighbouring ones are not seen to be correlated, and twice more,
    as far as there are enough: what is left of the correlation would make the variance too small. Too few of them, or
    entries that do not vary, are refused.
    """
    if not np.all(np.isfinite(values)):
        where = int(np.flatnonzero(~np.isfinite(values).all(axis=(0, 1)))[0])
        raise ValueError(
            f"run: the derivatives of the log posterior are not finite for {names[where]} at some draws; look at "
            f"log_prior and log_likelihood there"
        )
    entries = values.shape[-1]
    means, least = values, entries + SPARE
    while True:
        count = means.shape[0] * means.shape[1]
        if count < least:
            raise ValueError(
                f"run: its draws are too few or too dependent, {count} batches where {entries} entries need {least}; "
                f"give a longer run, or more draws="
            )
        centred = means - means.mean(axis=(0, 1))
        variance = np.mean(centred**2, axis=(0, 1))
        if not np.all(variance > 0):
            still = names[int(np.argmin(variance))]
            raise ValueError(f"run: what is compared for {still} is the same at all draws; have the chains moved?")
        if means.shape[1] < 2:
            break
        lagged = np.mean(centred[:, 1:] * centred[:, :-1], axis=(0, 1)) / variance
        pairs = means.shape[0] * (means.shape[1] - 1)
        if np.all(lagged < SIGNIFICANT / np.sqrt(pairs)):
            break
        means = _doubled(means)
    for _ in range(FURTHER):
        if means.shape[0] * (means.shape[1] // 2) >= least:
            means = _doubled(means)
    count = means.shape[0] * means.shape[1]
    flattened = means.reshape(count, entries)
    mean, covariance = flattened.mean(axis=0), np.atleast_2d(np.cov(flattened, rowvar=False)) / count
    errors = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(errors, errors)
    if np.linalg.cond(correlation) > LARGEST_CONDITION:
        raise ValueError(
            "run: the variance of what is compared is singular: some parameters are functions of others; leave those "
            "out"
        )
    scores = mean / errors
    statistic = float(scores @ np.linalg.solve(correlation, scores))
    ratio = statistic * (count - entries) / (entries * (count - 1))
    return Hotelling(statistic, float(fdtrc(entries, count - entries, ratio)), scores, count)


def _doubled(means: np.ndarray) -> np.ndarray:
    """The means of pairs of neighbouring batches; the last one may be left over."""
    pairs = means.shape[1] // 2
    return (means[:, 0 : 2 * pairs : 2] + means[:, 1 : 2 * pairs : 2]) / 2
