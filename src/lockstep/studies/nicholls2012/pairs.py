"""The coupled pairs of kernels, and their separation times."""

from __future__ import annotations

import dataclasses
from typing import Any

from lockstep.core.arguments import whole
from lockstep.core.proposal import Proposal
from lockstep.coupling.common_noise import Coupled, Shadowed
from lockstep.kernels import naive, penalty, standard
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.sampling import sample
from lockstep.separation import Separation, summary
from lockstep.studies.nicholls2012.estimators import InverseGamma, NormalMean, NormalScore
from lockstep.studies.nicholls2012.model import PROPOSALS, draw_target, log_density

PAIRS = ("naive", "penalty_estimate", "standard")


def coupled_pair(proposal: Any, m: int, pair: str = "naive") -> tuple[MetropolisHastings, MetropolisHastings]:
    """An exact kernel and an approximate one, coupled by their noise.

    ``naive``: the penalty method and the naive kernel with the inverse-gamma estimator. ``penalty_estimate``: the
    penalty method and the Penalty Estimate method with a normal estimator. ``standard``: standard Metropolis–Hastings
    and the naive kernel.
    """
    proposal = PROPOSALS.get(proposal, proposal) if isinstance(proposal, str) else proposal
    if isinstance(proposal, str):
        raise ValueError(
            f"proposal is {proposal!r}; give one of {list(PROPOSALS)} or a proposal such as ls.RandomWalk(4.0)"
        )
    m = whole(m, "m", 2)
    if pair == "naive":
        return penalty(NormalScore.of(m), proposal), naive(InverseGamma.of(m), proposal)
    if pair == "penalty_estimate":
        return penalty(NormalScore.of(m), proposal), penalty(NormalMean.of(m), proposal)
    if pair == "standard":
        return standard(log_density, proposal), naive(InverseGamma.of(m), proposal)
    raise ValueError(f"pair is {pair!r}; it must be one of {PAIRS}")


def separation(
    proposal: Proposal,
    m: int,
    pair: str = "naive",
    updates: int = 20_000,
    chains: int = 64,
    seed: int = 0,
    progress: bool | None = False,
) -> Separation:
    """Separation times of a pair of kernels on the paper's target, from chains that start in equilibrium.

    Parameters
    ----------
    proposal
        ``"random walk"``, ``"independence"``, or any proposal for two dimensions.
    m
        The number of samples in an estimate.
    pair
        ``"naive"`` or ``"penalty_estimate"`` (against the penalty method), or ``"standard"`` (naive against standard).
    updates, chains, seed
        Of the run; ``updates`` is that of each chain.
    progress
        As in `ls.sample`.

    Returns
    -------
    Separation
        With the share of identical states where the proposal is an independence proposal, so that chains can coalesce.
    """
    exact, approximate = coupled_pair(proposal, m, pair)
    options: dict[str, Any] = {"draws": updates, "chains": chains, "seed": seed, "progress": progress}
    found = summary(sample(Shadowed(exact, approximate), draw_target, **options))
    if not exact.proposal.is_independent:
        return found
    both = summary(sample(Coupled(exact, approximate), draw_target, **options))
    shared = ("identical_fraction", "identical_fraction_se", "coalescence_times")
    return dataclasses.replace(found, **{name: getattr(both, name) for name in shared})
