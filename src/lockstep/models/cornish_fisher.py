"""Quantiles of binomial and Poisson laws with large variances, by an expansion that says where it is in doubt.

With w the normal quantile of u, the quantile is the whole part of x, where an outcome is at most x - 1 with probability
u; between whole numbers that is an incomplete beta or gamma function. It is the distribution function of what has the
cumulants of an outcome less those of a uniform number from 0 to 1, so that x has an expansion of Cornish and Fisher.
With σ² the variance, t = w/σ, and a = 1 - 2p (for a Poisson law 1), it is

    x = mean + 1/2 + σ w + w² g₀(t, a) + g₁(t, a) + g₂(t, a)/σ² + g₃(t, a)/σ⁴ + …,

each a power series in t. The coefficients of even powers are odd polynomials in a, the others even ones. All terms up
to σ⁻⁵ are here.

References
----------
Cornish and Fisher (1938); Hill and Davis (1968), Ann. Math. Statist. 39, for terms of any order.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from lockstep.core.types import Array

LARGE = 20.0  # a variance from which the expansion is good
STEEPEST = 0.9  # |t| up to which it is
WIDE = 1e5  # a variance beyond which its error is less than that of any sum
# fmt: off
# For each power of 1/σ², for each power of t: the coefficients of 1, a², a⁴, ... (times a for even powers of t).
SERIES = (
    ((1 / 6,), (-1 / 48, 1 / 144), (1 / 240, -1 / 2160), (-13 / 23040, -1 / 1280, 1 / 69120),
     (5 / 12096, 13 / 90720, 1 / 544320), (-97 / 2580480, -2507 / 12902400, -997 / 38707200, -139 / 348364800)),
    ((-1 / 6,), (1 / 48, -7 / 144), (7 / 720, -7 / 6480), (-1 / 1920, -59 / 17280, 1 / 2430),
     (43 / 48384, 97 / 120960, -1 / 26880),
     (-1283 / 23224320, -72343 / 116121600, -58283 / 348364800, -1451 / 3135283200)),
    ((-1 / 45, 1 / 405), (181 / 23040, 349 / 34560, -433 / 622080), (-493 / 48384, -2591 / 1088640, -923 / 6531840),
     (34817 / 23224320, 266929 / 38707200, 608771 / 1045094400, 289517 / 9405849600)),
    ((1 / 756, -37 / 17010, 23 / 102060),
     (-4511 / 7741440, 158167 / 116121600, 1107901 / 1045094400, 289717 / 9405849600)),
)
# fmt: on


def guessed(uniform: Array, whole: Array, rest: Array, variance: Array, skew: Any) -> tuple[Array, Array]:
    """A quantile, and whether it is in doubt: next to a whole number, or in the tails.

    The mean is ``whole + rest``: the digits of a large one are not lost.
    """
    normal = jnp.clip(jax.scipy.special.ndtri(uniform), -9.0, 9.0)  # beyond what a uniform number can say
    slope = normal * jax.lax.rsqrt(variance)
    found = rest + expanded(jnp.clip(slope, -1.0, 1.0), variance, skew)
    is_sure = (jnp.abs(found - jnp.round(found)) > error(slope, variance)) & (jnp.abs(slope) < STEEPEST)
    return whole + jnp.floor(found), ~is_sure & (variance < WIDE)


def expanded(slope: Array, variance: Array, skew: Any) -> Array:
    """The expansion at t, without the mean."""
    inverse, square = 1 / variance, skew * skew
    rows = [_sum([_sum(one, square) * (1.0 if k % 2 else skew) for k, one in enumerate(row)], slope) for row in SERIES]
    return 0.5 + variance * slope * (1 + slope * rows[0]) + (rows[1] + inverse * (rows[2] + inverse * rows[3]))


def error(slope: Array, variance: Array) -> Array:
    """What the error of the expansion stays below, from the variance ``LARGE`` on and up to the slope ``STEEPEST``."""
    fourth = (slope * slope) ** 2
    return 0.03 / variance**3 + 4e-4 * variance * (fourth * fourth)


def _sum(coefficients: Any, x: Array) -> Any:
    total = coefficients[-1]
    for one in coefficients[-2::-1]:
        total = total * x + one
    return total
