"""Synthetic likelihoods: summaries of simulated data are taken to be normal, with the moments that they have."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np
from jax.scipy.linalg import solve_triangular

from lockstep.core.arguments import is_number
from lockstep.core.estimator import Estimate
from lockstep.core.parts import part
from lockstep.core.trees import choose, namespace
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators.combinations import Difference
from lockstep.estimators.observed import observed_summaries
from lockstep.estimators.samples import OfSamples, Pooled, Samples, moments
from lockstep.estimators.sides import OfSimulations, simulations
from lockstep.host.boxes import is_box
from lockstep.host.functions import as_function

HARDLY = 3  # simulations beyond the number of summaries, without which the unbiased density does not exist


@part
class Synthetic(OfSamples):
    """``log N(s; μ̂, Σ̂)`` at one position, up to a constant, with its cumulants by the delta method.

    With z the whitened summaries less their mean, w = Σ^{-1/2}(s - μ), M_i what simulation i adds to the whitened
    covariance: a_i = w·z_i - tr M_i/2 + w·M_i w/2 is the linear part, Q(M, z) = tr M²/4 - |z|²/2 - w·Mz - |Mw|²/2 the
    quadratic one. bias = E Q(M_i, z_i)/m, variance = var a/m, third = [E a³ + 6 Q(E M a, E z a) + 3 (tr N - w·N w)]/m²,
    where N = E z a (E z a)ᵀ, shrunk as the covariance is: a covariance is about the mean of the samples, which varies.
    """

    samples: Samples
    observed: Array
    shrinkage: Array

    unit = "simulations at each position"
    fewest = property(lambda self: len(self.observed) + 2)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        return self._estimate(self.samples(noise, position, candidate))[0]

    def pooled(self, noise: Tree, position: Position, candidate: Position) -> Pooled:
        """One estimate from the samples of several, whose noise has a leading axis."""
        groups = jax.vmap(self.samples, in_axes=(0, None, None))(noise, position, candidate)
        estimate, linear, third = self._estimate(groups.reshape(-1, groups.shape[-1]))
        return Pooled(estimate, linear.reshape(groups.shape[:2]).mean(axis=1), third)

    @property
    def evaluation(self) -> UnbiasedNormal:
        size = len(self.observed)
        if self.count <= size + HARDLY:
            raise ValueError(
                f"count of synthetic_likelihood is {self.count}; the unbiased density of {size} summaries needs more "
                f"than {size + HARDLY} simulations"
            )
        return UnbiasedNormal(self.samples, self.observed)

    def _estimate(self, samples: Array) -> tuple[Estimate, Array, Array]:
        """The estimate, what each sample adds to its linear part, and the third cumulant of that."""
        xp, count = namespace(samples), len(samples)
        size = samples.shape[1]
        apart = samples - samples.mean(axis=0)
        # SHRINK the covariance to its diagonal: a linear map, as the whitening is.
        kept = (1 - self.shrinkage) + self.shrinkage * np.eye(size)
        covariance = kept * (apart.T @ apart) / (count - 1)
        inverse, log_determinant = _whitening(xp, covariance)
        z, w = apart @ inverse.T, inverse @ (self.observed - samples.mean(axis=0))
        m = self._whitened(z, apart, inverse)
        along = (m * w).sum(axis=-1)
        linear = z @ w - xp.trace(m, axis1=1, axis2=2) / 2 + along @ w / 2
        of = moments(linear)

        def quadratic(m: Array, z: Array, along: Array) -> Array:
            squares = (m**2).sum(axis=(-2, -1)) / 4 - (z**2).sum(axis=-1) / 2
            return squares - (along * z).sum(axis=-1) - (along**2).sum(axis=-1) / 2

        bias = quadratic(m, z, along).mean() / (count - 1)
        spread, turned = (m * linear[:, None, None]).mean(axis=0), (z * linear[:, None]).mean(axis=0)
        mean_change = (apart * linear[:, None]).mean(axis=0)
        less = inverse @ (kept * (mean_change[:, None] * mean_change)) @ inverse.T
        third = of.third + 6 * quadratic(spread, turned, spread @ w) + 3 * (xp.trace(less) - w @ less @ w)
        value = -(log_determinant + w @ w) / 2
        estimate = Estimate(value, bias, of.variance / count, third / count**2, count)
        return estimate, linear, of.third / count**2

    def _whitened(self, z: Array, apart: Array, inverse: Array) -> Array:
        """What each simulation adds to the whitened covariance, less the mean: a matrix each, without their products.

        Products of many small matrices are slow; the outer products of z, and squares times those of columns, are not.
        """
        size = len(inverse)
        columns = (inverse.T[:, :, None] * inverse.T[:, None, :]).reshape(size, -1)
        shrunk = (apart**2 @ columns).reshape(-1, size, size)
        each = (1 - self.shrinkage) * (z[:, :, None] * z[:, None, :]) + self.shrinkage * shrunk
        return each - each.mean(axis=0)


@part
class UnbiasedNormal(OfSimulations):
    """An unbiased estimate of a normal density, from m samples of it (Ghurye and Olkin, 1969)."""

    samples: Samples
    observed: Array

    exact_when = "the summaries are normal at every position: the estimate of their density is then unbiased"
    when_stuck = "take more simulations (the standard deviation of the log estimate is best near 1)"
    name = "the synthetic likelihood"

    def __call__(self, noise: Tree, position: Position) -> Array:
        samples = self.samples(noise, position, position)
        xp, (count, size) = namespace(samples), samples.shape
        apart = samples - samples.mean(axis=0)
        inverse, log_determinant = _whitening(xp, apart.T @ apart)
        w = inverse @ (self.observed - samples.mean(axis=0))
        # The determinant of the scatter without the observed one, over that with it; 0 where it would be negative.
        left = 1 - w @ w / (1 - 1 / count)
        log_left = xp.log(choose(left > 0, left, 1.0))
        value = -log_determinant / 2 + (count - size - 3) / 2 * log_left + _log_constant(count, size)
        return choose(left > 0, value, choose(left <= 0, -np.inf, np.nan))


def _log_constant(count: int, size: int) -> float:
    """Of the unbiased estimate of a normal density."""

    def log_c(degrees: int) -> float:
        gammas = sum(math.lgamma((degrees - i) / 2) for i in range(size))
        return -size * degrees / 2 * math.log(2) - size * (size - 1) / 4 * math.log(math.pi) - gammas

    return -size / 2 * math.log(2 * math.pi * (1 - 1 / count)) + log_c(count - 2) - log_c(count - 1)


def _whitening(xp: Any, covariance: Array) -> tuple[Array, Array]:
    """The inverse of the Cholesky factor, and the log determinant; NaN where there is none."""
    size = len(covariance)
    try:
        factor = xp.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return np.full((size, size), np.nan), np.float64(np.nan)
    identity = np.eye(size)
    # Compiled, a general solver would take several times as long to compile.
    solve = np.linalg.solve if xp is np else functools.partial(solve_triangular, lower=True)
    return solve(factor, identity), 2 * xp.log(xp.diag(factor)).sum()


def synthetic_likelihood(
    simulate: Any, summaries: Any, observed: Any, count: int, shrinkage: float = 0.0, draw: Any = None
) -> Difference:
    """Estimate D of a likelihood that is known by simulation alone, from summaries that are taken to be normal.

    ``log L(θ) ≈ log N(s; μ(θ), Σ(θ))``, s the summaries of the observed data; mean μ̂ and covariance Σ̂ are those of
    ``count`` simulations at θ, and as many at θ'. The estimate is biased and noisy, by amounts that its cumulants tell:
    take it with `ls.corrected`, whose posterior hardly moves with ``count``; with `ls.naive` it does.

    With `ls.pseudo_marginal` the density is estimated without bias instead (Price et al., 2018): *exact when* the
    summaries are normal at every θ, whatever ``count`` is. It has no shrinkage.

    Parameters
    ----------
    simulate
        ``simulate(key, theta)`` makes a data set. As `ls.blackbox`, ``simulate(rng, theta)``; vectorized, one call
        makes all ``count`` of them, a row each.
    summaries
        ``summaries(data)``, a vector; NumPy next to a black box. None: what is simulated are summaries.
    observed
        The observed data, as ``simulate`` makes them: not their summaries, unless ``summaries`` is None.
    count
        How many simulations m at each position: more than summaries, some dozens or hundreds. `ls.advise` tells.
    shrinkage
        Between 0 and 1: how far the covariance is shrunk to its diagonal. It makes few simulations go further, and is
        another model of the summaries.
    draw
        ``draw(key, count)`` makes the noise of ``count`` simulations at once, which ``simulate`` gets in place of keys.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> def simulate(key, theta):
    ...     return theta + jr.normal(key, (20,))
    >>> def summaries(data):
    ...     return jnp.array([jnp.mean(data), jnp.log(jnp.std(data))])
    >>> synthetic = ls.synthetic_likelihood(simulate, summaries, jnp.linspace(-1.0, 2.0, 20), count=50)
    >>> corrected = ls.corrected(synthetic, ls.RandomWalk(0.3))
    >>> exact_if_normal = ls.pseudo_marginal(synthetic, ls.RandomWalk(0.3))

    See Also
    --------
    lockstep.abc : without a normal approximation, within a distance.

    References
    ----------
    Wood (2010), Nature 466. Price, Drovandi, Lee and Nott (2018), Journal of Computational and Graphical Statistics 27.
    """
    if not is_number(shrinkage) or not 0 <= shrinkage <= 1:
        raise ValueError(f"shrinkage of synthetic_likelihood is {shrinkage!r}; it must be a number from 0 to 1")
    for function, name in ((simulate, "simulate"), *(() if summaries is None else ((summaries, "summaries"),))):
        as_function(function, f"{name} of synthetic_likelihood")
    seen, held_against = observed_summaries(summaries, observed, not is_box(simulate))

    def at(is_candidate: bool) -> Synthetic:
        name = "synthetic_likelihood"
        samples = simulations(simulate, summaries, is_candidate, seen.shape, count, draw, name, held_against)
        return Synthetic(samples, seen, float(shrinkage))

    found = Difference(at(False), at(True))
    if count < found.fewest:
        raise ValueError(
            f"count of synthetic_likelihood is {count}; the covariance of {len(seen)} summaries needs at least "
            f"{found.fewest} simulations"
        )
    return found
