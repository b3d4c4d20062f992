"""How many toggles a draw of a random graph needs: measured in a pilot, near where the observed graph is likely."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lockstep.core.warnings import warn
from lockstep.models.tie_chain import TieChain

TIMES = 10  # autocorrelation times in a draw
FEWEST = 10_000  # toggles of a draw, which take a millisecond: elsewhere in the posterior chains may be slower
RECORDS = 1_000
ENOUGH = 25  # autocorrelation times in a pilot that can tell them
MOST = 2 * 10**7  # toggles of a pilot
PAIRS = 10**6  # that a pseudo-likelihood looks at
WORDS = np.array([[0x10C6, 0x57E9]], np.uint32)  # of the pilot's random numbers: the same for every run


class Mixing(NamedTuple):
    """What a pilot found: where it ran, autocorrelation times of the statistics in toggles, and what a draw needs."""

    theta: np.ndarray
    times: np.ndarray
    toggles: int


def pseudo_maximum(chain: TieChain, x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The maximum of the pseudo-likelihood over some pairs, each given all others: a logistic regression on changes.

    A prior of standard deviation 10 keeps it finite where ties are all or none of a kind.
    """
    is_tie = x[tuple(pairs.T)] == 1
    every = max(1, round(np.sum(~is_tie) / PAIRS))
    # Of pairs without a tie every n-th will do, at random, each counted n times.
    chosen = np.concatenate(
        [np.flatnonzero(is_tie), np.random.default_rng(0).permutation(np.flatnonzero(~is_tie))[::every]]
    )
    pairs, is_tie = pairs[chosen], is_tie[chosen]
    weights = np.where(is_tie, 1.0, every)
    changes = chain.changes(x, pairs)
    scale = np.maximum(np.abs(changes).max(axis=0), 1e-12)
    changes = changes / scale
    prior = np.diag(1 / (10 * scale) ** 2)
    theta = np.zeros(len(scale))

    def objective(theta: np.ndarray) -> float:
        field = changes @ theta
        return float(weights @ (is_tie * field - np.logaddexp(0, field)) - 0.5 * theta @ prior @ theta)

    for _ in range(100):  # NEWTON, with steps that are halved until they lead up
        p = 1 / (1 + np.exp(-np.clip(changes @ theta, -500, 500)))
        gradient = changes.T @ (weights * (is_tie - p)) - prior @ theta
        curvature = (changes * (weights * p * (1 - p))[:, None]).T @ changes + prior
        step = np.linalg.solve(curvature, gradient)
        height, length = objective(theta), 1.0
        while objective(theta + length * step) < height and length > 1e-10:
            length /= 2
        theta = theta + length * step
        if np.abs(length * step).max() < 1e-9:
            break
    return theta / scale


def autocorrelation_times(series: np.ndarray) -> np.ndarray:
    """``1 + 2 Σ ρ_t`` of each column, up to the first t that is five times the sum (Sokal); 1 for a constant."""
    centred = series - series.mean(axis=0)
    size = 2 ** int(np.ceil(np.log2(2 * len(series))))
    spectrum = np.abs(np.fft.rfft(centred, size, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, size, axis=0)[: len(series)]
    rho = covariance / np.where(covariance[0] > 0, covariance[0], 1)
    sums = 2 * np.cumsum(rho, axis=0) - 1
    is_wide = np.arange(len(series))[:, None] >= 5 * np.maximum(sums, 1)
    window = np.where(is_wide.any(axis=0), is_wide.argmax(axis=0), len(series) - 1)
    found = np.take_along_axis(sums, window[None], axis=0)[0]
    return np.where(covariance[0] > 0, np.maximum(found, 1), 1.0)


def measured(chain: TieChain, x: np.ndarray, theta: np.ndarray) -> Mixing:
    """Run a chain from a graph, with longer and longer intervals, until it tells its autocorrelation times."""
    interval = max(1, (int(x.sum()) + 1) // 8)
    graph, begin, words = x[None], np.zeros(len(theta)), WORDS
    while True:
        graph, totals = chain.toggled(words, theta[None], graph, interval, RECORDS)
        series, begin, words = begin + totals[0], begin + totals[0, -1], words + np.uint32(1)
        times = autocorrelation_times(series)
        is_told = times.max() * ENOUGH <= RECORDS
        if is_told or 4 * interval * RECORDS > MOST:
            break
        interval *= 4
    apart = np.abs(series.mean(axis=0)) / np.maximum(series.std(axis=0), 1e-9 * (1 + np.abs(series).max(axis=0)))
    is_far = (apart > 8) & (np.abs(series.mean(axis=0)) > np.abs(chain.counted(x[None])[0]))  # more than twice, or gone
    if not is_told or np.any(is_far):
        warn(_sentence(theta, interval * RECORDS, is_told))
    return Mixing(theta, times * interval, max(FEWEST, int(np.ceil(TIMES * times.max() * interval))))


def _sentence(theta: np.ndarray, toggles: int, is_told: bool) -> str:
    what = (
        "the graphs that it leads to are far from the one observed"
        if is_told
        else "its statistics still remember where they were"
    )
    return (
        f"ERGM: a pilot of {toggles:,} toggles at theta = {np.round(theta, 3).tolist()}, the maximum of the "
        f"pseudo-likelihood, cannot tell how many toggles a draw needs: {what}. Such models often put their mass on "
        f"nearly empty and nearly full graphs: take gwesp in place of triangles and stars, or say toggles= yourself "
        f"and test the run by ls.check.curvature(run, log_prior, longer, graph), longer a model of more toggles"
    )


def pairs_of(nodes: int, is_directed: bool) -> np.ndarray:
    """All pairs of nodes, the smaller first if ties have no direction."""
    if not is_directed:
        return np.stack(np.triu_indices(nodes, 1), axis=1)
    return np.argwhere(~np.eye(nodes, dtype=bool))
