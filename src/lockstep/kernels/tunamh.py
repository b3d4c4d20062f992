"""TunaMH: exact Metropolis–Hastings from a Poisson number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.arguments import positive
from lockstep.core.parts import part, static
from lockstep.core.precision import canonical, double_precision
from lockstep.core.proposal import Proposal
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators.subsample import Subsample, subsample as subsample_estimator
from lockstep.host.boxes import boxes, is_interpreted
from lockstep.host.functions import Wrapped
from lockstep.host.prior import require_order
from lockstep.kernels.delayed import Delayed
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios import Carried, Exactly, Randomized
from lockstep.ratios.tuna import Minibatch
from lockstep.subsampling.bounds import LinearBound, RowBound
from lockstep.subsampling.proposals import check_proposal, choose_proposal
from lockstep.subsampling.rows import widened
from lockstep.subsampling.scatter import Scattered
from lockstep.subsampling.sums import block_length


@part
class Known(Wrapped):
    """Log prior plus the surrogate's sum over all rows: the part of the log posterior that needs no rows."""

    estimator: Subsample

    name = "log_prior + surrogate"
    shown = property(lambda self: self.estimator.shown)

    def __call__(self, position: Position) -> Array:
        return self.estimator.known(position)


@part
class Recipe:
    """TunaMH around a mode that is still to be found."""

    estimator: Subsample
    bound: Any
    proposal: Any
    chi: Array
    name: str | None = static()
    make: Any = static()

    reparametrized = None  # what bounds the change of a row by that of θ does not bound it by that of other coordinates

    def __call__(self, position: Position, progress: bool | None = None) -> tuple[MetropolisHastings, Scattered]:
        estimator, starts = self.estimator.fit(position, progress)
        mode = starts.mode
        proposal, _ = choose_proposal(self.proposal, self.name, estimator, mode)
        minibatch = minibatch_of(estimator, self.bound.at(mode.factor), self.chi)
        return self.make(minibatch, proposal, mode.position), starts


def tunamh(
    log_prior: Any,
    log_likelihood: Any,
    data: Tree,
    bound: Any = None,
    proposal: Any = None,
    control: Any = "taylor",
    initial: Position | None = None,
    chi: float = 0.1,
    progress: bool | None = None,
) -> Any:
    """TunaMH of Zhang, Cooper and De Sa: a minibatch of random size that makes the chain exact.

    With bounds ``|r_i(θ') - r_i(θ)| ≤ c_i M``, C = Σ c_i and λ = χ C² M², B ~ Poisson(λ + CM) rows are drawn with
    probabilities c_i/C, each kept with probability ``(λ c_i + C φ_i)/(λ c_i + C c_i M)``,
    ``φ_i = (r_i(θ) - r_i(θ') + c_i M)/2``. Accepts with probability
    ``min(1, q p(θ') e^{Σq(θ')} / (p(θ) e^{Σq(θ)}) · Π (λ c_i + C φ'_i)/(λ c_i + C φ_i))``, the product over those kept.

    *Exact when* the bound holds. With ``control="taylor"`` r is what the expansion at the mode leaves of a row; CM is
    then of order N^{-1/2} for candidates from the normal approximation, so that a handful of rows is enough. Without a
    control it is the algorithm as published, where CM is of order √N.

    Parameters
    ----------
    log_prior, log_likelihood, data, control, initial, progress
        As for `lockstep.estimators.subsample`; the data must be in memory.
    bound
        ``ls.subsampling.logistic(features)``, ``ls.subsampling.robust(features, degrees, scale)``, or a
        ``ls.subsampling.Bound(row, distance)`` of your own, as a surrogate of your own needs.
    proposal
        As for `lockstep.subsampled`; needed if there is no Taylor control.
    chi
        χ: larger means more rows and a higher acceptance.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, lockstep as ls
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=(20_000, 2))
    >>> y = generator.uniform(size=20_000) < 1 / (1 + np.exp(-x @ [0.5, -0.3]))
    >>> def log_likelihood(theta, row):
    ...     logit = jnp.dot(row["x"], theta)
    ...     return row["y"] * logit - jnp.logaddexp(0.0, logit)
    >>> bound = ls.subsampling.logistic(lambda row: row["x"])
    >>> kernel = ls.tunamh(None, log_likelihood, {"x": x, "y": y}, bound, initial=np.zeros(2))
    >>> kernel.exact_when[:15]
    'the bound holds'

    References
    ----------
    Zhang, Cooper and De Sa (2020), NeurIPS; with control variates: Prado, Nemeth and Sherlock (2024), arXiv:2407.19602.
    """
    return exact_minibatch(
        "tunamh", make_tunamh, log_prior, log_likelihood, data, bound, proposal, control, initial, chi, progress
    )


def exact_minibatch(
    which: str,
    make: Callable[..., Any],
    log_prior: Callable[..., Any],
    log_likelihood: Callable[..., Any],
    data: Tree,
    bound: object,
    proposal: Proposal,
    control: Any,
    initial: Position | None,
    chi: float,
    progress: bool | None,
) -> Any:
    """What TunaMH and the Poisson product share: checks, the mode, and the coefficients of the bound."""
    require_order(log_likelihood, f"ls.{which}(log_prior, log_likelihood, data, bound, proposal)")
    chi = positive(chi, "chi")
    if isinstance(bound, type) or not isinstance(bound, RowBound):
        raise TypeError(
            f"bound of {which} is {bound!r}; it must be a bound such as ls.subsampling.logistic(lambda row: row['x'])"
        )
    given = (log_prior, log_likelihood, bound, proposal)
    if is_interpreted(given):
        raise TypeError(
            f"{which} runs in compiled code alone, where {boxes(given)[0]!r} cannot be called; write log_prior, "
            f"log_likelihood, the bound and the proposal with jax.numpy"
        )
    name = check_proposal(proposal)
    estimator = subsample_estimator(log_prior, log_likelihood, data, 1, control)
    if estimator.rows.files is not None:
        raise ValueError(f"data of {which} are on disk; it needs them in memory, or use ls.subsampled")
    if not estimator.is_fitted:
        kernel = Delayed(Recipe(estimator, bound, None if name is not None else proposal, chi, name, make))
        return kernel if initial is None else kernel.fit(initial, progress)[0]
    if isinstance(bound, LinearBound) and not estimator.control.leaves_derivatives:
        raise ValueError(
            f"bound of {which} is that of a Taylor control or of none, but control is {estimator.control!r}; bound "
            f"what this surrogate leaves of each row with ls.subsampling.Bound(row, distance)"
        )
    remedy = "a proposal such as ls.RandomWalk(scale), without a Taylor control"
    proposal = adopted(proposal, Proposal, "proposal", remedy)
    return make(minibatch_of(estimator, bound, chi), proposal, initial)


def make_tunamh(minibatch: Minibatch, proposal: Proposal, position: Position) -> MetropolisHastings:
    """The kernel from its parts."""
    return MetropolisHastings(proposal, Randomized(Carried(Exactly(Known(minibatch.estimator))), minibatch))


def minibatch_of(estimator: Subsample, bound: RowBound, chi: Array) -> Minibatch:
    """The minibatches, with the coefficients of all rows computed in one pass."""
    coefficients = _coefficients(estimator, bound)
    return Minibatch(estimator, bound, coefficients, np.cumsum(coefficients), chi)


def _coefficients(estimator: Subsample, bound: RowBound) -> np.ndarray:
    with double_precision():
        bound, rows = canonical(bound, "bound"), estimator.rows
        is_controlled = estimator.control.center is not None
        one_block = jax.jit(
            jax.vmap(lambda bound, row: bound.coefficient(widened(row), is_controlled), in_axes=(None, 0))
        )
        blocks = rows.blocks(block_length(rows, 1))
        found = np.concatenate([np.asarray(one_block(bound, block))[skipped:] for _, skipped, block in blocks])
    if not np.all(np.isfinite(found) & (found >= 0)):
        row = int(np.argmax(~(np.isfinite(found) & (found >= 0))))
        raise ValueError(f"bound gives {found[row]} for row {row:,}; it must be finite and not negative")
    return found
