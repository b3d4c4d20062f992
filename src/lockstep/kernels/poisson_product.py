"""Pseudo-marginal Metropolis–Hastings with a Poisson product of rows."""

from __future__ import annotations

from typing import Any

from lockstep.core.proposal import Proposal
from lockstep.core.types import Position, Tree
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.kernels.tunamh import exact_minibatch
from lockstep.ratios import Carried
from lockstep.ratios.tuna import Minibatch, PoissonProduct


def poisson_product(
    log_prior: Any,
    log_likelihood: Any,
    data: Tree,
    bound: Any = None,
    proposal: Any = None,
    control: Any = "taylor",
    initial: Position | None = None,
    progress: bool | None = None,
) -> Any:
    """Pseudo-marginal Metropolis–Hastings whose unbiased estimate is a product over a Poisson number of rows.

    With ``|r_i(θ)| ≤ c_i M(θ)``, r what the surrogate leaves of a row, C = Σ c_i, K ~ Poisson(λ), λ = 2CM, and rows
    drawn with probabilities c_i/C, ``p(θ) e^{Σq(θ)} Π_{k≤K} (1 + C r_{i_k}/(c_{i_k} λ))`` is non-negative, and its mean
    is the posterior up to a constant. It is carried along as in `pseudo_marginal`.

    *Exact when* the bound holds.

    Parameters
    ----------
    log_prior, log_likelihood, data, bound, proposal, control, progress
        As for `lockstep.tunamh`.
    initial
        As for `lockstep.tunamh`; without a Taylor control it is needed: remainders are counted from there.

    References
    ----------
    Quiroz, Tran, Villani, Kohn and Dang (2021), JCGS 30, for the block-Poisson estimate; Papaspiliopoulos (2011).
    """
    if not isinstance(control, str) and initial is None:
        raise ValueError("initial of poisson_product is None; without a Taylor control give the position to count from")
    return exact_minibatch(
        "poisson_product", _make, log_prior, log_likelihood, data, bound, proposal, control, initial, 1.0, progress
    )


def _make(minibatch: Minibatch, proposal: Proposal, position: Position) -> MetropolisHastings:
    return MetropolisHastings(proposal, Carried(PoissonProduct(minibatch, position)))
