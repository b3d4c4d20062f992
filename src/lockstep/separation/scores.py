"""The normal score of an estimate, from replicates at pairs whose noise has one law.

The noise of an estimate in units of its standard deviation is written as a polynomial of its normal score z,

    e = (D̂ - D)/s = Σⱼ cⱼ Heⱼ(z),

the projection of its quantile function on Hermite polynomials. What the samples tell (bias b, variance s², skewness γ)
gives c₀ = b/s, c₁ = 1 - γ²/36 and c₂ = γ/6, right to first order. An average with next to no skewness has c₃ = κ/24,
where κ, its kurtosis, is told by how much its estimates of variance vary. The replicates themselves give all cⱼ from
their order statistics, right to every order, but noisier. Each is weighed by how far it may be off.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import hermite_e

DEGREE = 5
FOLDS = 8
GRID = np.linspace(-7.0, 7.0, 2801)


class Shape(NamedTuple):
    """What the samples tell of the law of e, to first order; ``straight`` is the skewness of its linear part.

    ``kurtosis`` is NaN where variances are not estimated.
    """

    bias: float
    skewness: float
    straight: float
    samples: float
    kurtosis: float = math.nan

    @property
    def order(self) -> float:
        """The size of what comes after the first order, by bias and skewness."""
        return 3 * max(self.bias**2, self.skewness**2 / 4)


def kurtosis_of(variances: np.ndarray, count: float) -> float:
    """The kurtosis of averages of ``count`` samples, from their estimates of one variance, an array (P, K).

    The relative variance of an estimated variance is κ + 2/(m - 1).
    """
    relative = variances / variances.mean(axis=1, keepdims=True)
    seen = float(np.mean(np.var(relative, axis=1, ddof=1)))
    return seen - 2 / (count - 1) if seen > 0 and count > 2 else math.nan


def calibrated(linear: np.ndarray, shape: Shape) -> np.ndarray:
    """Weights under which linear parts have the mean, variance and skewness that the samples tell.

    They take the chance out of which samples came together in one replicate: the averages of all that is nearly a
    function of the linear part become far less noisy.
    """
    powers = np.stack([linear, linear**2, linear**3], axis=-1).reshape(-1, 3)
    apart = powers - powers.mean(axis=0)
    missing = np.array([0.0, 1.0, shape.straight]) - powers.mean(axis=0)
    slopes = np.linalg.lstsq(apart.T @ apart / len(apart), missing, rcond=1e-10)[0]
    weights = np.clip(1 + apart @ slopes, 0.05, 20.0).reshape(linear.shape)
    return np.asarray(weights / weights.sum())


def coefficients(e: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The cⱼ of a weighted sample: order statistics regressed on Hermite polynomials of their normal scores."""
    from scipy.special import ndtri

    order = np.argsort(e, axis=None)
    w = weights.ravel()[order]
    z = ndtri(np.cumsum(w) - w / 2)
    polynomials = hermite_e.hermevander(z, DEGREE)
    weighted = polynomials * w[:, None]
    return np.linalg.solve(weighted.T @ polynomials, e.ravel()[order] @ weighted)


def first_order(shape: Shape) -> np.ndarray:
    """The cⱼ that bias and skewness tell: those of Cornish and Fisher's expansion."""
    expected = np.zeros(DEGREE + 1)
    expected[:3] = shape.bias, 1 - shape.skewness**2 / 36, shape.skewness / 6
    return expected


def normal_scores(e: np.ndarray, linear: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """The normal scores of the noise e of replicates, an array (P, K), and the weights of the replicates."""
    weights = calibrated(linear, shape)
    found = coefficients(e, weights)
    folds = [(e[:, f::FOLDS], linear[:, f::FOLDS]) for f in range(min(FOLDS, e.shape[1]))]
    spread = np.var([coefficients(part, calibrated(line, shape)) for part, line in folds], axis=0, ddof=1)
    expected = first_order(shape)
    doubt = _doubt(shape)
    noise = spread / len(folds)
    # What normal noise would give beyond the calibrated moments; few folds can tell less by chance.
    noise[3:] = np.maximum(noise[3:], [0.6 / (j * math.factorial(j) * e.size) for j in range(3, DEGREE + 1)])
    known = max(shape.order, shape.samples**-2)
    if known < doubt[3] and (found[3] - shape.kurtosis / 24) ** 2 < 9 * (noise[3] + known**2):
        expected[3], doubt[3] = shape.kurtosis / 24, known
    weight = doubt**2 / np.maximum(doubt**2 + noise, 1e-300)
    quantiles = hermite_e.hermeval(GRID, expected + weight * (found - expected))
    return np.interp(e, _rising(quantiles), GRID), weights


def _doubt(shape: Shape) -> np.ndarray:
    """How far the first order may be off: nothing for an average of normal samples."""
    order = shape.order
    curved = max(abs(shape.bias), abs(shape.skewness))
    low = [
        abs(shape.bias) * order,
        3 * shape.bias**2 + (shape.skewness**2 / 4) ** 2,
        curved * order,
        max(order, 1 / (8 * shape.samples)),
    ]
    return np.array(low + [order ** (j / 2) / math.sqrt(math.factorial(j)) for j in range(len(low), DEGREE + 1)])


def _rising(values: np.ndarray) -> np.ndarray:
    """Values on the grid, made to rise from its centre outwards: far in the tails a polynomial may turn back."""
    centre = len(GRID) // 2
    above = np.maximum.accumulate(values[centre:])
    below = np.minimum.accumulate(values[: centre + 1][::-1])[::-1]
    return np.concatenate([below[:-1], above]) + 1e-9 * GRID
