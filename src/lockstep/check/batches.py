"""Whether the mean of dependent vectors is zero, by means of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

SIGNIFICANT = 2.0  # standard errors of a correlation
ENOUGH = 100  # batches beyond the number of entries that are hardly correlated: fewer draws tell nothing
MILD = 0.2  # a correlation that further doublings remove
FURTHER = 2  # doublings
SPARE = 10  # batches beyond the number of entries, in the end
MOST = 512  # batches in the end
RESAMPLES = 1_999
LARGEST_CONDITION = 1e10


class Hotelling(NamedTuple):
    """Hotelling's statistic and its p-value, the entries in standard errors, and how many batches there were."""

    statistic: float
    p_value: float
    scores: np.ndarray
    batches: int


def mean_is_zero(values: np.ndarray, names: Sequence[str]) -> Hotelling:
    """Hotelling's test that vectors (chains, draws, entries), dependent along each chain, have mean 0.

    Batches are doubled in length until the means of neighbouring ones are not seen to be correlated, or hardly where
    there would be too few, and twice more: what is left of the correlation would make the variance too small. The
    statistic is compared with those of batches drawn again, with replacement, about their own mean: entries that are
    squares are skew, and a mean that is small by chance then comes with a variance that is too small. Where no resample
    reaches the statistic the p-value is that of the F distribution. Too few batches, or entries that do not vary, are
    refused.
    """
    if not np.all(np.isfinite(values)):
        where = int(np.flatnonzero(~np.isfinite(values).all(axis=(0, 1)))[0])
        raise ValueError(
            f"run: the derivatives of the log posterior are not finite for {names[where]} at some draws; look at "
            f"log_prior and log_likelihood there"
        )
    means = _uncorrelated(values, names)
    count, entries = means.shape
    mean, covariance = means.mean(axis=0), np.atleast_2d(np.cov(means, rowvar=False)) / count
    errors = np.sqrt(np.diag(covariance))
    scores = mean / errors
    if np.linalg.cond(covariance / np.outer(errors, errors)) > LARGEST_CONDITION:
        raise ValueError(
            "run: the variance of what is compared is singular: some parameters are functions of others; leave those "
            "out"
        )
    statistic = float(_squared(scores, covariance / np.outer(errors, errors)))
    ratio = statistic * (count - entries) / (entries * (count - 1))
    reached = np.sum(_resampled((means - mean) / errors) >= statistic)
    p_value = (1 + reached) / (1 + RESAMPLES)
    if reached == 0:
        p_value = min(p_value, fdtrc(entries, count - entries, ratio))
    return Hotelling(statistic, float(p_value), scores, count)


def _uncorrelated(values: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Means of batches that are long enough to be taken for independent, one a row."""
    entries = values.shape[-1]
    means, least = values, entries + ENOUGH
    while True:
        count = means.shape[0] * means.shape[1]
        if count < least:
            raise ValueError(
                f"run: its draws are too few or too dependent: no more than {count} batches of them are independent, "
                f"where {least} are needed; give a longer run, or more points="
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
        is_last = means.shape[0] * (means.shape[1] // 2) < least
        if is_last and np.all(lagged < MILD):
            break
        means = _doubled(means)
    further = 0
    while further < FURTHER or means.shape[0] * means.shape[1] > MOST:
        if means.shape[0] * (means.shape[1] // 2) < entries + SPARE:
            break
        means, further = _doubled(means), further + 1
    return means.reshape(-1, entries)


def _doubled(means: np.ndarray) -> np.ndarray:
    """The means of pairs of neighbouring batches; the last one may be left over."""
    pairs = means.shape[1] // 2
    return (means[:, 0 : 2 * pairs : 2] + means[:, 1 : 2 * pairs : 2]) / 2


def _squared(vectors: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """``vᵀ M⁻¹ v`` for each vector v and matrix M; infinite where M is singular."""
    lengths, directions = np.linalg.eigh(matrices)
    along = np.einsum("...ij,...i->...j", directions, vectors) ** 2
    is_singular = lengths <= lengths[..., -1:] / LARGEST_CONDITION
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_singular, np.inf, along / lengths).sum(axis=-1)


def _resampled(centred: np.ndarray) -> np.ndarray:
    """Hotelling's statistic of vectors drawn with replacement from some that have mean 0."""
    count, entries = centred.shape
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES, count)) + count * np.arange(RESAMPLES)[:, None]
    times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape) / count
    means = times @ centred
    squares = times @ (centred[:, :, None] * centred[:, None, :]).reshape(count, -1)
    covariances = squares.reshape(-1, entries, entries) - means[:, :, None] * means[:, None, :]
    return _squared(means, covariances / (count - 1))
