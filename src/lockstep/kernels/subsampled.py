"""One line for large data: mode, surrogate, proposal and number of rows found from the data."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from lockstep.core.arguments import whole
from lockstep.core.parts import part, static
from lockstep.core.types import Array, Position, Tree
from lockstep.core.warnings import warn
from lockstep.estimators.subsample import Subsample, subsample as subsample_estimator
from lockstep.host.functions import Scalar, Wrapped, shown_by
from lockstep.host.prior import require_order
from lockstep.kernels.corrected import corrected
from lockstep.kernels.delayed import Delayed
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.kernels.standard import standard
from lockstep.subsampling.diagnosis import Diagnosis
from lockstep.subsampling.proposals import check_proposal, choose_proposal
from lockstep.subsampling.rows import Rows
from lockstep.subsampling.scatter import Scattered

LEAST_COUNT = 8
VARIANCE = 0.02  # of the estimated log ratio, at most, if the number of rows is left to us
MOST_SHARE = 0.25  # of the rows in one estimate; beyond it all of them cost little more, and are exact


@runtime_checkable
class SumOverRows(Protocol):
    """A model that knows all three: what `lockstep.interop` makes of other tools' models."""

    log_likelihood: Any
    data: Any
    log_prior: Any


@part
class AllRows(Wrapped):
    """The log posterior from all rows: for data so few, or so far from normal, that a subsample saves nothing."""

    log_prior: Scalar
    log_likelihood: Scalar
    rows: Rows

    name = "log_prior + log_likelihood"
    shown = property(lambda self: shown_by(self.log_likelihood, self.log_prior))

    def __call__(self, position: Position) -> Array:
        values = jax.vmap(self.log_likelihood, in_axes=(None, 0))(position, self.rows.arrays)
        return self.log_prior(position) + jnp.sum(values)


@part
class Recipe:
    """A subsampled kernel around a mode that is still to be found."""

    estimator: Subsample
    proposal: Any
    name: str | None = static()
    count: int | None = static()

    def reparametrized(self, likelihood: Any, prior: Any) -> Recipe:
        """The same of other positions, with a prior more."""
        return Recipe(self.estimator.reparametrized(likelihood, prior), self.proposal, self.name, self.count)

    def __call__(self, position: Position, progress: bool | None = None) -> tuple[MetropolisHastings, Scattered]:
        one, starts = self.estimator.fit(position, progress)
        proposal, diagnosis = choose_proposal(self.proposal, self.name, one, starts.mode)
        count = self.count or _rows_needed(diagnosis, one.rows.size)
        takes_all = count > MOST_SHARE * one.rows.size and self.count is None and one.rows.files is None
        if takes_all:
            warn(
                f"an estimate of variance {VARIANCE} would take {count:,} of the {one.rows.size:,} rows "
                f"({diagnosis}); all of them are used instead. ls.standard is as good here"
            )
        if not diagnosis.is_normal_enough or (self.proposal is None and proposal.is_short):
            walk = "ls.standard" if takes_all else "ls.corrected(ls.estimators.subsample(...), ...)"
            warn(
                f"the posterior is not close to the normal approximation at its mode ({diagnosis}): candidates from "
                f"around the mode are the wrong tool for it, and chains mix slowly. Try another parametrization "
                f"(scales on a log scale, effects as mean + scale * z), or a random walk: {walk} with ls.RandomWalk "
                f"and ls.sample(..., adapt=True)"
            )
        if takes_all:
            return standard(AllRows(one.log_prior, one.log_likelihood, one.rows), proposal), starts
        return corrected(one.with_count(min(count, one.rows.size)), proposal), starts


def _rows_needed(diagnosis: Diagnosis, size: int) -> int:
    needed = max(diagnosis.variance / VARIANCE, LEAST_COUNT)
    return int(2 ** math.ceil(math.log2(needed))) if math.isfinite(needed) else size


def subsampled(
    log_prior: Any,
    log_likelihood: Any = None,
    data: Tree = None,
    count: int | None = None,
    proposal: Any = None,
    initial: Position | None = None,
    progress: bool | None = None,
) -> Any:
    """A posterior from a handful of rows at each update, with all settings found from the data.

    The mode θ* of the posterior and the normal (Laplace) approximation there are found in a few passes over the data.
    Each row's log likelihood is expanded at θ*; candidates come from the approximation, so that their proposal ratio
    cancels the expansion and only its remainder is estimated, from ``count`` rows, under the `corrected` rule.

    *Approximate*: the variance v of the estimated log ratio, at most 0.02 for most candidates unless you set ``count``,
    leaves an error of order v² in the acceptance. `lockstep.tunamh` is the exact way where bounds are known.

    Parameters
    ----------
    log_prior
        ``log_prior(theta)``, None for a flat one; or a model from `lockstep.interop.numpyro`, which has all three.
    log_likelihood
        ``log_likelihood(theta, row)`` of one row.
    data
        Arrays with a common first axis over the rows; memory-mapped ones stay on disk.
    count
        How many rows an update takes. If left out, as many as a variance of 0.02 needs, at least 8; and all of them,
        with a warning, if that is more than a quarter.
    proposal
        ``"normal"`` or ``"student"``: independent draws from the approximation, or from a Student t of its shape.
        ``"crank_nicolson"``: steps that leave the approximation alone. Or a proposal. If left out, the first of those
        three that serves, by `lockstep.subsampling.Diagnosis`; a warning if none does.
    initial
        A position from which the mode is searched at once. If left out, `lockstep.sample` searches it from its own
        initial position, and begins its chains around the mode.
    progress
        Whether to show the passes over the data, as for `lockstep.sample`.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, lockstep as ls
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=(20_000, 2))
    >>> y = generator.uniform(size=20_000) < 1 / (1 + np.exp(-x @ [0.5, -0.3]))
    >>> def log_likelihood(theta, row):
    ...     logit = jnp.dot(row["x"], theta)
    ...     return row["y"] * logit - jnp.logaddexp(0.0, logit)
    >>> run = ls.sample(ls.subsampled(None, log_likelihood, {"x": x, "y": y}), np.zeros(2), draws=500, chains=2)
    >>> run.acceptance > 0.9
    True

    See Also
    --------
    lockstep.estimators.subsample : the estimate alone, for other rules and proposals.
    """
    if isinstance(log_prior, SumOverRows):
        model = log_prior
        log_prior, log_likelihood, data = model.log_prior, model.log_likelihood, model.data
    require_order(log_likelihood, "ls.subsampled(log_prior, log_likelihood, data)")
    if data is None:
        raise ValueError("data of subsampled is None; give arrays with a row for each observation")
    name = check_proposal(proposal)
    count = None if count is None else whole(count, "count of subsampled", 2)
    estimator = subsample_estimator(log_prior, log_likelihood, data, count or 1)
    kernel = Delayed(Recipe(estimator, None if name is not None else proposal, name, count))
    return kernel if initial is None else kernel.fit(initial, progress)[0]
