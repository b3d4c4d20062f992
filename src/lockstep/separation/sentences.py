"""What a run of coupled kernels tells, in plain words."""

from __future__ import annotations

import math

from lockstep.core.sampled import Sampled
from lockstep.separation.summary import summary as separation_of


def sentences(run: Sampled) -> list[str]:
    """How often the two kernels of a run separated, how long they walked in lockstep, and how often they are equal."""
    found = separation_of(run)
    who = (
        "The approximate kernel decided otherwise than the exact one"
        if run.info.judged is None
        else "The two coupled chains separated"
    )
    times = "once" if found.marks == 1 else f"{found.marks:,} times"
    while_equal = "" if run.info.judged is None else " at which they were equal"
    which = f" ({found.of})" if found.of else ""
    said = [f"{who}{which} {times} in {found.updates:,} updates{while_equal}."]
    low, high = found.rho_2_interval
    if math.isfinite(found.rho_1):
        said.append(
            f"On average they walk in lockstep for ρ = {found.rho_1:,.4g} ± {found.rho_1_se:,.2g} updates between "
            f"separations{which} (from the gaps of the acceptance probabilities; by the marks alone, between "
            f"{low:,.4g} and {high:,.4g} with 95 % confidence)."
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
