"""Pairs whose estimates have noise of nearly one law, up to its scale, so that they can share their replicates."""

from __future__ import annotations

import numpy as np

from lockstep.separation.replicates import Cumulants
from lockstep.separation.scores import Shape

FEWEST = 16
SPREADS = np.array([0.15, 0.15, 0.1, 0.15])  # of log s, γ, b/s and the skewness of the linear part


def shapes_of(halves: Cumulants) -> np.ndarray:
    """Log s, γ, b/s and the skewness of the linear part at each pair, from each half of the replicates."""
    s = np.sqrt(halves.variance)
    return np.stack([np.log(s), halves.third / s**3, halves.bias / s, halves.straight / s**3], axis=-1)


def groups_of(shapes: np.ndarray) -> list[np.ndarray]:
    """Split at a median while pairs differ more than they should; singly below a number of pairs.

    How much they differ beyond the noise of these numbers is the covariance between the halves. Shape comes first: each
    pair has a scale of its own anyway, but laws of other skewness, taken together, are none of them.
    """

    def split(members: np.ndarray) -> list[np.ndarray]:
        excess = np.sqrt(np.maximum(spread_of(shapes[:, members]), 0.0)) / SPREADS
        widest = 1 + int(np.argmax(excess[1:]))
        widest = widest if excess[widest] > 1 else 0
        if len(members) < 2 * FEWEST or excess[widest] <= 1:
            return [members]
        order = members[np.argsort(shapes[:, members, widest].mean(axis=0), kind="stable")]
        return split(order[: len(order) // 2]) + split(order[len(order) // 2 :])

    return split(np.arange(shapes.shape[1]))


def common(halves: Cumulants, samples: float) -> tuple[Shape, np.ndarray]:
    """The shape of a group's noise, and the scale s of each of its pairs, drawn together as far as they are noise."""
    logs = np.log(halves.variance) / 2
    spread = spread_of(logs[..., None])[0]
    apart = logs.mean(axis=0) - logs.mean()
    relative = np.exp(np.clip(spread / max(np.mean(apart**2), 1e-300), 0.0, 1.0) * apart)
    scale = relative * np.sqrt(np.mean(halves.variance / relative**2))
    shape = Shape(
        float(np.mean(halves.bias / scale)),
        float(np.mean(halves.third / scale**3)),
        float(np.mean(halves.straight / scale**3)),
        samples,
    )
    return shape, scale


def spread_of(values: np.ndarray) -> np.ndarray:
    """The variance between pairs, free of noise: the covariance of the halves."""
    first, second = values - values.mean(axis=1, keepdims=True)
    return np.asarray(np.mean(first * second, axis=0))
