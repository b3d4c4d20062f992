"""How small a gap replicates can tell: what the same measurement gives where the truth is none.

Scale, shape and normal scores of the noise are themselves measured, so that even an exact kernel seems to separate now
and then. How often is found by repeating the measurement with made-up normal noise of the same size, the same numbers
of pairs, replicates and samples, and the penalty method that knows its variance: it is exact.
"""

from __future__ import annotations

import numpy as np

from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part
from lockstep.core.rule import Rule
from lockstep.core.types import Array
from lockstep.estimators.samples import Moments, pooled_moments
from lockstep.separation.gaps import Gaps, measure_gaps
from lockstep.separation.groups import common, groups_of, shapes_of
from lockstep.separation.replicates import Cumulants, Replicates

MOST_TIMES, ENOUGH_PAIRS = 4, 512


@part
class PenaltyOfKnownVariance(Rule):
    """The exact rule of made-up estimates, whose known variance stands in the place of the bias."""

    name = "exact"
    needs_variance = True

    def __call__(self, estimate: Estimate) -> Array:
        return estimate.value - estimate.bias / 2


def measure_nothing(replicates: Replicates, estimator: Estimator) -> list[Gaps]:
    """Gaps of an exact rule at the pairs of the replicates, some times: what the measurement gives for nothing."""
    if not replicates.is_noisy.any():
        return []
    draw = np.random.default_rng(replicates.linear.size)
    times = int(np.clip(ENOUGH_PAIRS // len(replicates.linear), 1, MOST_TIMES))
    rules: dict[str, Rule] = {"exact": PenaltyOfKnownVariance()}
    return [measure_gaps(_normal(draw, replicates, estimator), rules)["exact"] for _ in range(times)]


def _normal(draw: np.random.Generator, replicates: Replicates, estimator: Estimator) -> Replicates:
    """Replicates with normal noise of the same variance, from as many samples."""
    pairs, count = replicates.linear.shape
    half, m = count // 2, _samples(replicates)
    scale = _scales(replicates)
    means = draw.standard_normal((2, half, pairs))
    # Sums of squares and of cubes of the samples of an estimate, around their average, which has variance 1.
    squares = m * draw.chisquare(m - 1, means.shape) if m > 1 else np.zeros(means.shape)
    cubes = np.sqrt(6 * m**3 * m / ((m - 1) * (m - 2))) * draw.standard_normal(means.shape) if m > 2 else 0 * squares
    together = [pooled_moments(Moments(*of), m) for of in zip(means, squares / max(m - 1, 1), cubes, strict=True)]
    centre, variance, third = (np.stack(column) for column in zip(*together, strict=True))
    third = scale**3 * third / m**2
    difference = replicates.halves.difference.mean(axis=0)
    noise = (scale * means).reshape(count, pairs).T
    estimated = (scale**2 * squares / max(m * (m - 1), 1)).reshape(count, pairs).T
    known = np.broadcast_to((scale**2)[:, None], noise.shape)
    variances = known if estimator.is_variance_known else estimated
    each = Estimate(difference[:, None] + noise, known, variances, 0 * noise, replicates.each.count)
    halves = Cumulants(difference + scale * centre, 0 * centre, scale**2 * variance / m, third, third)
    linear = noise - np.repeat(scale * centre, half, axis=0).T
    return replicates._replace(each=each, linear=linear, halves=halves)


def _scales(replicates: Replicates) -> np.ndarray:
    """The standard deviation of an estimate at each pair, as the measurement takes it."""
    noisy, halves = np.flatnonzero(replicates.is_noisy), replicates.halves
    scales = np.zeros(len(replicates.linear))
    for group in groups_of(shapes_of(halves)[:, noisy]) if noisy.size else []:
        members = noisy[group]
        scales[members] = common(Cumulants(*(field[:, members] for field in halves)), 1.0)[1]
    return scales


def _samples(replicates: Replicates) -> int:
    """How many normal samples an estimate would have, by how well its variance is known: two halves tell that."""
    first, second = np.log(replicates.halves.variance[:, replicates.is_noisy])
    apart = np.median(np.abs(first - second)) / 0.6745  # of a normal number: its standard deviation
    degrees = 4 / apart**2 if apart > 0 else np.inf
    most = float(np.mean(replicates.each.count))
    return int(np.clip((1 + degrees) / (replicates.linear.shape[1] // 2), 1, most))
