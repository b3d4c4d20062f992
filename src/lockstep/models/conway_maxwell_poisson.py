"""Regression of counts that are more or less spread out than Poisson counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import real_numbers
from lockstep.core.parts import part, set_field
from lockstep.core.simulator import Simulator
from lockstep.core.trees import is_concrete
from lockstep.core.types import Array, Key, Position
from lockstep.models.arguments import data_like, parameters
from lockstep.models.factorials import log_factorial
from lockstep.parameters.names import names_of

LARGEST = 30 * np.log(2.0)  # of log μ: larger counts would be out of the range of whole numbers


@part
class ConwayMaxwellPoisson(Simulator):
    """Counts y_i with ``L(θ, y) = Π_i (μ_i^{y_i} / y_i!)^ν``, ``log μ_i = x_i·β`` and θ = (β, log ν).

    ν = 1 is Poisson regression; counts are less spread out for ν > 1 and more for ν < 1. μ_i is close to the mode of
    y_i. Draws are exact, by rejection from an envelope that is flat around the mode and geometric beyond.

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
    Guikema and Coffelt (2008), Risk Analysis 28 (this parameter μ). Devroye (1987), Computing 39 (envelopes of discrete
    laws whose logarithm is concave). Benson and Friel (2021), Bayesian Analysis 16 (rejection in an exchange).
    """

    design: Any

    is_perfect = True

    @property
    def shown(self) -> Any:
        """The coefficients and log ν by name."""
        return names_of([*(f"beta_{i}" for i in range(self.design.shape[1])), "log_nu"], "design")

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

    def statistic(self, y: Array) -> Array:
        """``(Xᵀ y, -Σ log y_i!)``; then ``log L = ν (β, 1)·statistic``."""
        y = self._counts(y)
        return jnp.append(y @ jnp.asarray(self.design), -jnp.sum(log_factorial(y)))

    def log_likelihood(self, theta: Position, y: Array) -> Array:
        """``ν Σ_i (y_i log μ_i - log y_i!)``, without the normalising constants; minus infinity for negative counts."""
        theta, y = parameters(theta, self.parameters, "ConwayMaxwellPoisson"), self._counts(y)
        value = jnp.exp(theta[-1]) * jnp.dot(jnp.append(theta[:-1], 1.0), self.statistic(y))
        return jnp.where(jnp.all(y >= 0), value, -jnp.inf)

    def simulate(self, key: Key, theta: Position) -> Array:
        """An exact draw of all counts."""
        theta = parameters(theta, self.parameters, "ConwayMaxwellPoisson")
        log_mean, nu = jnp.asarray(self.design, float) @ theta[:-1], jnp.exp(theta[-1])
        if is_concrete((log_mean, nu)) and not (np.all(log_mean < LARGEST) and 0 < nu < np.inf):
            raise ValueError(
                f"theta of ConwayMaxwellPoisson is {np.asarray(theta).tolist()}: its counts have means above 2^30, or "
                f"its dispersion is no positive number; scale the design, or tighten the prior"
            )
        return _drawn(key, log_mean, nu)

    def _counts(self, y: Array) -> Array:
        y = data_like(y, self.design.shape[:1], "ConwayMaxwellPoisson")
        if is_concrete(y) and np.any(np.asarray(y) < 0):
            raise ValueError("y of ConwayMaxwellPoisson has negative entries; it must be counts")
        return y


class Envelope(NamedTuple):
    """Flat around the mode, geometric beyond: it lies above any law whose logarithm is concave, such as this one.

    With f the log law less its value at the mode, whole numbers l < mode < r and the slopes of f on the inner side of l
    and r: ``f(y) ≤ 0`` between them, ``f(y) ≤ f(r) + (y - r) slope(r)`` from r on, and likewise down from l.
    """

    log_mean: Array
    nu: Array
    mode: Array
    low: Array
    high: Array
    rise: Array
    fall: Array
    below: Array
    between: Array
    above: Array
    log_top: Array  # log mode!
    at_low: Array  # f there
    at_high: Array

    def log_law(self, y: Array) -> Array:
        """f(y), the log law of a count less its value at the mode."""
        return self.nu * ((y - self.mode) * self.log_mean - (log_factorial(y) - self.log_top))

    def proposed(self, uniform: Array, exponential: Array) -> Array:
        """A count from the envelope; it may be negative, which the law forbids."""
        place = uniform * (self.below + self.between + self.above) - self.below
        # FLAT: one of the counts from low + 1 to high - 1, all as likely. Where rounding leads out of them, the last.
        flat = self.low + 1 + jnp.minimum(jnp.floor(place), self.between - 1)
        left = self.low - jnp.floor(exponential / self.rise)
        right = self.high + jnp.floor(exponential / self.fall)
        return jnp.where(place < 0, left, jnp.where(place < self.between, flat, right))

    def log_acceptance(self, y: Array) -> Array:
        """By how much the law lies below the envelope at a count."""
        tail = jnp.where(
            y <= self.low,
            self.at_low - (self.low - y) * self.rise,
            self.at_high - (y - self.high) * self.fall,
        )
        is_flat = (y > self.low) & (y < self.high)
        return jnp.where(y >= 0, self.log_law(y) - jnp.where(is_flat, 0.0, tail), -jnp.inf)


def envelope(log_mean: Array, nu: Array) -> Envelope:
    """The envelope of counts, with a flat part of about one standard deviation on each side."""
    mean = jnp.exp(log_mean)
    mode = jnp.floor(mean)
    reach = jnp.maximum(jnp.ceil(1.1 * jnp.sqrt((mean + 1) / nu)), 2.0)
    # Without a count below the flat part there is no tail there.
    low, high = jnp.maximum(mode - reach, -1.0), mode + reach
    rise, fall = nu * (log_mean - jnp.log(low + 1)), nu * (jnp.log(high) - log_mean)
    found = Envelope(log_mean, nu, mode, low, high, rise, fall, low, low, low, log_factorial(mode), low, low)
    has_tail = low >= 0
    at_low, at_high = found.log_law(jnp.where(has_tail, low, mode)), found.log_law(high)

    def tail(height: Array, slope: Array) -> Array:
        return jnp.exp(height) / -jnp.expm1(-slope)

    below = jnp.where(has_tail, tail(at_low, jnp.where(has_tail, rise, 1.0)), 0.0)
    return found._replace(
        below=below, between=high - low - 1, above=tail(at_high, fall), at_low=at_low, at_high=at_high
    )


@jax.jit
def _drawn(key: Key, log_mean: Array, nu: Array) -> Array:
    """Counts by rejection; -1 where θ makes no law that could be drawn from, which has a likelihood of 0."""
    is_hopeless = ~(jnp.isfinite(log_mean) & (log_mean < LARGEST) & (nu > 0) & (nu < jnp.inf))
    over = envelope(jnp.where(is_hopeless, 0.0, log_mean), jnp.where(is_hopeless, 1.0, nu))
    shape = log_mean.shape

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        y, is_done, number = carry
        keys = random.split(random.fold_in(key, number))
        exponentials = random.exponential(keys[0], (2, *shape))
        proposed = over.proposed(random.uniform(keys[1], shape), exponentials[0])
        is_accepted = -exponentials[1] <= over.log_acceptance(proposed)
        return jnp.where(is_accepted & ~is_done, proposed, y), is_done | is_accepted, number + 1

    start = (jnp.full(shape, -1.0), is_hopeless, jnp.zeros((), np.int32))
    y, _, _ = jax.lax.while_loop(lambda carry: ~jnp.all(carry[1]), attempt, start)
    return y.astype(int)
