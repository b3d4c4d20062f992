"""The mode of a posterior, and the normal (Laplace) approximation there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.flat import flatten, require_floating, unflatten
from lockstep.core.precision import canonical, double_precision
from lockstep.core.trees import describe
from lockstep.core.types import Array, Position, Tree
from lockstep.host.functions import Scalar, wrapped
from lockstep.host.prior import prior_of, require_order
from lockstep.subsampling.objective import Objective, covariance_factor, prior_derivatives
from lockstep.subsampling.rows import Rows, as_rows
from lockstep.subsampling.sums import Sums, all_values, prior_values

FIRST_ROWS = 2**15  # enough for a start that is a few steps from the mode
OTHER_STARTS = 4
FAR = 10.0  # standard deviations
LEAST_FALL = 1.0  # of the log posterior, that far away


class NoMode(ValueError):
    """A search has found no mode."""


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


def find_mode(
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    data: Tree,
    initial: Position,
    progress: bool | None = None,
) -> Mode:
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
        few = rows.some(FIRST_ROWS) if rows.size > 2 * FIRST_ROWS else rows
        start = np.asarray(flatten(like, np), float)

        def placed(rows_seen: Rows, center: Array, shown: bool | None = False) -> Objective:
            objective = Objective(prior, likelihood, rows_seen, like, rows.size, shown)
            objective.center = center
            return objective

        def from_few(center: Array) -> Mode:
            objective = placed(rows, center, progress)
            if few is not rows:
                first = placed(few, center)
                first.search()
                objective.center, objective.factor = first.center, first.factor
            # The mode of a share of the rows is off by so many standard deviations, as a rule: one step goes there.
            objective.search(np.sqrt(len(center) * rows.size / few.size) if few is not rows else 1.0)
            return _laplace(objective)

        try:
            return from_few(start)
        except NoMode as failure:
            for other in _other_starts(start):
                with suppress(
                    ValueError, np.linalg.LinAlgError
                ):  # outside of the support, or no mode from there either
                    found = placed(few, other)
                    found.search()
                    if found.is_at_mode:
                        return from_few(found.center)
            raise failure


def _other_starts(start: Array) -> Array:
    """Beside a start from which no mode was found: near it (it may have been a saddle), and farther away."""
    steps = np.random.default_rng(0).normal(size=(OTHER_STARTS, len(start)))
    return start + np.geomspace(0.1, 3.0, OTHER_STARTS)[:, None] * steps


def _laplace(objective: Objective) -> Mode:
    likelihood, posterior = objective.at(np.zeros(len(objective.center)))
    factor = covariance_factor(-posterior.hessian)
    if factor is None:
        eigenvalues, vectors = np.linalg.eigh(-posterior.hessian)
        raise NoMode(_improper(objective, vectors[:, 0], f"its curvature there is {eigenvalues[0]:.3g}"))
    if not objective.is_at_mode:
        raise NoMode(
            f"the search for the mode ended after {objective.passes} passes without finding it; begin elsewhere with "
            f"initial=..., or give log_prior (an improper posterior may have no mode)"
        )
    _require_fall(objective, factor)
    return _approximation(objective.like, objective.center, likelihood, posterior, factor, objective.passes)


def _approximation(
    like: Position, center: Array, likelihood: Sums, posterior: Sums, factor: Array, passes: int
) -> Mode:
    step = factor @ (factor.T @ posterior.gradient)
    return Mode(
        position=jax.tree.map(np.asarray, unflatten(jnp.asarray(center), like)),
        center=center,
        likelihood=likelihood,
        mean=center + step,
        factor=factor,
        height=float(posterior.value + posterior.gradient @ step / 2),
        passes=passes,
    )


def known_mode(
    log_prior: Callable[..., Any], log_likelihood: Callable[..., Any], rows: Rows, position: Position, control: Any
) -> Mode | None:
    """The mode at which a control expands the log likelihood, from its derivatives and one pass over the data.

    None if it is no expansion, or the posterior has no maximum there.
    """
    if control.center is None:
        return None
    with double_precision():
        like = canonical(position, "initial")
        likelihood = canonical(wrapped(Scalar, log_likelihood, "log_likelihood"), "log_likelihood")
        center, gradient, hessian = (
            np.asarray(one, float) for one in (control.center, control.gradient, control.hessian)
        )
        value = all_values(likelihood, rows, jnp.asarray(center)[None], like)[0]
        sums = Sums(value, gradient, hessian)
        prior = prior_derivatives(canonical(prior_of(log_prior), "log_prior"), jnp.asarray(center), like)
        posterior = sums + Sums(*map(np.asarray, prior))
        factor = covariance_factor(-posterior.hessian)
        return None if factor is None else _approximation(like, center, sums, posterior, factor, 1)


def _require_fall(objective: Objective, factor: Array) -> None:
    """Refuse a posterior that does not fall off where its approximation is widest: separable data, a flat direction."""
    left, sizes, _ = np.linalg.svd(factor)
    direction = left[:, 0] * sizes[0]
    ends = jnp.asarray(objective.center + np.array([[0.0], [FAR], [-FAR]]) * direction)
    values = objective.weight * all_values(objective.log_likelihood, objective.rows, ends, objective.like)
    values = values + np.asarray(prior_values(objective.log_prior, ends, objective.like))
    fall = values[0] - values[1:]
    if np.nanmin(np.where(np.isnan(fall), np.inf, fall)) < LEAST_FALL:
        sign = 1.0 if np.argmin(fall) == 0 else -1.0
        raise NoMode(
            _improper(objective, sign * left[:, 0], f"{FAR:.0f} standard deviations on it is lower by {min(fall):.3g}")
        )


def _improper(objective: Objective, direction: Array, what: str) -> str:
    where = describe(unflatten(np.round(objective.center, 3), objective.like))
    along = describe(unflatten(np.round(direction, 3), objective.like))
    return (
        f"the log posterior has no proper maximum: from {where} it does not fall off in the direction {along} "
        f"({what}). The data may be separable, or a parameter not identified: give a proper log_prior=.... Or the "
        f"density has a peak without a top, as that of a hierarchical model where its scale goes to 0: write the "
        f"effects as mean + scale * z with standard normal z, or do without a mode: ls.standard with ls.RandomWalk and "
        f"adapt=True"
    )
