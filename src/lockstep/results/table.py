"""The table of a summary: ArviZ's numbers in full, withheld where there is none, printed with digits that count."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from lockstep.core.sampled import Sampled
from lockstep.core.types import Tree
from lockstep.coupling.names import components, shown_arrays
from lockstep.coupling.pair import legs

LOCATIONS = ("mean", "median", "eti", "hdi")  # in units of a component, known up to the error of its mean
WITHHELD = "-"
SIGNIFICANT = re.compile(r"(?:[1-9]|1[0-7])g")


def table_of(run: Sampled) -> Any:
    """A data frame with a row for each component, in full precision.

    A component that never moved has no effective sample size, R-hat or Monte Carlo error: these are NaN; its sd is 0.
    """
    import arviz_stats

    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 of what never moved, which is withheld below
        names = list(shown_arrays(run.shown, legs(run.positions)[0]))
        table = arviz_stats.summary(run.to_datatree(), var_names=names, round_to="none").astype(float)
    diagnostics = [column for column in table.columns if column.startswith(("ess", "r_hat", "mcse"))]
    still = [one.name for one in components(run) if (one.legs[0] == one.legs[0].flat[0]).all()]
    table.loc[table.index.isin(still), diagnostics] = np.nan
    table.loc[table.index.isin(still), "sd"] = 0.0  # of equal numbers, whose mean is rounded, it would not be
    return table


def require_rounding(round_to: Any) -> None:
    """Refuse what is no way to round."""
    is_decimals = isinstance(round_to, int) and not isinstance(round_to, bool) and 0 <= round_to <= 20
    is_named = isinstance(round_to, str) and (round_to in ("auto", "none") or SIGNIFICANT.fullmatch(round_to))
    if not (is_decimals or is_named):
        raise ValueError(
            f'round_to is {round_to!r}; it must be "auto", a number of decimals such as 3, of significant digits such '
            f'as "4g", or "none"'
        )


def written(table: Any, round_to: int | str = "auto") -> Any:
    """The table as text: as many digits as the Monte Carlo error, or else the standard deviation, gives meaning to.

    Or as many as ``round_to`` says.
    """
    shown = table.astype(object)
    for label, row in table.iterrows():
        shown.loc[label] = [
            number(column, value, row) if round_to == "auto" else _rounded(value, round_to)
            for column, value in row.items()
        ]
    return shown


def _rounded(value: float, round_to: int | str) -> str:
    if math.isnan(value):
        return WITHHELD
    if isinstance(round_to, int):
        return f"{value:.{round_to}f}"
    return repr(float(value)) if round_to == "none" else f"{value:.{round_to}}"


def number(column: str, value: float, row: Tree) -> str:
    """One number of the table, whose row tells how well it is known."""
    if not math.isfinite(value):
        return WITHHELD if math.isnan(value) else str(value)
    if column.startswith("ess"):
        return f"{value:.0f}"
    if column == "r_hat":
        return f"{value:.3f}" if value < 10 else f"{value:.3g}"
    if column.startswith("mcse"):
        return f"{value:.2g}"
    is_location = column.startswith(LOCATIONS)
    if not is_location and column != "sd":
        return f"{value:.4g}"
    error, spread = row.get("mcse_mean" if is_location else "mcse_sd", math.nan), row.get("sd", math.nan)
    return _to_place(value, min(_place(error, 0), _place(spread, 1)))


def _place(size: float, further: int) -> float:
    """The decimal place of the first digit of a size, and so many further; infinite if there is no size."""
    return math.floor(math.log10(size)) - further if 0 < size < math.inf else math.inf


def _to_place(value: float, place: float) -> str:
    """A number down to the digit of 10**place; a constant, of which nothing limits the digits, with six."""
    if place == math.inf:
        return f"{value:.6g}"
    decimals = int(-place)
    is_plain = abs(value) < 1e6 and decimals <= 6
    if is_plain:
        return f"{round(value, decimals):.{max(decimals, 0)}f}"
    digits = math.floor(math.log10(abs(value))) + decimals if value else 0
    return f"{value:.{min(max(digits, 0), 15)}e}"
