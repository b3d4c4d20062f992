"""Regression of counts that are more or less spread out than Poisson counts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import gammaln

from lockstep.core.arguments import real_numbers
from lockstep.core.parts import part, set_field
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key
from lockstep.models.arguments import data_like, parameters

LARGEST = 30 * np.log(2.0)  # of log μ: larger counts would be out of the range of whole numbers


@part
class ConwayMaxwellPoisson:
    """Counts y_i with ``L(θ, y) = Π_i (μ_i^{y_i} / y_i!)^ν``, ``log μ_i = x_i·β`` and θ = (β, log ν).

    ν = 1 is Poisson regression; counts are less spread out for ν > 1 and more for ν < 1. μ_i is close to the mode of
    y_i. Draws are exact, by rejection: from Poisson variables for ν >= 1, from geometric ones for ν < 1.

    Parameters
    ----------
    design
        The covariates x_i, a row for each count. A column of ones makes the intercept.

    Examples
    --------
    >>> import jax, numpy as np, lockstep as ls
    >>> model = ls.models.ConwayMaxwellPoisson(np.ones((20, 1)))
    >>> y = model.simulate(jax.random.key(0), [1.0, 0.3])
    >>> y.shape
    (20,)

    References
    ----------
    Guikema and Coffelt (2008), Risk Analysis 28 (this parameter μ). Benson and Friel (2021), Bayesian Analysis 16
    (rejection).
    """

    design: Any

    def __post_init__(self) -> None:
        if not is_concrete(self.design):
            return
        design = real_numbers(self.design, "design of ConwayMaxwellPoisson")
        if design.ndim != 2:
            raise ValueError(
                f"design of ConwayMaxwellPoisson has shape {design.shape}; it must be a matrix, a row for each count"
            )
        set_field(self, "design", design)

    @property
    def parameters(self) -> int:
        """The length of θ."""
        return self.design.shape[1] + 1

    def statistic(self, y: Any) -> Array:
        """``(Xᵀ y, -Σ log y_i!)``; then ``log L = ν (β, 1)·statistic``."""
        y = self._counts(y)
        return jnp.append(y @ jnp.asarray(self.design), -jnp.sum(gammaln(y + 1.0)))

    def log_likelihood(self, theta: Any, y: Any) -> Array:
        """``ν Σ_i (y_i log μ_i - log y_i!)``, without the normalising constants; minus infinity for negative counts."""
        theta, y = parameters(theta, self.parameters, "ConwayMaxwellPoisson"), self._counts(y)
        value = jnp.exp(theta[-1]) * jnp.dot(jnp.append(theta[:-1], 1.0), self.statistic(y))
        return jnp.where(jnp.all(y >= 0), value, -jnp.inf)

    def simulate(self, key: Key, theta: Any) -> Array:
        """An exact draw of all counts."""
        theta = parameters(theta, self.parameters, "ConwayMaxwellPoisson")
        log_mean, nu = jnp.asarray(self.design, float) @ theta[:-1], jnp.exp(theta[-1])
        if is_concrete((log_mean, nu)) and not (np.all(log_mean < LARGEST) and 0 < nu < np.inf):
            raise ValueError(
                f"theta of ConwayMaxwellPoisson is {np.asarray(theta).tolist()}: its counts have means above 2^30, or "
                f"its dispersion is no positive number; scale the design, or tighten the prior"
            )
        return _drawn(key, log_mean, nu)

    def _counts(self, y: Any) -> Array:
        y = data_like(y, self.design.shape[:1], "ConwayMaxwellPoisson")
        if is_concrete(y) and np.any(np.asarray(y) < 0):
            raise ValueError("y of ConwayMaxwellPoisson has negative entries; it must be counts")
        return y


@jax.jit
def _drawn(key: Key, log_mean: Array, nu: Array) -> Array:
    """Counts by rejection; -1 where θ makes no law that could be drawn from, which has a likelihood of 0."""
    is_thin = nu >= 1
    # ENVELOPE: Poisson(μ), or the geometric law of success probability p; both touch where the ratio is largest.
    mean = jnp.exp(log_mean)
    log_failure = jnp.where(is_thin, -1.0, jnp.log1p(-2 * nu / (2 * mean * nu + 1 + nu)))
    top = jnp.floor(jnp.where(is_thin, mean, mean * jnp.exp(-log_failure / nu)))

    def log_ratio(y: Array) -> Array:
        log_poisson = y * log_mean - gammaln(y + 1)
        return jnp.where(is_thin, (nu - 1) * log_poisson, nu * log_poisson - y * log_failure)

    def propose(key: Key) -> Array:
        key_poisson, key_geometric = jr.split(key)
        geometric = jnp.floor(-jr.exponential(key_geometric, mean.shape, float) / log_failure)
        return jnp.where(is_thin, jr.poisson(key_poisson, mean).astype(float), geometric)

    def attempt(carry: tuple[Array, Array, Key]) -> tuple[Array, Array, Key]:
        y, is_done, key = carry
        key, key_proposal, key_accept = jr.split(key, 3)
        proposed = propose(key_proposal)
        is_accepted = -jr.exponential(key_accept, mean.shape, float) <= log_ratio(proposed) - log_ratio(top)
        return jnp.where(is_accepted & ~is_done, proposed, y), is_done | is_accepted, key

    is_hopeless = ~(jnp.isfinite(log_ratio(top)) & (log_mean < LARGEST) & (nu > 0))
    start = (jnp.full(mean.shape, -1.0), is_hopeless, key)
    y, _, _ = jax.lax.while_loop(lambda carry: ~jnp.all(carry[1]), attempt, start)
    return y.astype(int)
