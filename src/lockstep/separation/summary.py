"""Separation times of a coupled run, with standard errors that respect autocorrelation."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import stats

from lockstep.coupling import CoupledInfo, ShadowedInfo
from lockstep.separation import times

FEWEST_MARKS = 10
FEWEST_MARKS_A_CHAIN = 5
LEVEL = 0.95


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """Separation times of two kernels.

    Attributes
    ----------
    rho_1
        Mean return time of separation from the gaps, ``1/average abs(α₁ - α₂)``: of lower variance than ``rho_2``.
    rho_2
        The same from the return times: updates a mark. NaN if there are too few marks, see ``rho_2_interval``.
    rho_2_interval
        A 95 % interval for the mean return time from the number of marks alone.
    tau
        Mean time to separation from equilibrium, from the waits of all states of the run for the next mark; NaN if
        there are fewer than five marks a chain (`first_passage` measures it directly).
    marks, updates
        How many separations there were, and in how many updates (while the chains were equal).
    identical_fraction
        The share of states at which two coupled chains are equal; NaN for a `Shadowed` run, which has one chain.
    geometric_p_value
        Of a test of the return times against a geometric law.
    coalescences, coalescence_time
        How often chains that had separated became equal again, and after how many updates on average.
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
    geometric_p_value: float
    coalescences: int
    coalescence_time: float

    @property
    def is_bound_met(self) -> bool:
        """Whether 2τ ≥ ρ + 1, as Kac's formula demands, within three standard errors."""
        slack = 2 * self.tau - self.rho_2 - 1
        return not slack < -3 * np.hypot(2 * self.tau_se, self.rho_2_se)

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name."""
        return dataclasses.asdict(self)

    def __repr__(self) -> str:
        low, high = self.rho_2_interval
        lines = [f"Separation: {self.marks:,} marks in {self.updates:,} updates"]
        lines.append(f"  ρ from gaps          {_pm(self.rho_1, self.rho_1_se)}")
        if np.isnan(self.rho_2):
            lines.append(
                f"  ρ from return times  too few marks for a number; between {low:,.4g} and {high:,.4g} (95 %)"
            )
        else:
            lines.append(f"  ρ from return times  {_pm(self.rho_2, self.rho_2_se)}")
        if not np.isnan(self.tau):
            lines.append(f"  τ from equilibrium   {_pm(self.tau, self.tau_se)}   (2τ ≥ ρ + 1: {self.is_bound_met})")
        if not np.isnan(self.identical_fraction):
            share, error = 100 * self.identical_fraction, 100 * self.identical_fraction_se
            lines.append(f"  identical states     {share:.2f} ± {error:.2f} %")
        if self.coalescences:
            lines.append(
                f"  coalescences         {self.coalescences:,}, after {self.coalescence_time:.1f} updates on average"
            )
        if not np.isnan(self.geometric_p_value):
            lines.append(f"  return times against a geometric law: p = {self.geometric_p_value:.2g}")
        return "\n".join(lines)


def summary(run: Any) -> Separation:
    """Separation times of a run of `ls.Shadowed` or `ls.Coupled`.

    For `ls.Shadowed` every update counts. For `ls.Coupled` those count at which the two chains were equal: with a
    random walk they separate once and for all, with an independence proposal they coalesce and branch again.

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
    info = run.info
    if not isinstance(info, (CoupledInfo, ShadowedInfo)):
        raise TypeError(
            "run is not one of coupled kernels: sample ls.Shadowed(exact, approximate) or ls.Coupled(first, second)"
        )
    marks, gaps = np.asarray(info.marks, float), np.asarray(info.gaps, float)
    eligible = _eligible(info, run.thin)
    updates, count = int(eligible.sum()), int(marks.sum())
    gap, gap_se = _ratio(gaps, eligible)
    rho_1, rho_1_se = _inverse(gap, gap_se)
    rate, rate_se = _ratio(marks, eligible)
    rho_2, rho_2_se = _inverse(rate, rate_se)
    is_coupled = isinstance(info, CoupledInfo)
    is_enough = count >= FEWEST_MARKS
    has_intervals = is_enough and run.thin == 1 and not is_coupled and count >= FEWEST_MARKS_A_CHAIN * run.chains
    every = times.return_times(info.marks) if has_intervals else np.array([], dtype=int)
    share, share_se, spells = np.nan, np.nan, np.array([], dtype=int)
    if isinstance(info, CoupledInfo):
        share, share_se = _mean(np.asarray(info.is_equal) / run.thin)
        spells = times.unequal_spells(info.is_equal) if run.thin == 1 else spells
    return Separation(
        rho_1=rho_1,
        rho_1_se=rho_1_se,
        rho_2=rho_2 if is_enough else np.nan,
        rho_2_se=rho_2_se if is_enough else np.nan,
        rho_2_interval=_poisson_interval(count, updates),
        tau=times.mean_waiting_time(every) if has_intervals else np.nan,
        tau_se=times.jackknife(times.mean_waiting_time, every) if has_intervals else np.nan,
        marks=count,
        updates=updates,
        identical_fraction=share,
        identical_fraction_se=share_se,
        geometric_p_value=times.geometric_p_value(every) if has_intervals else np.nan,
        coalescences=len(spells),
        coalescence_time=float(spells.mean()) if len(spells) else np.nan,
    )


def _eligible(info: Any, thin: int) -> np.ndarray:
    """How many updates of each draw began with equal chains."""
    if isinstance(info, ShadowedInfo):
        return np.full(np.shape(info.marks), thin, float)
    after = np.asarray(info.is_equal, float)
    # Equal before an update: equal after it, or separated by it, less those that it made equal.
    before = np.concatenate([after[:, :1], after[:, :-1]], axis=1) if thin == 1 else after
    before[:, 0] = np.maximum(before[:, 0], np.asarray(info.marks)[:, 0])
    return before


def _ratio(amounts: np.ndarray, eligible: np.ndarray) -> tuple[float, float]:
    """Σ amounts / Σ eligible, with the Monte Carlo error of the ratio."""
    ratio = float(amounts.sum() / max(eligible.sum(), 1))
    _, error = _mean(amounts - ratio * eligible)
    return ratio, float(error / max(eligible.mean(), 1e-300))


def _mean(values: np.ndarray) -> tuple[float, float]:
    """The mean of chains, and its Monte Carlo standard error by ArviZ."""
    from arviz_stats.base import array_stats

    values = np.asarray(values, float)
    if values.shape[1] < 8 or np.ptp(values) == 0:
        spread = values.mean(axis=1).std(ddof=1) if len(values) > 1 else np.nan
        return float(values.mean()), float(spread / np.sqrt(len(values)))
    return float(values.mean()), float(array_stats.mcse(values, method="mean"))


def _inverse(mean: float, error: float) -> tuple[float, float]:
    return (1 / mean, error / mean**2) if mean > 0 else (np.inf, np.nan)


def _poisson_interval(count: int, updates: int) -> tuple[float, float]:
    """Updates a mark, from an exact interval for the mean of a Poisson count."""
    tail = (1 - LEVEL) / 2
    most = stats.chi2.ppf(1 - tail, 2 * count + 2) / 2
    least = stats.chi2.ppf(tail, 2 * count) / 2 if count else 0.0
    return float(updates / most), float(updates / least) if least else np.inf


def _pm(value: float, error: float) -> str:
    return f"{value:,.5g} ± {error:,.2g}"
