"""Separation times of a pair of kernels against the number of samples m."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.coupling.common_noise import Shadowed
from lockstep.sampling import sample
from lockstep.separation import first_passage, summary
from lockstep.studies.nicholls2012.model import draw_target
from lockstep.studies.nicholls2012.pairs import coupled_pair
from lockstep.studies.nicholls2012.settings import Settings
from lockstep.studies.nicholls2012.statistics import Measured, power

SLOPE_FROM = 16  # the laws in m hold for large m


def measure_times(settings: Settings, pair: str, proposal: str, report: Callable[[str], None]) -> dict[int, Any]:
    """ρ̂₁, ρ̂₂ and τ̂ for every m.

    τ̂ comes from the waits of all states of the run, or, in a full study of the paper's pairs, from replicates of the
    first passage, as in the paper.
    """
    found = {}
    for m in settings.counts:
        kernel = Shadowed(*coupled_pair(proposal, m, pair))
        draws, thin = settings.draws(pair, m)
        seed = settings.seed_of("times", pair, proposal, m)
        run = sample(kernel, draw_target, draws=draws, chains=settings.chains, thin=thin, seed=seed, progress=False)
        of = summary(run)
        tau = Measured(of.tau, of.tau_se)
        if settings.is_full and pair != "standard":
            seed = settings.seed_of("passages", pair, proposal, m)
            passages = first_passage(kernel, draw_target, settings.replicates, seed, progress=False)
            tau = Measured(passages.tau, passages.tau_se)
        found[m] = {
            "rho_1": Measured(of.rho_1, of.rho_1_se),
            "rho_2": Measured(of.rho_2, of.rho_2_se),
            "tau": tau,
            "gap": Measured(1 / of.rho_1, of.rho_1_se / of.rho_1**2),
            "marks": of.marks,
            "updates": of.updates,
            "geometric_p_value": of.geometric_p_value,
        }
        report(f"{pair.replace('_', ' ')}, {proposal}, m = {m}: separation after {found[m]['rho_1']} updates")
    return found


def slope(found: dict[int, Any], quantity: str = "rho_1") -> Measured | None:
    """The power of m that a quantity follows from m = 16 on; None if there are too few m."""
    counts = [m for m in found if m >= SLOPE_FROM]
    return power(counts, [found[m][quantity] for m in counts]) if len(counts) > 1 else None
