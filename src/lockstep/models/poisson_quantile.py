"""Quantiles of Poisson laws with large means: an expansion that is right unless it is near a whole number, then sums.

With w the normal quantile of u, the quantile is the whole part of x(w, λ), where Γ(x, λ)/Γ(x) = u. In s = w/√λ it is
x = λ c₀(s) + c₁(s) + c₂(s)/λ + …, each a power series, found term by term from ∂Γ(x, λ)/∂λ = -λ^(x-1) e^(-λ).

References
----------
Temme (1992), Math. Comp. 58; Giles (2016), Algorithm 955, ACM Trans. Math. Softw. 42.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from lockstep.core.types import Array
from lockstep.models.factorials import HALF_LOG, TABLE, log_factorial, stirling_rest

LARGE = 20.0  # a mean from which the expansion is good
FURTHEST, STEEPEST = 5.0, 0.9  # |w| and |s| up to which it is
NOTHING = 1e-17  # a share of a sum that it would not notice
# fmt: off
SERIES = (
    (1.0, 1.0, 1 / 6, -1 / 72, 1 / 270, -23 / 17280, 19 / 34020, -0.0002580513300999412, 0.00012737605330197924,
     -6.598050961818484e-05, 3.545877482777345e-05, -1.9616975974429186e-05, 1.1110503184882091e-05,
     -6.415829591770127e-06, 3.7656594239141905e-06, -2.2410437386755235e-06, 1.3497389011821444e-06),
    (1 / 3, -1 / 36, 7 / 810, -137 / 38880, 5 / 3024, -0.0008460045969691032, 0.00045877152873037645,
     -0.0002592788640804973, 0.0001510991101087885, -9.015553057123253e-05, 5.480333590250778e-05,
     -3.3818493936387214e-05, 2.112916579426536e-05, -1.333873758469563e-05, 8.49513014685047e-06),
    (-8 / 405, 671 / 38880, -5189 / 408240, 0.009008552294946327, -0.00632503755960546, 0.004434182107270777,
     -0.0031105942564466416, 0.0021845053222522216, -0.0015357718606736372, 0.00108067346120866,
     -0.000760997913472507, 0.000536205226143419, -0.0003779957522680811),
    (-16 / 25515, 0.001870271027935637, -0.002850973646584072, 0.003312034152779895, -0.003338811179776416,
     0.003093751085057137, -0.002714770745886147, 0.002294802390606573, -0.001888287206074539, 0.0015228132257877817,
     -0.0012091361864103112),
)
# fmt: on


def guessed(uniform: Array, mean: Array) -> tuple[Array, Array]:
    """A quantile by the expansion, and whether it is in doubt: next to a whole number, or in the tails."""
    root, inverse = jnp.sqrt(mean), 1 / mean
    normal = jnp.clip(jax.scipy.special.ndtri(uniform), -9.0, 9.0)  # beyond what a uniform number can say
    slope = normal * (root * inverse)
    found = expanded(slope, mean, inverse)
    error = inverse**3 + 1e-15 * (mean + 100 * root)
    is_sure = (jnp.abs(found - jnp.round(found)) > error) & (jnp.abs(normal) < FURTHEST) & (jnp.abs(slope) < STEEPEST)
    return jnp.floor(found), ~is_sure


def expanded(slope: Array, mean: Array, inverse: Array) -> Array:
    """The expansion at s; where it is good it is right to λ⁻³/3 and to rounding."""
    rows = [_sum(row, slope) for row in SERIES]
    return mean * rows[0] + (rows[1] + inverse * (rows[2] + inverse * rows[3]))


def settled(uniform: Array, mean: Array, guess: Array, is_doubtful: Array) -> Array:
    """Quantiles from doubtful guesses: the distribution function there by a sum, then outcome by outcome."""
    guess = jnp.where(is_doubtful, jnp.maximum(guess, 0.0), 0.0)
    density = jnp.exp(log_density(guess, mean))

    def add(carry: Any) -> Any:
        outcome, term, total = carry
        term = term * outcome / mean
        return outcome - 1, term, total + term

    def is_summing(carry: Any) -> Array:
        return jnp.any(is_doubtful & (carry[0] > 0) & (carry[1] > NOTHING * carry[2]))

    total = jax.lax.while_loop(is_summing, add, (guess, density, density))[2]

    def directions(carry: Any) -> tuple[Array, Array]:
        outcome, density, total = carry
        is_open = is_doubtful & (density > NOTHING * total)
        return is_open & (uniform >= total), is_open & (outcome > 0) & (uniform < total - density)

    def step(carry: Any) -> Any:
        outcome, density, total = carry
        is_above, is_below = directions(carry)
        next_density = density * mean / (outcome + 1)
        total = jnp.where(is_above, total + next_density, jnp.where(is_below, total - density, total))
        density = jnp.where(is_above, next_density, jnp.where(is_below, density * outcome / mean, density))
        return outcome + is_above - is_below, density, total

    start = guess, density, total
    return jax.lax.while_loop(lambda carry: jnp.any(jnp.logical_or(*directions(carry))), step, start)[0]


def log_density(outcome: Array, mean: Array) -> Array:
    """The log density; of large outcomes by the distance from the mean, for their logarithms would cancel."""
    large = jnp.maximum(outcome, len(TABLE) - 1.0)
    distance = large - mean
    far = distance - large * jnp.log1p(distance / mean) - 0.5 * jnp.log(large) - HALF_LOG - stirling_rest(large)
    near = jax.scipy.special.xlogy(outcome, mean) - mean - log_factorial(outcome)
    return jnp.where(outcome < len(TABLE), near, far)


def _sum(coefficients: tuple[float, ...], slope: Array) -> Array:
    total: Any = coefficients[-1]
    for one in coefficients[-2::-1]:
        total = total * slope + one
    return total
