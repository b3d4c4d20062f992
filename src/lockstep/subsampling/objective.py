"""Minus the log posterior as a function to be minimized: SciPy's Newton method on sums of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.flat import size, unflatten
from lockstep.core.progress import Progress
from lockstep.core.trees import describe
from lockstep.core.types import Array, Position
from lockstep.subsampling.rows import Rows
from lockstep.subsampling.sums import Sums, block_derivatives, block_length, derivatives, require_row_values

NEAR_ENOUGH = 0.05  # of a posterior standard deviation
MOST_PASSES = 200


class Objective:
    """Minus the log posterior as a function of whitened coordinates; each evaluation is one pass over the rows."""

    def __init__(
        self,
        log_prior: Callable[..., Any],
        log_likelihood: Callable[..., Any],
        rows: Rows,
        like: Position,
        total: int,
        show: bool | None,
    ) -> None:
        self.log_prior, self.log_likelihood, self.rows, self.like = log_prior, log_likelihood, rows, like
        self.weight, self.show, self.passes = total / rows.size, show, 0
        self.center, self.factor = np.zeros(size(like)), np.eye(size(like))
        self.cache: dict[bytes, tuple[Sums, Sums]] = {}

    def at(self, u: Array) -> tuple[Sums, Sums]:
        """Sums of the likelihood, and with the prior added."""
        key = np.asarray(u).tobytes()
        if key not in self.cache:
            self.cache = {**dict(list(self.cache.items())[-2:]), key: self._pass(self.center + self.factor @ u)}
        return self.cache[key]

    def _pass(self, vector: Any) -> tuple[Sums, Sums]:
        vector, self.passes = jnp.asarray(vector), self.passes + 1
        length = block_length(self.rows, len(vector))
        likelihood = Sums(*(np.zeros(()),) * 3)
        with Progress(self.rows.size, f"mode: pass {self.passes} over the data", self.show) as shown:
            for start, skipped, block in self.rows.blocks(length):
                found = block_derivatives(self.log_likelihood, block, skipped, vector, self.like)
                part = Sums(*map(np.asarray, found))
                if not np.isfinite(part.value) and self.passes == 1:
                    require_row_values(self.log_likelihood, start, block, vector, self.like)
                likelihood = likelihood + part
                shown.update(min(start + length, self.rows.size))
        likelihood = likelihood * self.weight
        prior = prior_derivatives(self.log_prior, vector, self.like)
        if not np.isfinite(prior.value) and self.passes == 1:
            where = describe(unflatten(np.asarray(vector), self.like))
            raise ValueError(
                f"log_prior returned {prior.value} at {where}, where the search for the mode begins; give initial=... "
                f"inside the support"
            )
        return likelihood, likelihood + Sums(*map(np.asarray, prior))

    def minimize(self, radius: float, tolerance: float) -> Array:
        """SciPy's trust-region Newton method from the origin of the whitened coordinates."""
        from scipy.optimize import minimize

        def value(u: Array) -> float:
            found = -float(self.at(u)[1].value)
            return found if np.isfinite(found) else np.inf

        found = minimize(
            value,
            np.zeros(len(self.center)),
            method="trust-exact",
            jac=lambda u: -self.factor.T @ self.at(u)[1].gradient,
            hess=lambda u: -self.factor.T @ self.at(u)[1].hessian @ self.factor,
            options={
                "initial_trust_radius": radius,
                "max_trust_radius": 1e6 * radius,
                "gtol": tolerance,
                "maxiter": MOST_PASSES,
            },
        )
        return found.x

    @property
    def is_at_mode(self) -> bool:
        """Whether the quadratic at the center has its maximum nearby."""
        _, posterior = self.at(np.zeros(len(self.center)))
        factor = covariance_factor(-posterior.hessian)
        return factor is not None and bool(np.linalg.norm(factor.T @ posterior.gradient) < 1.0)

    def search(self, radius: float = 1.0) -> None:
        """Find the minimum: first in the user's coordinates, then in units of posterior standard deviations.

        ``radius`` is how far the first step may go, in the units that are known when the search begins.
        """
        self.move_to(np.zeros(len(self.center)))
        self.move_to(self.minimize(radius, NEAR_ENOUGH))
        self.move_to(self.minimize(1.0, NEAR_ENOUGH))

    def move_to(self, u: Array) -> None:
        """Make a point the new origin, and its Hessian the new unit of length where it is one."""
        _, posterior = self.at(u)
        center = self.center + self.factor @ np.asarray(u)
        factor = covariance_factor(-posterior.hessian)
        if factor is not None:
            self.factor = factor
        self.center, self.cache = center, {np.zeros(len(center)).tobytes(): self.at(u)}


def covariance_factor(precision: Array) -> Array | None:
    """The lower Cholesky factor of the inverse of a matrix; None if the matrix is not positive definite."""
    if not np.all(np.isfinite(precision)):
        return None
    eigenvalues, vectors = np.linalg.eigh((precision + precision.T) / 2)
    if eigenvalues[0] <= 1e-13 * abs(eigenvalues[-1]):
        return None
    return np.linalg.cholesky((vectors / eigenvalues) @ vectors.T)


@jax.jit
def prior_derivatives(log_prior: Callable[..., Any], vector: Array, like: Position) -> Sums:
    """Value, gradient and Hessian of a log prior at a flat position."""
    return derivatives(log_prior, vector, like)
