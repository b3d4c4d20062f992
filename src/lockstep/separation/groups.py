"""Pairs whose estimates have noise of nearly one law, up to its scale, so that they can share their replicates."""

from __future__ import annotations

import numpy as np

from lockstep.separation.replicates import Cumulants, Replicates
from lockstep.separation.scores import Shape

FEWEST = 16
SPREADS = np.array([0.15, 0.15, 0.1, 0.15])  # of log s, γ, b/s and the skewness of the linear part
# Of those that differ for certain. Each pair has a scale of its own; but skewness of ±δ that is taken for none moves
# every score by δ/6, and that may be all that separates a corrected rule.
SLIGHT = np.array([0.15, 0.015, 0.01, 0.015])
LIKELY, CERTAIN = 2.0, 4.0  # standard errors


def shapes_of(halves: Cumulants) -> np.ndarray:
    """Log s, γ, b/s and the skewness of the linear part at each pair, from each half of the replicates."""
    s = np.sqrt(halves.variance)
    return np.stack([np.log(s), halves.third / s**3, halves.bias / s, halves.straight / s**3], axis=-1)


def groups_of(shapes: np.ndarray, fewest: int = FEWEST) -> list[np.ndarray]:
    """Split into two where these differ most, while pairs differ more than they should and are enough for two.

    How much they differ beyond the noise of these numbers is the covariance between the halves. Shape comes first: each
    pair has a scale of its own anyway, but laws of other skewness, taken together, are none of them.
    """

    def split(members: np.ndarray) -> list[np.ndarray]:
        excess = _excess(shapes[:, members])
        widest = 1 + int(np.argmax(excess[1:]))
        widest = widest if excess[widest] > 1 else 0
        if len(members) < 2 * fewest or excess[widest] <= 1:
            return [members]
        values = shapes[:, members, widest].mean(axis=0)
        order = np.argsort(values, kind="stable")
        place = _best_split(values[order], fewest)
        return split(members[order[:place]]) + split(members[order[place:]])

    return split(np.arange(shapes.shape[1]))


def _best_split(ordered: np.ndarray, fewest: int) -> int:
    """How many of the ordered values make the lower part, such that the variance between both parts is the largest."""
    lower = np.arange(fewest, len(ordered) - fewest + 1)
    apart = np.cumsum(ordered - ordered.mean())[lower - 1]
    return int(lower[np.argmax(apart**2 / (lower * (len(ordered) - lower)))])


def is_one_law(shapes: np.ndarray) -> bool:
    """Whether the pairs of a group differ in shape by no more than they should, as far as that is certain."""
    spread, error = _spread_and_error(shapes[..., 1:])
    is_little = spread - LIKELY * error <= SPREADS[1:] ** 2
    return bool(np.all(is_little & (spread - CERTAIN * error <= SLIGHT[1:] ** 2)))


def _excess(shapes: np.ndarray) -> np.ndarray:
    """How many times as much as they should pairs differ, in scale and in shape: by much, or by little for certain."""
    spread, error = _spread_and_error(shapes)
    much, surely = (np.sqrt(np.maximum(of, 0.0)) for of in (spread, spread - CERTAIN * error))
    return np.asarray(np.maximum(much / SPREADS, surely / SLIGHT))


def _spread_and_error(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The variance between pairs, free of noise, and its standard error."""
    first, second = shapes - shapes.mean(axis=1, keepdims=True)
    products = first * second
    return products.mean(axis=0), products.std(axis=0) / np.sqrt(max(len(products), 1))


def common(halves: Cumulants, samples: float) -> tuple[Shape, np.ndarray]:
    """The shape of a group's noise, and the scale s of each of its pairs, drawn together as far as they are noise."""
    logs = np.log(halves.variance) / 2
    spread = spread_of(logs[..., None])[0]
    apart = logs.mean(axis=0) - logs.mean()
    relative = np.exp(np.clip(spread / max(np.mean(apart**2), 1e-300), 0.0, 1.0) * apart)
    scale = relative * np.sqrt(np.mean(halves.variance / relative**2))
    shape = Shape(
        float(np.mean(halves.bias / scale)),
        _certain(halves.third / scale**3),
        _certain(halves.straight / scale**3),
        samples,
    )
    return shape, scale


def _certain(values: np.ndarray) -> float:
    """The average over pairs as far as it is not noise: where third moments do not exist, one pair may make it all."""
    each = values.mean(axis=0)
    mean, error = float(each.mean()), float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else 0.0
    return mean * max(0.0, 1 - (error / mean) ** 2) if mean else 0.0


def uncertainty_of_variance(replicates: Replicates) -> float:
    """The relative standard error of the variance over all pairs, beyond that of as many normal samples.

    Each pair is measured by its own scale as far as the other half tells it: one outlier then stands out in its half.
    """
    variance = replicates.halves.variance[:, replicates.is_noisy]
    pairs = variance.shape[1]
    if pairs < 2:
        return 0.0
    ratio = variance / variance[::-1]
    samples = float(np.mean(replicates.each.count)) * replicates.linear.shape[1]
    seen = float(np.var((ratio - 1 / ratio).ravel() / 4))
    return float(np.sqrt(max(seen - 2 / samples, 0.0) / pairs))


def spread_of(values: np.ndarray) -> np.ndarray:
    """The variance between pairs, free of noise: the covariance of the halves."""
    first, second = values - values.mean(axis=1, keepdims=True)
    return np.asarray(np.mean(first * second, axis=0))
