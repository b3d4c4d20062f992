"""Intervals between marks, and what they tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GROUPS = 50
BINS = 10


def return_times(marks: np.ndarray) -> np.ndarray:
    """The intervals between successive marks, with the chains laid end to end.

    So no interval is cut off, which would favour short ones. An interval across a seam joins two stationary chains;
    there are few of these if each chain has several marks.
    """
    return np.diff(np.flatnonzero(np.ravel(marks)))


def unequal_spells(is_equal: np.ndarray) -> np.ndarray:
    """How long chains that separated stayed apart before they coalesced; spells that were cut off are left out."""
    spells = []
    for chain in is_equal:
        change = np.diff(chain.astype(np.int8))
        separations, coalescences = np.flatnonzero(change == -1), np.flatnonzero(change == 1)
        # The two take turns; a coalescence that comes first ends a spell whose beginning was not seen.
        coalescences = coalescences[coalescences > separations[0]] if separations.size else coalescences[:0]
        spells.append(coalescences - separations[: len(coalescences)])
    return np.concatenate(spells)


def mean_waiting_time(times: np.ndarray) -> float:
    """τ: the mean time to the next mark from every state of a stationary run, (ΣT²/ΣT + 1)/2 over return times T."""
    times = times.astype(float)
    return float((np.sum(times**2) / np.sum(times) + 1) / 2)


def jackknife(statistic: Callable[[np.ndarray], float], times: np.ndarray) -> float:
    """The standard error of a statistic of successive intervals, by leaving out groups of neighbours in turn."""
    groups = np.array_split(times, min(GROUPS, len(times)))
    left_out = [statistic(np.concatenate(groups[:i] + groups[i + 1 :])) for i in range(len(groups))]
    return float(np.sqrt((len(groups) - 1) * np.var(left_out)))


def geometric_p_value(times: np.ndarray) -> float:
    """A chi-square test of return times against the geometric law with their mean; NaN if there are too few.

    The classes are made equally likely, as far as whole numbers allow.
    """
    from scipy.special import chdtrc

    if len(times) < 5 * BINS or times.max() == 1:
        return float("nan")
    log_longer = np.log1p(-1 / times.mean())  # P(T > t) = exp(t log_longer)
    edges = np.unique(np.ceil(np.log1p(-np.arange(1, BINS) / BINS) / log_longer))
    expected = np.diff(np.concatenate([[0.0], -np.expm1(edges * log_longer), [1.0]])) * len(times)
    observed = np.bincount(np.searchsorted(edges, times, side="left"), minlength=len(expected))
    if len(expected) < 3:
        return float("nan")
    score = np.sum((observed - expected) ** 2 / expected)
    return float(chdtrc(len(expected) - 2, score))
