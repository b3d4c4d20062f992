"""What the study found, in plain words."""

from __future__ import annotations

import math
from typing import Any

from lockstep.studies.nicholls2012.figures.bias import CLEAR
from lockstep.studies.nicholls2012.statistics import ratio_of
from lockstep.studies.nicholls2012.table import NEAR, Row
from lockstep.studies.nicholls2012.times import slope


def findings(results: dict[str, Any], rows: list[Row]) -> list[str]:
    """Sentences, the most important first."""
    return [
        *_agreement(rows),
        *_lockstep(results["times"], results["coupled"]),
        *_growth(results["times"]),
        *_equilibrium(results["coupled"]),
        *_bias(results.get("bias", {})),
        *_efficiency(results.get("efficiency", {})),
    ]


def _agreement(rows: list[Row]) -> list[str]:
    compared = [row for row in rows if not math.isnan(row.deviation)]
    far = [f"{row.section}, {row.quantity} ({row.deviation:+.1f})" for row in compared if abs(row.deviation) > NEAR]
    if not compared:
        return []
    inside = len(compared) - len(far)
    text = f"{inside} of {len(compared)} measured numbers lie within three standard errors of the reference."
    return [text + (f" Further away: {'; '.join(far)}." if far else "")]


def _lockstep(times: dict[str, Any], coupled: dict[str, Any]) -> list[str]:
    walk, independent = times["naive"]["random walk"], times["naive"]["independence"]
    m = min(walk)
    together = coupled["independence"]
    return [
        f"With m = {m} samples an estimate, the naive chain walks in lockstep with an exact chain for "
        f"{walk[m]['rho_1']} updates on average with the random walk, and for {independent[m]['rho_1']} with the "
        f"independence proposal.",
        f"With the independence proposal and m = 8 chains that have separated meet again after "
        f"{together['coalescence_time']:.1f} updates on average: {100 * together['identical'].value:.1f} % of all "
        f"states are identical.",
    ]


def _growth(times: dict[str, Any]) -> list[str]:
    powers = [slope(times[pair]["random walk"]) for pair in ("naive", "penalty_estimate", "standard")]
    if not all(powers):
        return []
    naive, estimate, standard = (f"m^{power.value:.2f}" for power in powers if power)
    return [
        f"More samples keep the chains together for longer: with the random walk the time to separation grows as "
        f"{naive} for naive against penalty, as {estimate} for Penalty Estimate against penalty, and only as "
        f"{standard} for naive against standard Metropolis–Hastings. The naive chain is closer to the penalty chain "
        f"than to the standard one."
    ]


def _equilibrium(coupled: dict[str, Any]) -> list[str]:
    walk, independent = (coupled[name]["moments"][8]["naive"]["variance"] for name in ("random walk", "independence"))
    return [
        f"The variance of θ₁+θ₂ is 11 under the target. Under the naive chain with m = 8 it is {walk} with the random "
        f"walk and {independent} with the independence proposal. The paper calls the naive samplers over-dispersed; "
        f"which way they err depends on the proposal."
    ]


def _bias(bias: dict[str, Any]) -> list[str]:
    if not bias:
        return []
    m = min(bias["naive"])
    naive, corrected = bias["naive"][m], bias["corrected"][m]
    is_clear = abs(corrected.value) > CLEAR * corrected.se
    less = abs(naive.value / corrected.value)
    words = f"about {less:.0f} times less" if is_clear else "not clearly different from 0"
    return [
        f"With m = {m} the naive rule shifts the mean log density by {naive}, and the corrected rule, which sees "
        f"the same samples, by {corrected}, {words}."
    ]


def _efficiency(efficiency: dict[str, Any]) -> list[str]:
    said = []
    for proposal, found in efficiency.items():
        costs = (found[name] for name in ("pseudo-marginal", "penalty"))
        few, many = zip(*([of[v]["autocorrelation_time"] for v in (1.0, 16.0)] for of in costs), strict=True)
        said.append(
            f"{proposal.capitalize()}, equal variance of D̂: for one independent draw the pseudo-marginal chain needs "
            f"{ratio_of(*few)} times as many updates as the penalty chain at variance 1, {ratio_of(*many)} times at 16."
        )
    return said
