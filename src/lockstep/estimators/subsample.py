"""A log likelihood that is a sum over many rows, estimated from a few of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.arguments import real_numbers, whole
from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part, static
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.mean import average
from lockstep.estimators.samples import moments
from lockstep.host.functions import Scalar, shown_by, wrapped
from lockstep.host.prior import prior_of, require_order
from lockstep.subsampling.mode import find_mode, known_mode
from lockstep.subsampling.rows import Rows, as_rows, draw_indices, widened
from lockstep.subsampling.scatter import Scattered
from lockstep.subsampling.surrogates import Control, NoControl, Taylor

MOST_BYTES_IN_NOISE = 2**13  # of the rows of one update; larger ones are gathered when they are used


@part
class Subsample(Estimator):
    """``D̂`` = log prior and surrogate exactly, plus N times the average remainder of ``count`` rows."""

    log_prior: Scalar
    log_likelihood: Scalar
    rows: Rows
    control: Any  # a `Control`
    cumulative: Any  # of the rows' probabilities; None if they are equal
    count: int = static()

    @property
    def has_variance(self) -> bool:
        return self.count > 1

    @property
    def shown(self) -> Any:
        return shown_by(self.log_likelihood, self.log_prior)

    @property
    def is_fitted(self) -> bool:
        return self.control.is_fitted

    def reparametrized(self, likelihood: Any, prior: Any) -> Subsample:
        """The same of other positions, with a prior more."""
        log_prior = Scalar(prior(self.log_prior), self.log_prior.name)
        log_likelihood = Scalar(likelihood(self.log_likelihood), self.log_likelihood.name)
        return Subsample(log_prior, log_likelihood, self.rows, self.control, self.cumulative, self.count)

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        if not self.is_fitted:
            raise ValueError(
                "subsample: the mode for control='taylor' is not known yet; ls.sample finds it from its initial "
                "position, elsewhere give subsample(..., initial=position) to find it at once"
            )
        indices = draw_indices(key, self.rows.size, self.cumulative, (*shape, self.count))
        # As they came: half the memory, which is what a block of such noise costs most.
        return (self.rows.pick(indices), self._weights(indices)) if self._is_gathered_early else indices

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Estimate:
        rows, weights = noise if self._is_gathered_early else (self.rows.pick(noise), self._weights(noise))
        rows = widened(rows)

        def one(row: Tree) -> Array:
            change = self.log_likelihood(candidate, row) - self.log_likelihood(position, row)
            return change - self.control.change_of_row(self.log_likelihood, position, candidate, row)

        factor = float(self.rows.size) if weights is None else weights
        estimate = average(moments(factor * jax.vmap(one)(rows)), self.count)
        prior = self.log_prior(candidate) - self.log_prior(position)
        return estimate._replace(value=estimate.value + (prior + self.control.change_of_all(position, candidate)))

    def remainder(self, position: Position, row: Tree) -> Array:
        """What the surrogate leaves of the log likelihood of one row."""
        return self.log_likelihood(position, row) - self.control.of_row(self.log_likelihood, position, row)

    def known(self, position: Position) -> Array:
        """Log prior plus the surrogate's sum over all rows."""
        return self.log_prior(position) + self.control.of_all(position)

    def with_count(self, count: int) -> Subsample:
        """The same estimator with another number of rows."""
        count = whole(count, "count", 1)
        return Subsample(self.log_prior, self.log_likelihood, self.rows, self.control, self.cumulative, count)

    def fit(self, position: Position, progress: bool | None = None) -> tuple[Subsample, Any]:
        """With the Taylor expansion at the mode that is found from ``position``, and the surroundings of the mode.

        Where the mode is known already, these alone: chains begin around it, wherever the user's position is.
        """
        model = (self.log_prior, self.log_likelihood, self.rows)
        if self.is_fitted:
            known = known_mode(*model, position, self.control)
            return self, position if known is None else Scattered(known, *model)
        mode = find_mode(*model, position, progress)
        control = Taylor(mode.center, mode.likelihood.gradient, mode.likelihood.hessian)
        return Subsample(*model, control, self.cumulative, self.count), Scattered(mode, *model)

    @property
    def _is_gathered_early(self) -> bool:
        return self.rows.files is not None or self.count * self.rows.bytes_per_row <= MOST_BYTES_IN_NOISE

    def _weights(self, indices: Array) -> Array | None:
        if self.cumulative is None:
            return None
        below = jnp.where(indices > 0, self.cumulative[indices - 1], 0.0)
        return 1 / (self.cumulative[indices] - below)


def subsample(
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    data: Tree = None,
    count: int | None = None,
    control: Any = "taylor",
    initial: Position | None = None,
    weights: Array = None,
    progress: bool | None = None,
) -> Subsample:
    """Estimate D of a posterior from ``count`` rows of the data, drawn with replacement.

    ``D̂ = log p(θ') - log p(θ) + Σq(θ') - Σq(θ) + (N/m) Σ_sample [(ℓ - q)(θ') - (ℓ - q)(θ)]``: unbiased, with a variance
    that is the same in both directions. The surrogate q makes the variance small; its sum is known.

    Parameters
    ----------
    log_prior
        ``log_prior(theta)``; None for a flat one.
    log_likelihood
        ``log_likelihood(theta, row)`` of one row.
    data
        An array, or any structure of arrays, with a common first axis over the rows. Memory-mapped arrays
        (``numpy.load(..., mmap_mode="r")``) stay on disk: only the rows in use are read.
    count
        How many rows m an estimate takes.
    control
        ``"taylor"``: q is the second-order expansion of ℓ at the mode of the posterior. None: no surrogate, and an
        estimate so noisy that only short steps can be taken. Or a `lockstep.subsampling.Surrogate` of your own.
    initial
        A position from which the mode is searched at once. If left out, `lockstep.sample` searches it from its own
        initial position, and begins its chains around it.
    weights
        Positive numbers, one a row: rows are drawn with probabilities proportional to them. It pays where few rows
        make most of the remainder (covariates with heavy tails).
    progress
        Whether to show the passes over the data, as for `lockstep.sample`.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, lockstep as ls
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=(5_000, 2))
    >>> y = generator.uniform(size=5_000) < 1 / (1 + np.exp(-x @ [0.5, -0.3]))
    >>> def log_likelihood(theta, row):
    ...     logit = jnp.dot(row["x"], theta)
    ...     return row["y"] * logit - jnp.logaddexp(0.0, logit)
    >>> estimator = ls.estimators.subsample(None, log_likelihood, {"x": x, "y": y}, count=32)
    >>> kernel = ls.corrected(estimator, ls.RandomWalk(0.05))  # for ls.sample(kernel, np.zeros(2))

    See Also
    --------
    lockstep.subsampled : a whole kernel, with a proposal that suits.

    References
    ----------
    Bardenet, Doucet and Holmes (2017), JMLR 18; Quiroz, Kohn, Villani and Tran (2019), JASA 114.
    """
    require_order(log_likelihood, "ls.estimators.subsample(log_prior, log_likelihood, data, count)")
    likelihood, rows = wrapped(Scalar, log_likelihood, "log_likelihood"), as_rows(data)
    count = whole(count, "count of subsample", 1)
    if count > rows.size:
        raise ValueError(
            f"count of subsample is {count:,}, but the data have only {rows.size:,} rows; take fewer, or use "
            f"ls.standard with the sum over all rows"
        )
    estimator = Subsample(prior_of(log_prior), likelihood, rows, _control(control), _cumulative(weights, rows), count)
    return estimator if initial is None else estimator.fit(initial, progress)[0]


def _control(control: Any) -> Control:
    if control is None:
        return NoControl()
    wanted = "'taylor', None, or a surrogate, ls.subsampling.Surrogate(row, total)"
    if not isinstance(control, str):
        return adopted(control, Control, "control of subsample", wanted)
    if control != "taylor":
        raise ValueError(f"control of subsample is {control!r}; it must be {wanted}")
    return Taylor(None, None, None)


def _cumulative(weights: Array, rows: Rows) -> Any:
    if weights is None:
        return None
    numbers = real_numbers(weights, "weights of subsample")
    if numbers.shape != (rows.size,) or not np.all(numbers > 0):
        raise ValueError(
            f"weights of subsample have shape {numbers.shape} and the least is {numbers.min()}; give {rows.size:,} "
            f"positive numbers, one a row"
        )
    return np.cumsum(numbers) / np.sum(numbers)
