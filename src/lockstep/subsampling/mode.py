"""The mode of a posterior, and the normal (Laplace) approximation there: SciPy's Newton method on sums of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.flat import flatten, require_floating, size, unflatten
from lockstep.core.precision import canonical, double_precision
from lockstep.core.progress import Progress
from lockstep.core.trees import describe
from lockstep.core.types import Array, Position
from lockstep.host.functions import Scalar, wrapped
from lockstep.subsampling.prior import prior_of, require_order
from lockstep.subsampling.rows import Rows, as_rows
from lockstep.subsampling.sums import Sums, all_values, block_derivatives, block_length, derivatives, require_row_values

FIRST_ROWS = 2**15  # enough for a start that is a few steps from the mode
NEAR_ENOUGH = 0.05  # of a posterior standard deviation
MOST_PASSES = 200
FAR = 10.0  # standard deviations
LEAST_FALL = 1.0  # of the log posterior, that far away


class Mode(NamedTuple):
    """The mode of a posterior and the normal approximation of the posterior there.

    ``center`` is where the derivatives were taken; ``mean`` the maximum of the quadratic there, nearer still to the
    mode. ``factor`` is the Cholesky factor of the approximation's covariance, ``height`` the log posterior's maximum.
    """

    position: Position
    center: Array
    likelihood: Sums
    mean: Array
    factor: Array
    height: float
    passes: int


class Objective:
    """Minus the log posterior as a function of whitened coordinates; each evaluation is one pass over the rows."""

    def __init__(
        self, log_prior: Any, log_likelihood: Any, rows: Rows, like: Position, total: int, show: bool | None
    ) -> None:
        self.log_prior, self.log_likelihood, self.rows, self.like = log_prior, log_likelihood, rows, like
        self.weight, self.show, self.passes = total / rows.size, show, 0
        self.center, self.factor = np.zeros(size(like)), np.eye(size(like))
        self.cache: dict[bytes, tuple[Sums, Sums]] = {}

    def at(self, u: Any) -> tuple[Sums, Sums]:
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
            for start, block in self.rows.blocks(length):
                part = Sums(*map(np.asarray, block_derivatives(self.log_likelihood, block, vector, self.like)))
                if not np.isfinite(part.value) and self.passes == 1:
                    require_row_values(self.log_likelihood, start, block, vector, self.like)
                likelihood = likelihood + part
                shown.update(min(start + length, self.rows.size))
        likelihood = likelihood * self.weight
        prior = _prior_derivatives(self.log_prior, vector, self.like)
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

        def value(u: Any) -> float:
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

    def search(self) -> None:
        """Find the minimum: first in the user's coordinates, then in units of posterior standard deviations."""
        self.move_to(np.zeros(len(self.center)))
        self.move_to(self.minimize(1.0, NEAR_ENOUGH))
        self.move_to(self.minimize(1.0, NEAR_ENOUGH))

    def move_to(self, u: Any) -> None:
        """Make a point the new origin, and its Hessian the new unit of length where it is one."""
        _, posterior = self.at(u)
        center = self.center + self.factor @ np.asarray(u)
        factor = covariance_factor(-posterior.hessian)
        if factor is not None:
            self.factor = factor
        self.center, self.cache = center, {np.zeros(len(center)).tobytes(): self.at(u)}


def find_mode(log_prior: Any, log_likelihood: Any, data: Any, initial: Position, progress: bool | None = None) -> Mode:
    """Find the mode of ``log_prior + Σ log_likelihood(·, row)`` and the normal approximation there.

    A search on some tens of thousands of rows comes first, then Newton steps on all of them: two or three passes over
    the data as a rule, in blocks, so that a file larger than memory will do.

    Parameters
    ----------
    log_prior, log_likelihood, data
        As for `lockstep.estimators.subsample`.
    initial
        Where the search begins, a position.
    progress
        As for `lockstep.sample`.
    """
    require_order(log_likelihood, "ls.subsampling.find_mode(log_prior, log_likelihood, data, initial)")
    if isinstance(initial, Mode):
        raise TypeError("initial is a Mode; give the position at which to begin, such as its own, mode.position")
    with double_precision():
        rows, like = as_rows(data), canonical(initial, "initial")
        if not any(np.size(leaf) for leaf in jax.tree.leaves(like)):
            raise ValueError(f"initial is {initial!r}, which holds no number; give a position")
        require_floating(like, "the search for the mode")
        if not all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(like)):
            raise ValueError(f"initial is {describe(like)}; give finite numbers, at which to begin the search")
        likelihood = canonical(wrapped(Scalar, log_likelihood, "log_likelihood"), "log_likelihood")
        prior = canonical(prior_of(log_prior), "log_prior")
        objective = Objective(prior, likelihood, rows, like, rows.size, progress)
        objective.center = np.asarray(flatten(like, np), float)
        if rows.size > 2 * FIRST_ROWS:
            first = Objective(prior, likelihood, some_rows(rows, FIRST_ROWS), like, rows.size, False)
            first.center = objective.center
            first.search()
            objective.center, objective.factor = first.center, first.factor
        objective.search()
        return _laplace(objective)


def some_rows(rows: Rows, count: int) -> Rows:
    """So many rows chosen at random, always the same ones; all if there are no more."""
    if rows.size <= count and rows.files is None:
        return rows
    chosen = np.sort(np.random.default_rng(0).choice(rows.size, min(count, rows.size), replace=False))
    source = rows.arrays if rows.files is None else rows.files.arrays
    return Rows(jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf[chosen])), source), len(chosen))


def _laplace(objective: Objective) -> Mode:
    likelihood, posterior = objective.at(np.zeros(len(objective.center)))
    factor = covariance_factor(-posterior.hessian)
    if factor is None:
        eigenvalues, vectors = np.linalg.eigh(-posterior.hessian)
        raise ValueError(_improper(objective, vectors[:, 0], f"its curvature there is {eigenvalues[0]:.3g}"))
    step = factor @ (factor.T @ posterior.gradient)
    if not np.linalg.norm(factor.T @ posterior.gradient) < 1.0:
        raise ValueError(
            f"the search for the mode ended after {objective.passes} passes without finding it; begin elsewhere with "
            f"initial=..., or give log_prior (an improper posterior may have no mode)"
        )
    _require_fall(objective, factor)
    mode = unflatten(jnp.asarray(objective.center), objective.like)
    return Mode(
        position=jax.tree.map(np.asarray, mode),
        center=objective.center,
        likelihood=likelihood,
        mean=objective.center + step,
        factor=factor,
        height=float(posterior.value + posterior.gradient @ step / 2),
        passes=objective.passes,
    )


def _require_fall(objective: Objective, factor: Array) -> None:
    """Refuse a posterior that does not fall off where its approximation is widest: separable data, a flat direction."""
    left, sizes, _ = np.linalg.svd(factor)
    direction = left[:, 0] * sizes[0]
    ends = jnp.asarray(objective.center + np.array([[0.0], [FAR], [-FAR]]) * direction)
    values = objective.weight * all_values(objective.log_likelihood, objective.rows, ends, objective.like)
    prior = jax.vmap(lambda v: objective.log_prior(unflatten(v, objective.like)))(ends)
    fall = (values + np.asarray(prior))[0] - (values + np.asarray(prior))[1:]
    if np.nanmin(np.where(np.isnan(fall), np.inf, fall)) < LEAST_FALL:
        sign = 1.0 if np.argmin(fall) == 0 else -1.0
        raise ValueError(
            _improper(objective, sign * left[:, 0], f"{FAR:.0f} standard deviations on it is lower by {min(fall):.3g}")
        )


def _improper(objective: Objective, direction: Array, what: str) -> str:
    where = describe(unflatten(np.round(objective.center, 3), objective.like))
    along = describe(unflatten(np.round(direction, 3), objective.like))
    return (
        f"the log posterior has no proper maximum: from {where} it does not fall off in the direction {along} "
        f"({what}). The data may be separable, or a parameter not identified: give a proper log_prior=..."
    )


def covariance_factor(precision: Array) -> Array | None:
    """The lower Cholesky factor of the inverse of a matrix; None if the matrix is not positive definite."""
    if not np.all(np.isfinite(precision)):
        return None
    eigenvalues, vectors = np.linalg.eigh((precision + precision.T) / 2)
    if eigenvalues[0] <= 1e-13 * abs(eigenvalues[-1]) or eigenvalues[0] <= 0:
        return None
    return np.linalg.cholesky((vectors / eigenvalues) @ vectors.T)


@jax.jit
def _prior_derivatives(log_prior: Any, vector: Array, like: Position) -> Sums:
    return derivatives(log_prior, vector, like)
