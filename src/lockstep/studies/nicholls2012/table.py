"""The table *paper · reference · measured*: every number of the paper beside what the study found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from lockstep.studies.nicholls2012 import expected
from lockstep.studies.nicholls2012.statistics import Measured, plus_minus, ratio_of
from lockstep.studies.nicholls2012.times import SLOPE_FROM, slope

NEAR = 3.0  # standard errors
COLUMNS = ("paper", "reference", "measured ± se", "apart (se)")
AGAINST = {"naive": "Naive against penalty", "penalty_estimate": "Penalty Estimate against penalty"}


class Row(NamedTuple):
    """One number: what it is, what the paper says, the reference with its standard error, and what was measured."""

    section: str
    quantity: str
    paper: str
    reference: Measured | None
    measured: Measured

    @property
    def deviation(self) -> float:
        """Distance from the reference in standard errors; NaN without a reference or an error."""
        if self.reference is None or not self.measured.se > 0:
            return math.nan
        return (self.measured.value - self.reference.value) / math.hypot(self.measured.se, self.reference.se)

    def cells(self) -> tuple[str, str, str, str, str]:
        """The row as words."""
        reference = "" if self.reference is None else plus_minus(*self.reference)
        deviation = "" if math.isnan(self.deviation) else f"{round(self.deviation, 1) + 0.0:+.1f}"
        return self.quantity, self.paper, reference, plus_minus(*self.measured), deviation


def rows(results: dict[str, Any]) -> list[Row]:
    """All rows whose number was measured."""
    every = [*_separation(results["times"]), *_standard(results["times"]), *_equilibrium(results["coupled"])]
    every += _efficiency(results.get("efficiency", {}))
    return [row for row in every if math.isfinite(row.measured.value)]


def _separation(times: dict[str, Any]) -> Iterator[Row]:
    for pair, section in AGAINST.items():
        for proposal, found in times[pair].items():
            for m, of in found.items():
                paper = expected.PAPER_SEPARATION.get((pair, proposal, m), "")
                reference = expected.SEPARATION.get((pair, proposal, m))
                if reference:
                    yield Row(section, f"{proposal}: ρ, m = {m}", paper, Measured(*reference), of["rho_1"])
            power = slope(found)
            if power:
                words = f"{proposal}: power of m in ρ, m ≥ {SLOPE_FROM}"
                yield Row(section, words, expected.PAPER_SLOPE[pair], None, power)
            if pair == "naive":
                yield from _return_times(section, proposal, found)


def _return_times(section: str, proposal: str, found: dict[int, Any]) -> Iterator[Row]:
    for m, of in found.items():
        if m == min(found):
            ratio = ratio_of(of["tau"], of["rho_1"])
            known = Measured(expected.TAU_OVER_RHO[proposal], 0.0) if m == 8 else None
            yield Row(section, f"{proposal}: τ/ρ, m = {m}", expected.PAPER_TAU_OVER_RHO, known, ratio)
            geometric = Measured(of["geometric_p_value"], math.nan)
            yield Row(section, f"{proposal}: p-value, geometric law", expected.PAPER_GEOMETRIC, None, geometric)
        if m in expected.VARIANCE_RATIO:
            about = Measured(expected.VARIANCE_RATIO[m], math.nan)
            variances = Measured((of["rho_2"].se / of["rho_1"].se) ** 2, math.nan)
            words = f"{proposal}: var ρ̂₂ / var ρ̂₁, m = {m}"
            yield Row(section, words, expected.PAPER_VARIANCES, about, variances)


def _standard(times: dict[str, Any]) -> Iterator[Row]:
    section = "Naive against standard"
    for proposal, found in times["standard"].items():
        for m, of in found.items():
            if (proposal, m) in expected.STANDARD_GAP:
                known = Measured(expected.STANDARD_GAP[proposal, m], 0.0)
                yield Row(section, f"{proposal}: mean gap, m = {m}", "", known, of["gap"])
        power = slope(found, "gap")
        if power:
            words = f"{proposal}: power of m in the gap, m ≥ {SLOPE_FROM}"
            yield Row(section, words, expected.PAPER_SLOPE["standard"], None, power)


def _equilibrium(coupled: dict[str, Any]) -> Iterator[Row]:
    section = "Equilibrium"
    identical = coupled["independence"]["identical"]
    yield Row(
        section,
        "independence: identical states (%), m = 8",
        expected.PAPER_IDENTICAL,
        Measured(100 * expected.IDENTICAL, 0.0),
        Measured(100 * identical.value, 100 * identical.se),
    )
    for proposal, found in coupled.items():
        for m, legs in found["moments"].items():
            mean, variance = Measured(expected.TARGET_MEAN, 0.0), Measured(expected.TARGET_VARIANCE, 0.0)
            if m == 8:
                yield Row(section, f"{proposal}: penalty, mean of θ₁+θ₂", "exact", mean, legs["penalty"]["mean"])
                yield Row(
                    section, f"{proposal}: penalty, variance of θ₁+θ₂", "exact", variance, legs["penalty"]["variance"]
                )
            mean = Measured(expected.NAIVE_MEAN[proposal, m], 0.0)
            variance = Measured(expected.NAIVE_VARIANCE[proposal, m], 0.0)
            words = f"{proposal}: naive, m = {m},"
            yield Row(section, f"{words} mean", "", mean, legs["naive"]["mean"])
            yield Row(section, f"{words} variance", expected.PAPER_DISPERSION, variance, legs["naive"]["variance"])


def _efficiency(efficiency: dict[str, Any]) -> Iterator[Row]:
    section = "Pseudo-marginal over penalty: updates an independent draw"
    for proposal, found in efficiency.items():
        for variance in (1.0, 4.0, 16.0):
            costs = [found[name][variance]["autocorrelation_time"] for name in ("pseudo-marginal", "penalty")]
            words = f"{proposal}: variance of D̂ = {variance:g}"
            yield Row(section, words, "rises", None, ratio_of(*costs))


def print_table(every: list[Row], console: Any) -> None:
    """The table on a terminal, or as plain text elsewhere."""
    from rich import box
    from rich.table import Table

    table = Table(
        title="Nicholls, Fox and Muir Watt (2012), section 5",
        caption=expected.CAVEAT,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("", min_width=20)
    for column in COLUMNS:
        table.add_column(column.replace(" (", "\n("), justify="right", no_wrap=True)
    section = ""
    for row in every:
        if row.section != section:
            table.add_row()
            table.add_row(f"[bold]{row.section}[/bold]")
            section = row.section
        table.add_row(*row.cells())
    console.print(table)
