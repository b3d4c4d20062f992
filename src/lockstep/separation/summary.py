"""Separation times of a coupled run, with standard errors that respect autocorrelation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from lockstep.core.arguments import require_run
from lockstep.core.ratio import Ratio
from lockstep.core.sampled import Sampled
from lockstep.coupling.infos import Marked
from lockstep.separation import times

FEWEST_MARKS = 10
FEWEST_MARKS_A_CHAIN = 5
NONE = np.array([], dtype=int)
LEVEL = 0.95


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """Separation times of two kernels; what a run cannot tell is NaN.

    Attributes
    ----------
    rho_1
        Mean return time of separation from the gaps, ``1/average abs(α₁ - α₂)``: of lower variance than ``rho_2``.
    rho_2
        The same from the return times: updates a mark. NaN if there are too few marks, see ``rho_2_interval``.
    rho_2_interval
        A 95 % interval for the updates a mark, from the number of marks alone: the mean return time, or τ where two
        chains never became equal again.
    tau
        Mean time to separation from equilibrium, from the waits of all states of the run for the next mark; NaN if
        there are fewer than five marks a chain (`first_passage` measures it directly). Of two chains that never became
        equal again it is the time from their starts, and ρ is NaN.
    marks, updates
        How many separations there were, and in how many updates (while the chains were equal).
    identical_fraction
        The share of states at which two coupled chains are equal; NaN for a `Shadowed` run, which has one chain.
    return_times, geometric_p_value
        The intervals between marks, and the p-value of a test of them against a geometric law.
    coalescence_times, coalescence_time
        After how many updates chains that had separated became equal again, and the mean of these.
    of
        Which chain from which, such as "naive from standard"; empty for a run that was loaded from disk.
    """

    rho_1: float
    rho_1_se: float
    rho_2: float
    rho_2_se: float
    rho_2_interval: tuple[float, float]
    tau: float
    tau_se: float
    marks: int
    updates: int
    identical_fraction: float
    identical_fraction_se: float
    return_times: np.ndarray
    coalescence_times: np.ndarray
    of: str = ""

    @property
    def geometric_p_value(self) -> float:
        return times.geometric_p_value(self.return_times)

    @property
    def coalescences(self) -> int:
        return len(self.coalescence_times)

    @property
    def coalescence_time(self) -> float:
        return float(self.coalescence_times.mean()) if self.coalescences else np.nan

    @property
    def bound_slack(self) -> float:
        """2τ - (ρ + 1), which Kac's formula says is not negative; the more, the more marks come in clusters."""
        return 2 * self.tau - self.rho_2 - 1

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name."""
        names = [field.name for field in dataclasses.fields(self)[:-1] if not field.name.endswith("_times")]
        names += ["geometric_p_value", "coalescences", "coalescence_time", "bound_slack"]
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        head = f"Separation{' of ' if self.of else ''}{self.of}: {self.marks:,} marks in {self.updates:,} updates"
        return "\n".join([head, *self._lines()])

    def _lines(self) -> Iterator[str]:
        low, high = self.rho_2_interval
        is_parted = np.isnan(self.rho_1)  # for good, or not yet, so that all is said of τ
        if not is_parted:
            yield f"  ρ from gaps          {_pm(self.rho_1, self.rho_1_se)}"
        if not np.isnan(self.rho_2):
            yield f"  ρ from return times  {_pm(self.rho_2, self.rho_2_se)}"
        elif self.marks < FEWEST_MARKS:
            which = "τ from marks alone " if is_parted else "ρ from return times"
            yield f"  {which}  too few marks; between {low:,.4g} and {high:,.4g} (95 %)"
        if is_parted:
            why = "   (no ρ: never equal again)" if self.marks else ""
            yield f"  τ from the starts    {_pm(self.tau, self.tau_se)}{why}"
        elif not np.isnan(self.tau):
            yield f"  τ from equilibrium   {_pm(self.tau, self.tau_se)}   (2τ - ρ - 1 = {self.bound_slack:.3g})"
        elif np.isnan(self.identical_fraction):
            yield "  τ from equilibrium   too few marks a chain; run longer, or use first_passage"
        if not np.isnan(self.identical_fraction):
            share, error = 100 * self.identical_fraction, 100 * self.identical_fraction_se
            yield f"  identical states     {share:.2f} ± {error:.2f} %"
        if self.coalescences:
            yield f"  coalescences         {self.coalescences:,}, after {self.coalescence_time:.1f} updates each"
        if not np.isnan(self.geometric_p_value):
            yield f"  return times against a geometric law: p = {self.geometric_p_value:.2g}"


def summary(run: Sampled) -> Separation:
    """Separation times of a run of `ls.Shadowed` or `ls.Coupled`.

    For `ls.Shadowed` every update counts, and ρ is the return time of separation along the exact chain.

    For `ls.Coupled` those updates count at which the two chains were equal. With an independence proposal they coalesce
    and branch again, and ρ is the number of such updates for each separation. With a random walk they separate once and
    for all: such a run tells τ, the mean time to separation from its starts, and not ρ.

    Parameters
    ----------
    run
        From `ls.sample`, in equilibrium: start it there, or give it a warm-up. With ``thin > 1`` return times are not
        known, and only ρ from gaps and from the number of marks is given.

    Returns
    -------
    Separation
        ρ and τ with standard errors (``rho_1``, ``rho_1_se``, …), marks, and the share of identical states.
    """
    require_run(run)
    if not isinstance(run.info, Marked):
        raise TypeError(
            "run is not one of coupled kernels: sample ls.Shadowed(exact, approximate) or ls.Coupled(first, second)"
        )
    return _of_shadowed(run) if run.info.judged is None else _of_coupled(run)


def _of_shadowed(run: Sampled) -> Separation:
    eligible = np.full(np.shape(run.info.marks), run.thin, float)
    found = _rates(run, eligible)
    is_enough = run.thin == 1 and found["marks"] >= max(FEWEST_MARKS, FEWEST_MARKS_A_CHAIN * run.chains)
    waits = times.return_times(run.info.marks) if is_enough else NONE
    return Separation(
        **found,
        tau=times.mean_waiting_time(waits) if is_enough else np.nan,
        tau_se=times.jackknife(times.mean_waiting_time, waits) if is_enough else np.nan,
        identical_fraction=np.nan,
        identical_fraction_se=np.nan,
        return_times=waits,
        coalescence_times=NONE,
        of=who(run),
    )


def who(run: Sampled) -> str:
    """Which kernel of a coupled run separates from which: the second from the first."""
    names = [] if run.kernel is None else [_name(leg.ratio) for leg, _ in run.kernel.placed(run.positions)]
    return f"{names[1]} from {names[0]}" if len(names) == 2 else ""


def _name(ratio: Ratio) -> str:
    return ratio.name if ratio.rule is None else ratio.rule.name


def _of_coupled(run: Sampled) -> Separation:
    found = _rates(run, np.asarray(run.info.was_equal, float))
    is_equal = np.asarray(run.info.is_equal) / run.thin
    does_coalesce = bool(np.any(np.diff(is_equal, axis=1) > 0))
    tau = tau_se = np.nan
    if not does_coalesce:
        # One separation a chain at the most: updates a mark are a mean first passage, by the gaps as by the marks.
        tau, tau_se = found["rho_1"], found["rho_1_se"]
        found.update(dict.fromkeys(("rho_1", "rho_1_se", "rho_2", "rho_2_se"), np.nan))
    share, share_se = mean_and_error(is_equal) if does_coalesce else _mean_of_chains(is_equal)
    return Separation(
        **found,
        tau=tau,
        tau_se=tau_se,
        identical_fraction=share,
        identical_fraction_se=share_se,
        return_times=NONE,
        coalescence_times=times.unequal_spells(is_equal) if run.thin == 1 else NONE,
        of=who(run),
    )


def _rates(run: Sampled, eligible: np.ndarray) -> dict[str, Any]:
    """ρ from gaps and from marks, over the updates that count."""
    marks, gaps = np.asarray(run.info.marks, float), np.asarray(run.info.gaps, float)
    updates, count = int(eligible.sum()), int(marks.sum())
    rho_1, rho_1_se = _inverse(*_ratio(gaps, eligible))
    rho_2, rho_2_se = _inverse(*_ratio(marks, eligible)) if count >= FEWEST_MARKS else (np.nan, np.nan)
    return {
        "rho_1": rho_1,
        "rho_1_se": rho_1_se,
        "rho_2": rho_2,
        "rho_2_se": rho_2_se,
        "rho_2_interval": _poisson_interval(count, updates),
        "marks": count,
        "updates": updates,
    }


def _ratio(amounts: np.ndarray, eligible: np.ndarray) -> tuple[float, float]:
    """Σ amounts / Σ eligible, with the Monte Carlo error of the ratio."""
    ratio = float(amounts.sum() / max(eligible.sum(), 1))
    _, error = mean_and_error(amounts - ratio * eligible)
    return ratio, float(error / max(eligible.mean(), 1e-300))


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean of chains, and its Monte Carlo standard error by ArviZ."""
    from arviz_stats.base import array_stats

    if values.shape[1] < 8 or np.ptp(values) == 0:
        return _mean_of_chains(values)
    return float(values.mean()), float(array_stats.mcse(values, method="mean"))


def _mean_of_chains(values: np.ndarray) -> tuple[float, float]:
    """The mean, and its error from the spread between chains alone."""
    spread = values.mean(axis=1).std(ddof=1) if len(values) > 1 else np.nan
    return float(values.mean()), float(spread / np.sqrt(len(values)))


def _inverse(mean: float, error: float) -> tuple[float, float]:
    return (1 / mean, error / mean**2) if mean > 0 else (np.inf, np.nan)


def _poisson_interval(count: int, updates: int) -> tuple[float, float]:
    """Updates a mark, from an exact interval for the mean of a Poisson count."""
    from scipy.special import gammaincinv

    tail = (1 - LEVEL) / 2
    most = gammaincinv(count + 1, 1 - tail)
    least = gammaincinv(count, tail) if count else 0.0
    return float(updates / most), float(updates / least) if least else np.inf


def _pm(value: float, error: float) -> str:
    return f"{value:,.5g} ± {error:,.2g}" if np.isfinite(value) else "infinite, as far as this run tells"
