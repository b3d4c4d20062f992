"""``ls.compare``: one table for many runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from lockstep.core.arguments import require_run
from lockstep.core.types import Tree
from lockstep.coupling.infos import Marked
from lockstep.results.run import Run
from lockstep.results.table import WITHHELD, number
from lockstep.sampling.sweep import Sweep, label
from lockstep.separation.prediction import Prediction
from lockstep.separation.summary import summary as separations

FAR = 4.0  # standard errors between two means that are worth a word


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Runs side by side.

    Attributes
    ----------
    runs
        A data frame with a row for each run: draws, seconds, acceptance, the worst R-hat and effective sample size,
        effective draws a second, and (of an approximate or coupled kernel) ``rho`` and ``discrepancy``, as far as they
        are known; NaN where they are not.
    means
        A data frame with a row for each component and run: the mean, its Monte Carlo error, the standard deviation,
        effective draws a second, and ``deviation``, how many standard errors the mean is away from the first run's.
    findings
        What should be noticed, in plain words.
    """

    runs: Any
    means: Any
    findings: tuple[str, ...]

    def __repr__(self) -> str:
        means = self.means.astype(object)
        for place, row in self.means.iterrows():
            means.loc[place] = [_text(name, value, row) for name, value in row.items()]
        runs = self.runs.astype(object)
        for place, row in self.runs.iterrows():
            runs.loc[place] = [_text(name, value, row) for name, value in row.items()]
        return "\n".join([runs.to_string(), "", means.to_string(), *self.findings])


def compare(runs: Iterable[Run] | Mapping[str, Run] | Sweep) -> Comparison:
    """Set runs side by side: means and their errors, effective draws a second, separation and discrepancy.

    Means are compared with those of the first run. Runs of the same target should agree within a few standard errors;
    those of an approximate kernel need not.

    Parameters
    ----------
    runs
        Several runs, a mapping from names to runs, or what `ls.sweep` returned.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> def make(scale):
    ...     return ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(scale))
    >>> found = ls.compare(ls.sweep(make, {"scale": [0.5, 2.0]}, jnp.zeros(1), draws=500))
    >>> list(found.runs.index), bool(found.runs["ess_per_second"].min() > 0)
    (['scale=0.5', 'scale=2.0'], True)
    """
    import pandas

    named = _named(runs)
    rows, means = {}, {}
    findings: list[str] = []
    first: Any = None
    for name, run in named.items():
        summary = run.summary()
        table = summary.table
        sizes = table[["ess_bulk", "ess_tail"]].min(axis=1, skipna=False)
        rho, discrepancy = _separation(run, summary.prediction)
        rows[name] = {
            "draws": run.draws,
            "chains": run.chains,
            "seconds": run.seconds,
            "acceptance": run.acceptance,
            "r_hat": table["r_hat"].max(skipna=False),
            "ess": sizes.min(skipna=False),
            "ess_per_second": sizes.min(skipna=False) / run.seconds if run.seconds else math.nan,
            "rho": rho,
            "discrepancy": discrepancy,
        }
        first = table if first is None else first
        for component, row in table.iterrows():
            deviation = _deviation(row, first.loc[component]) if component in first.index else math.nan
            means[component, name] = {
                "mean": row["mean"],
                "mcse_mean": row["mcse_mean"],
                "sd": row["sd"],
                "mcse_sd": row["mcse_sd"],
                "ess_per_second": row["ess_bulk"] / run.seconds if run.seconds else math.nan,
                "deviation": deviation,
            }
        findings += [f"{name}: {summary.findings[0]}"]
    frame = pandas.DataFrame.from_dict(means, orient="index")
    frame.index = pandas.MultiIndex.from_tuples(frame.index, names=["component", "run"])
    order = {component: place for place, component in enumerate(dict.fromkeys(frame.index.get_level_values(0)))}
    frame = frame.sort_index(level=0, key=lambda level: level.map(order), sort_remaining=False, kind="stable")
    far = frame[frame["deviation"].abs() > FAR]
    for (component, name), row in far.iterrows():
        reference = next(iter(named))
        findings.append(
            f"the mean of {component} is {abs(row['deviation']):.1f} standard errors "
            f"{'above' if row['deviation'] > 0 else 'below'} that of {reference} in {name}"
        )
    return Comparison(pandas.DataFrame.from_dict(rows, orient="index"), frame, tuple(findings))


def _named(runs: Any) -> dict[str, Run]:
    if isinstance(runs, Sweep):
        named = {label(point): run for point, run in zip(runs.points, runs.runs, strict=True)}
    elif isinstance(runs, Mapping):
        named = {str(name): run for name, run in runs.items()}
    else:
        try:
            named = {f"run {number}": run for number, run in enumerate(() if isinstance(runs, str) else runs)}
        except TypeError:
            named = {}
    if not named:
        what = "several runs, a mapping from names to runs, or a sweep"
        raise TypeError(f"runs is {runs!r}, without a run; it must be {what}")
    for name, run in named.items():
        require_run(run, f"runs: {name}")
    return named


def _separation(run: Run, prediction: Prediction | None) -> tuple[float, float]:
    """Updates between two separations and the discrepancy, measured or predicted; NaN where nothing is known."""
    if isinstance(run.info, Marked):
        return separations(run).rho_1, math.nan
    if prediction is None:
        return math.nan, math.nan
    return prediction.rho, prediction.discrepancy


def _deviation(row: Tree, reference: Any) -> float:
    """How many standard errors two means are apart; NaN if there is no error to compare with."""
    error = math.hypot(row["mcse_mean"], reference["mcse_mean"])
    return (row["mean"] - reference["mean"]) / error if error > 0 else math.nan


def _text(column: str, value: Any, row: Tree) -> str:
    if isinstance(value, float) and math.isnan(value):
        return WITHHELD
    if column in ("draws", "chains"):
        return f"{int(value):,}"
    if column == "deviation":
        return f"{value:+.1f}"
    if column == "ess_per_second":
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    if column == "acceptance":
        return f"{value:.2f}"
    if column in ("seconds", "rho", "discrepancy"):
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    return number(column, value, row)
