"""How far a chain is from equilibrium after t updates, bounded by the meeting times of lagged pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.arguments import MOST_SEED, flag, path_of, whole
from lockstep.core.kernel import Kernel
from lockstep.core.types import Array
from lockstep.core.warnings import warn
from lockstep.coupling.lagged import Lagged
from lockstep.lagged.choice import UNSEEN, chosen, far_apart
from lockstep.lagged.group import Group
from lockstep.lagged.pairs import Setting, run_pairs
from lockstep.lagged.start import law_of_start
from lockstep.workers.pool import Workforce

LEVEL = 0.01  # of the total variation distance that counts as equilibrium
CONFIDENCE = 0.95
MOST_UPDATES = 20_000


class Bound(NamedTuple):
    """An upper bound of a distance, estimated from pairs, and its Monte Carlo band; arrays over the times."""

    bound: Any
    low: Any
    high: Any


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Convergence:
    """Upper bounds of the distance between the law of a chain after t updates and its equilibrium.

    Attributes
    ----------
    lag
        By how many updates the first chain of a pair is ahead.
    meeting_times
        The first t at which X_t is Y_{t - lag}, one a pair; 0 for a pair that has not met.
    reason
        How the lag was chosen.
    """

    lag: int
    meeting_times: np.ndarray
    reason: str
    most: int
    groups: Sequence[Group] = ()

    @property
    def unmet(self) -> int:
        """How many pairs have not met: then no bound is known."""
        return int((self.meeting_times == 0).sum())

    def total_variation(self, t: Array) -> Bound:
        """A bound of the total variation distance after ``t`` updates (a number or an array of them).

        It is the mean of max(0, ⌈(τ - L - t)/L⌉) over the pairs, at most 1; NaN if a pair has not met.
        """
        t = np.asarray(t)
        left = np.subtract.outer(t, self.meeting_times - self.lag)  # minus (τ - L - t)
        return self._mean(np.maximum(0, -(left // self.lag)).astype(float), most=1.0)

    def wasserstein(self, t: Array) -> Bound:
        """A bound of the Wasserstein distance (Euclidean, of order 1) after ``t`` updates.

        It is the mean of Σ_j abs(X_{t+jL} - Y_{t+(j-1)L}) over the pairs; NaN if one has not met.
        """
        t = np.asarray(t)
        sums = []
        for group in self.groups:
            last = group.apart.shape[1]
            tails = np.zeros((last + self.lag, group.size))
            for s in reversed(range(last)):  # s, s + L, s + 2L, …
                tails[s] = group.apart[:, s] + tails[s + self.lag]
            sums.append(tails[np.minimum(t, last)])
        return self._mean(np.concatenate(sums, axis=-1))

    def updates_until(self, level: float = LEVEL) -> int:
        """After how many updates the bound of the total variation distance is below a level."""
        if self.unmet:
            raise ValueError(f"{self.unmet} pairs have not met within {self.most:,} updates: {far_apart(self.most)}")
        if not 0 < level <= 1:
            raise ValueError(f"level is {level!r}; it must be above 0 and at most 1")
        # The bound falls with t, and is 0 when the last pair would have met.
        low, high = 0, int(max(self.meeting_times.max() - self.lag, 0))
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.total_variation(middle).bound < level else (middle + 1, high)
        return high

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw the bounds against t; save the figure if a path is given. Returns the matplotlib figure."""
        from lockstep.lagged.figure import draw_bounds

        return draw_bounds(self, path)

    def _mean(self, values: np.ndarray, most: float = np.inf) -> Bound:
        """The mean over the last axis with a band, which is unknown (NaN) above where all values are 0 and unbounded.

        Counts of pairs that are apart are few: where none of n is, one of the next n/3 may be (the rule of three).
        """
        from scipy.special import betaincinv, ndtri

        if self.unmet:
            nothing = np.full(values.shape[:-1], np.nan)
            return Bound(nothing, nothing, nothing)
        count = values.shape[-1]
        mean = values.mean(axis=-1)
        half = ndtri((1 + CONFIDENCE) / 2) * values.std(axis=-1, ddof=1) / np.sqrt(count)
        apart = (values > 0).sum(axis=-1)
        share = betaincinv(apart + 1, np.maximum(count - apart, 1e-9), (1 + CONFIDENCE) / 2)
        typical = np.where(apart > 0, mean * count / np.maximum(apart, 1), 1.0 if most == 1.0 else np.nan)
        high = np.maximum(mean + half, share * typical)
        return Bound(np.minimum(mean, most), np.clip(mean - half, 0.0, most), np.minimum(high, most))

    def __repr__(self) -> str:
        head = f"Convergence by {len(self.meeting_times):,} pairs, lag {self.lag}\n  ({self.reason})"
        if self.unmet:
            return f"{head}\n  {self.unmet} have not met within {self.most:,} updates: {far_apart(self.most)}"
        waits = self.meeting_times - self.lag
        updates = self.updates_until()
        at = self.total_variation(updates)
        return (
            f"{head}\n  they met {np.median(waits):.0f} updates after the lag (median), the last {waits.max()}\n"
            f"  total variation distance to equilibrium below {LEVEL} after {updates:,} updates:\n"
            f"  at most {at.bound:.2g}, by the band at most {at.high:.2g}\n  ({UNSEEN})"
        )


def setting_of(
    kernel: Kernel,
    initial: Any,
    seed: int,
    most: int,
    directory: str | PathLike[str] | None,
    executor: Workforce,
    progress: bool | None,
) -> Setting:
    """The arguments that pairs have in common, checked."""
    kernel = adopted(kernel, Kernel, "kernel", "a kernel such as ls.standard(log_density, proposal)")
    Lagged(kernel)  # refuses, before anything is run, a kernel whose chains never meet
    path = None if directory is None else path_of(directory, "directory")
    return Setting(
        kernel,
        law_of_start(kernel, initial),
        1,
        whole(seed, "seed", 0, MOST_SEED),
        whole(most, "most", 1),
        path,
        executor,
        flag(progress, "progress", is_none_allowed=True),
    )


def convergence(
    kernel: Any,
    initial: Any = None,
    pairs: int = 500,
    lag: int | None = None,
    seed: int = 0,
    most: int = MOST_UPDATES,
    executor: Workforce = None,
    directory: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> Convergence:
    """How many updates a chain needs to come close to equilibrium: upper bounds from lagged pairs of chains.

    For chains that begin by the law ``initial``, at every t: the total variation distance to equilibrium is at most
    E max(0, ⌈(τ - L - t)/L⌉), with τ the time at which a pair of chains with lag L meets. Equilibrium is that of the
    kernel: an approximate kernel has one of its own.

    The expectation is estimated from the pairs that were run. Where all of them begin, and meet, at one mode of several
    that the kernel hardly ever leaves, they cannot tell of the others, and neither does the band: let ``initial``
    spread over all that may matter. Pairs from different modes then do not meet, and that is said.

    Parameters
    ----------
    kernel, initial, seed, most, executor, directory, progress
        As in `ls.unbiased`.
    pairs
        How many pairs. From 300 on the band can tell a bound below 0.01.
    lag
        By how many updates the first chain is ahead. The larger, the tighter the bound; None: a pilot chooses.

    Returns
    -------
    Convergence
        ``total_variation(t)`` and ``wasserstein(t)`` with bands, ``updates_until(0.01)``, ``plot()``.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> kernel = ls.standard(lambda theta: -0.5 * theta**2, ls.RandomWalk(2.0))
    >>> found = ls.convergence(kernel, lambda key: 5 + jr.normal(key), pairs=200, seed=1)
    >>> found.updates_until(0.05) < 100
    True

    References
    ----------
    Biswas, Jacob and Vanetti, "Estimating convergence of Markov chains with L-lag couplings" (2019).
    """
    setting = setting_of(kernel, initial, seed, most, directory, executor, progress)
    pairs = whole(pairs, "pairs", 2)
    choice = chosen(setting, pairs, lag, 0, 0)
    setting = dataclasses.replace(setting, lag=choice.lag)
    groups = run_pairs(setting, choice.batches, min(2 * choice.lag, setting.most), "pairs")
    return converged(first_pairs(groups, pairs), choice.lag, choice.reason, setting.most)


def first_pairs(groups: Sequence[Group], pairs: int) -> list[Group]:
    """Groups with so many pairs in all."""
    found: list[Group] = []
    for group in groups:
        left = pairs - sum(one.size for one in found)
        if left > 0:
            found.append(group if group.size <= left else group.cut(left))
    return found


def converged(groups: Sequence[Group], lag: int, reason: str, most: int) -> Convergence:
    """The bounds of pairs that were run; a warning if some have not met."""
    times = np.concatenate([group.meeting_times for group in groups])
    found = Convergence(lag, times, reason, most, groups)
    if found.unmet:
        warn(
            f"{found.unmet} of {len(times)} pairs have not met within most={most:,} updates. To leave them out would "
            f"be a bias, so that nothing is estimated: {far_apart(most)}"
        )
    return found
