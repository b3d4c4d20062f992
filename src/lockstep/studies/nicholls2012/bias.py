"""The bias of naive, penalty and corrected chains, measured by coupling each to an exact chain.

All cumulants are estimated from the same m samples as the estimate itself, as a user's would be.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part
from lockstep.core.precision import double_precision
from lockstep.core.rule import Rule
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.coupling.common_noise import Coupled
from lockstep.kernels import penalty
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.sampling import sample
from lockstep.studies.nicholls2012.estimators import NormalScore, gamma_from_normal, log_gamma_quantile
from lockstep.studies.nicholls2012.model import INDEPENDENCE, difference, draw_target, log_density
from lockstep.studies.nicholls2012.settings import Settings
from lockstep.studies.nicholls2012.statistics import Measured, mean_of

RULES = {"naive": (0.0, 0.0), "penalty": (0.0, 0.5), "corrected": (1.0, 0.5)}  # weights of bias and variance


@part
class SampledInverseGamma(Estimator):
    """``D̂ = D - 1 + 1/W̄``, W ~ Exp(1), with bias and variance estimated from the m samples by the delta method.

    The sum of exponential variables is independent of their proportions. So the sum is drawn through its normal score,
    which couples the estimate to the penalty method, and the proportions from m exponential variables of their own; of
    these only the squared coefficient of variation c² is needed: bias = c²/(m W̄), variance = c²/(m W̄²). The number of
    samples is a leaf, as in `InverseGamma`.
    """

    m: Array
    quantile: Array

    @classmethod
    def of(cls, m: int) -> SampledInverseGamma:
        return cls(float(m), log_gamma_quantile(m))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> tuple[Array, Array]:
        z = random.normal(key, shape)
        reciprocal = self.m / gamma_from_normal(self.quantile, -z)

        def add(i: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
            one = random.exponential(jr.fold_in(key, i + 1), shape)
            return sums[0] + one, sums[1] + one**2

        zeros = jnp.zeros(shape, float)
        total, squares = jax.lax.fori_loop(0, jnp.asarray(self.m, int), add, (zeros, zeros))
        return reciprocal, (squares * (self.m / total) ** 2 - self.m) / (self.m - 1)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        reciprocal, squared_variation = noise
        bias = squared_variation * reciprocal / self.m
        value = difference(position, candidate) - 1 + reciprocal
        return Estimate(value, bias, bias * reciprocal, np.float64(np.nan), self.m)


@part
class Weighted(Rule):
    """``D̂ - a bias - b variance``: one compiled program for the naive, the penalty and the corrected rule."""

    of_bias: Array
    of_variance: Array

    name = "weighted"
    needs_variance = True
    error = "that of the rule with these weights"

    def __call__(self, estimate: Estimate) -> Array:
        return estimate.value - (self.of_bias * estimate.bias + self.of_variance * estimate.variance)


def measure_bias(settings: Settings, report: Callable[[str], None]) -> dict[str, dict[int, Measured]]:
    """The bias of E log π(θ), by rule and m, with the independence proposal.

    An approximate chain is coupled to the exact penalty chain. Most of their states are identical, so that the mean
    difference is far less noisy than that of two separate runs. The corrected rule, with the smallest bias, gets the
    longest runs.
    """
    found: dict[str, dict[int, Measured]] = {rule: {} for rule in RULES}
    for m in settings.bias_counts:
        for rule, weights in RULES.items():
            approximate = Estimated(SampledInverseGamma.of(m), Weighted(*weights))
            run = sample(
                Coupled(penalty(NormalScore.of(m), INDEPENDENCE), MetropolisHastings(INDEPENDENCE, approximate)),
                draw_target,
                draws=settings.updates // settings.chains // (1 if rule == "corrected" else 4),
                chains=settings.chains,
                seed=settings.seed_of("bias", rule, m),
                progress=False,
            )
            found[rule][m] = mean_of(_log_density(run.positions.second) - _log_density(run.positions.first))
            report(f"bias of the {rule} chain, m = {m}: {found[rule][m]}")
    return found


def _log_density(positions: np.ndarray) -> np.ndarray:
    with double_precision():
        return np.asarray(jax.jit(jax.vmap(jax.vmap(log_density)))(positions))
