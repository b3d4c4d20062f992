"""What a run tells, in plain words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lockstep.coupling import CoupledInfo, ShadowedInfo
from lockstep.separation.summary import summary as separation_of

GOOD_RHAT = 1.01
GOOD_ESS = 400


def findings(run: Any, summary: Any) -> list[str]:
    """Sentences, the most important first."""
    return [*_separation(run), *_convergence(summary.table), *(_sentence(text) for text in summary.findings)]


def is_suspicious(column: str, value: Any) -> bool:
    """Whether a number of the table of diagnostics needs attention."""
    if not isinstance(value, (int, float, np.number)):
        return False
    if column == "r_hat":
        return not value <= GOOD_RHAT
    return column.startswith("ess") and not value >= GOOD_ESS


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _separation(run: Any) -> list[str]:
    if not isinstance(run.info, (CoupledInfo, ShadowedInfo)):
        return []
    found = separation_of(run)
    who = (
        "The approximate kernel decided otherwise than the exact one"
        if isinstance(run.info, ShadowedInfo)
        else "The two coupled chains separated"
    )
    times = "once" if found.marks == 1 else f"{found.marks:,} times"
    while_equal = "" if isinstance(run.info, ShadowedInfo) else " at which they were equal"
    said = [f"{who} {times} in {found.updates:,} updates{while_equal}."]
    low, high = found.rho_2_interval
    if math.isfinite(found.rho_1):
        said.append(
            f"On average they walk in lockstep for ρ = {found.rho_1:,.4g} ± {found.rho_1_se:,.2g} updates between "
            f"separations (from the gaps of the acceptance probabilities; by the marks alone, between {low:,.4g} and "
            f"{high:,.4g} with 95 % confidence)."
        )
    if math.isfinite(found.tau):
        said.append(f"From the start, the first separation takes τ = {found.tau:,.4g} ± {found.tau_se:,.2g} updates.")
    if math.isfinite(found.identical_fraction):
        again = (
            f"; chains that had separated were equal again after {found.coalescence_time:,.1f} updates on average"
            if found.coalescences
            else ""
        )
        said.append(f"{found.identical_fraction:.1%} of all states of the two chains are identical{again}.")
    return said


def _convergence(table: Any) -> list[str]:
    said = []
    for column, worst, verb, is_good in (
        ("r_hat", "max", "at most", lambda v: v <= GOOD_RHAT),
        ("ess_bulk", "min", "at least", lambda v: v >= GOOD_ESS),
    ):
        if column not in table.columns:
            continue
        values = table[column].astype(float)
        if values.isna().all():
            continue
        value, where = getattr(values, worst)(), values.idxmax() if worst == "max" else values.idxmin()
        if column == "r_hat":
            said.append(
                f"R-hat is {verb} {value:.2f} (of {where}): "
                + ("the chains agree with one another." if is_good(value) else "the chains do not agree; run longer.")
            )
        else:
            said.append(
                f"The effective sample size is {verb} {value:,.0f} (of {where}): "
                + ("enough for means and R-hat." if is_good(value) else f"fewer than {GOOD_ESS}; run longer.")
            )
    return said
