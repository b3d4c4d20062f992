"""The estimators of section 5, from the noise of their sufficient statistics.

An average of m samples W enters the estimate only through ΣW (and Σ(W - W̄)²), so that these are drawn at once, as
functions of standard normal numbers z: ``G⁻¹(Φ(z))``, with G a gamma distribution. The normal score of the estimate,
which couples it to the penalty method, is then z itself. The number of samples m is a leaf: one compiled program serves
every m, at the same cost.
"""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from lockstep.core import random
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.samples import Pooled
from lockstep.studies.nicholls2012.model import difference

REACH, DEGREE = 8.5, 32  # normal numbers in double precision stay within ±8.3


def log_gamma_quantile(shape: float) -> np.ndarray:
    """Chebyshev coefficients of z ↦ log G⁻¹(Φ(z)) on ±REACH, for a gamma distribution of that shape and rate 1.

    The error is below 1e-13 for shapes from 7 on, 1e-7 for shapes from 2 on.
    """

    def log_quantile(x: np.ndarray) -> np.ndarray:
        z = REACH * x
        lower = special.gammaincinv(shape, special.ndtr(np.minimum(z, 0.0)))
        upper = special.gammainccinv(shape, special.ndtr(-np.maximum(z, 0.0)))
        return np.log(np.where(z < 0, lower, upper))

    return chebyshev.chebinterpolate(log_quantile, DEGREE)


def gamma_from_normal(coefficients: Array, z: Array) -> Array:
    """A gamma variable that has the normal score z (Clenshaw's recurrence)."""
    x = z / REACH
    older = newer = jnp.zeros_like(z)
    for coefficient in coefficients[:0:-1]:
        older, newer = newer, coefficient + 2 * x * newer - older
    return jnp.exp(coefficients[0] + x * newer - older)


@part
class InverseGamma(Estimator):
    """``D̂ = D - 1 + m/ΣW``, W ~ Exp(1): biased, skewed, asymptotic variance 1/m.

    A large estimate is a small sum, so that ΣW has the score -z where D̂ has the score z.
    """

    m: Array
    quantile: Array

    @classmethod
    def of(cls, m: int) -> InverseGamma:
        return cls(float(m), log_gamma_quantile(m))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Array, Array]:
        z = random.normal(key, shape)
        return z, self.m / gamma_from_normal(self.quantile, -z) - 1

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        m = self.m
        bias, variance = 1 / (m - 1), m**2 / ((m - 1) ** 2 * (m - 2))
        third = 4 * variance**1.5 * jnp.sqrt(m - 2) / (m - 3)
        return Estimate(difference(position, candidate) + noise[1], bias, variance, third, m)

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several: W̄ is 1/(1 + noise); cumulants to first order."""
        total = len(noise[1]) * self.m
        averages = 1 / (1 + noise[1])
        value = difference(position, candidate) - 1 + 1 / jnp.mean(averages)
        estimate = Estimate(value, 1 / total, 1 / total, 4 / total**2, total)
        return Pooled(estimate, jnp.mean(averages) - averages, -2 / total**2)


@part
class NormalScore(Estimator):
    """``y = D + z/√m``: the normal estimate that the penalty method needs, with the variance 1/m known."""

    m: Array

    is_variance_known = True

    @classmethod
    def of(cls, m: int) -> NormalScore:
        return cls(float(m))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Array:
        return random.normal(key, shape) / jnp.sqrt(self.m)

    def __call__(self, noise: Array, position: Position, candidate: Position) -> Estimate:
        return Estimate(difference(position, candidate) + noise, 0.0, 1 / self.m, 0.0, self.m)


@part
class NormalMean(Estimator):
    """``D̂ = D + average of m standard normals``, with the variance s²/m estimated from them.

    Average and s² are independent: (m-1) s² has a chi-square law, drawn from a second normal number.
    """

    m: Array
    quantile: Array

    @classmethod
    def of(cls, m: int) -> NormalMean:
        return cls(float(m), log_gamma_quantile((m - 1) / 2))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Array, Array]:
        z = random.normal(key, shape) / jnp.sqrt(self.m)
        score = random.normal(jr.fold_in(key, 1), shape)
        return z, 2 * gamma_from_normal(self.quantile, score) / (self.m - 1) / self.m

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        return Estimate(difference(position, candidate) + noise[0], 0.0, noise[1], 0.0, self.m)

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several; the variance of one sample is 1."""
        total = len(noise[0]) * self.m
        average = jnp.mean(noise[0])
        estimate = Estimate(difference(position, candidate) + average, 0.0, 1 / total, 0.0, total)
        return Pooled(estimate, noise[0] - average, 0.0)
