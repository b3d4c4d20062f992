"""``ls.unbiased``: estimates without bias from many independent pairs of chains."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import whole
from lockstep.coupling.names import named_arrays
from lockstep.lagged.average import Average
from lockstep.lagged.choice import UNSEEN, Choice, chosen, far_apart
from lockstep.lagged.convergence import MOST_UPDATES, Convergence, converged, first_pairs, setting_of
from lockstep.lagged.group import Group
from lockstep.lagged.pairs import Setting, extended, run_pairs
from lockstep.workers.pool import Workforce


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Unbiased:
    """An estimate without bias, from independent pairs of chains.

    Attributes
    ----------
    values
        One unbiased estimate a pair: the function's value, with a leading axis over the pairs.
    estimate, standard_error
        Their mean, and its standard error as of independent draws; NaN if a pair has not met.
    lag, start, end, reason
        The average goes from update ``start`` to ``end`` of chains that are ``lag`` apart; how that was chosen.
    convergence
        What the same pairs tell of the distance to equilibrium.
    updates
        How many updates of single chains were computed (without the pilot's).
    efficiency
        One over (variance × cost), in terms of a long chain's, component by component: 1 is as good as one long chain
        in equilibrium of the same cost, whose variance is estimated by ArviZ from the chains between start and end
        (of many pairs, from the first of them).
    """

    setting: Setting
    function: Any
    choice: Choice
    groups: Sequence[Group]
    convergence: Convergence
    values: Any
    updates: int

    lag = property(lambda self: self.choice.lag)
    start = property(lambda self: self.choice.start)
    end = property(lambda self: self.choice.end)
    reason = property(lambda self: self.choice.reason)
    meeting_times = property(lambda self: self.convergence.meeting_times)

    @property
    def pairs(self) -> int:
        return len(self.meeting_times)

    @functools.cached_property
    def efficiency(self) -> Any:
        cost = self.updates / self.pairs
        chains = [group.chains for group in first_pairs(self.groups, self.pairs)]
        together = jax.tree.map(lambda *leaves: np.concatenate(leaves), *chains)
        return jax.tree.map(lambda one, chain: _efficiency(one, chain, cost), self.values, together)

    @property
    def estimate(self) -> Any:
        return jax.tree.map(lambda values: values.mean(axis=0), self.values)

    @property
    def standard_error(self) -> Any:
        return jax.tree.map(lambda values: values.std(axis=0, ddof=1) / np.sqrt(len(values)), self.values)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """The ends of a confidence interval, each shaped as the function's value."""
        from scipy.special import stdtrit

        if not 0 < level < 1:
            raise ValueError(f"level is {level!r}; it must be above 0 and below 1")
        times = stdtrit(self.pairs - 1, (1 + level) / 2)
        ends = [
            jax.tree.map(lambda mean, error: mean + sign * times * error, self.estimate, self.standard_error)  # noqa: B023
            for sign in (-1, 1)
        ]
        return ends[0], ends[1]

    def of(self, function: Callable[..., Any], executor: Workforce = None, progress: bool | None = None) -> Unbiased:
        """The estimate of another function, from the same pairs: read from their directory, or computed again.

        Of several functions that are known before, let one ``function`` return a tuple or a dictionary.
        """
        setting = dataclasses.replace(self.setting, executor=executor, progress=progress)
        return _run(setting, function, self.choice, self.pairs)

    def more(self, pairs: int, executor: Workforce = None, progress: bool | None = None) -> Unbiased:
        """The estimate from so many pairs in all: what is missing is run, and the rest is kept."""
        setting = dataclasses.replace(self.setting, executor=executor, progress=progress)
        pairs = whole(pairs, "pairs", 2)
        choice = self.choice._replace(batches=extended(self.choice.batches, pairs, setting.kernel))
        return _run(setting, self.function, choice, pairs, self.groups)

    def to_datatree(self) -> Any:
        """An xarray DataTree: ``unbiased`` has an estimate a pair, ``sample_stats`` the meeting times.

        Pairs are independent, so that they are one chain of independent draws to ArviZ.
        """
        import arviz_base

        groups = {
            "unbiased": {name: array[None] for name, array in named_arrays(self.values).items()},
            "sample_stats": {"meeting_time": self.meeting_times[None]},
        }
        attributes = {"lag": self.lag, "start": self.start, "end": self.end, "updates": self.updates}
        return arviz_base.from_dict(groups, attrs={"/": attributes})

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw meeting times and the estimate as pairs add up; save if a path is given. Returns the figure."""
        from lockstep.lagged.figure import draw_estimate

        return draw_estimate(self, path)

    def __repr__(self) -> str:
        head = (
            f"Unbiased estimate from {self.pairs:,} pairs, lag {self.lag}, updates {self.start} to {self.end}\n"
            f"  ({self.reason})"
        )
        if self.convergence.unmet:
            most = self.setting.most
            told = f"{self.convergence.unmet} have not met within {most:,} updates, so that nothing is estimated"
            return f"{head}\n  {told}: {far_apart(most)}"
        estimates, errors, shares = (
            named_arrays(tree) for tree in (self.estimate, self.standard_error, self.efficiency)
        )
        lines = [
            f"  {name}{list(index) if index else ''}: {estimates[name][index]:.6g} ± {errors[name][index]:.2g} "
            f"(efficiency {shares[name][index]:.2f})"
            for name in estimates
            for index in np.ndindex(estimates[name].shape)
        ]
        shown = [*lines[:MOST_SHOWN], *[f"  … and {len(lines) - MOST_SHOWN} more"] * (len(lines) > MOST_SHOWN)]
        return "\n".join([head, *shown, f"  {self.updates:,} updates\n  ({UNSEEN})"])


MOST_SHOWN = 12


def unbiased(
    kernel: Any,
    initial: Any = None,
    function: Any = None,
    pairs: int = 100,
    lag: int | None = None,
    start: int | None = None,
    end: int | None = None,
    seed: int = 0,
    executor: Workforce = None,
    directory: str | PathLike[str] | None = None,
    progress: bool | None = None,
    most: int = MOST_UPDATES,
) -> Unbiased:
    """Estimate an expectation without bias, from many short pairs of chains, with an error bar that needs no warm-up.

    In each pair two chains of the kernel, ``lag`` updates apart, are coupled so that they meet (`ls.Lagged`). The
    average of h along the first from update ``start`` to ``end``, plus a correction by differences until they meet, has
    the expectation of h in equilibrium as its mean, whatever the start. Pairs are independent: their mean has the
    standard error of independent draws, and they can be computed anywhere, in any order.

    A mode that hardly any pair comes to hardly ever shows in the estimate or in its error: let ``initial`` spread over
    all that may matter.

    *Unbiased when* the kernel is exact; for an approximate kernel the estimate is that of its own equilibrium.

    Parameters
    ----------
    kernel
        Any kernel whose chains can meet. One that cannot is refused with the reason.
    initial
        The law by which chains begin: a function of a random key that draws a position, or one position. From one
        position a kernel that is to be fitted, such as `ls.subsampled`, finds the mode, and chains begin around it.
    function
        h, a function of a position that returns a number, an array, or a tree of these (a JAX function, or
        `ls.blackbox`). None: the position itself.
    pairs
        How many pairs. A later call with the same directory and more of them computes only what is new, and so does
        ``result.more(pairs)``.
    lag, start, end
        None: a pilot of 32 pairs chooses. Lag and start are the updates after which the last of them met, the end is
        ten times that. Any choice is free of bias; a better one has less variance for its cost.
    seed, executor, progress
        As in `ls.sample`. Which pairs are computed together does not depend on the executor, so that all executors give
        the same estimate, bit for bit.
    directory
        Makes it durable: the same call again goes on where the last one stopped, or was killed.
    most
        How many updates a pair may take to meet. If one has not met by then nothing is estimated, with a warning: to
        leave such pairs out would be a bias.

    Returns
    -------
    Unbiased
        ``estimate``, ``standard_error``, ``interval(level)``, ``meeting_times``, ``efficiency``, ``convergence``.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(1.5))
    >>> found = ls.unbiased(kernel, lambda key: 5 + jr.normal(key, (2,)), pairs=200, seed=1)
    >>> bool((abs(found.estimate) < 4 * found.standard_error).all())
    True

    References
    ----------
    Jacob, O'Leary and Atchadé, "Unbiased Markov chain Monte Carlo methods with couplings" (2020).
    """
    setting = setting_of(kernel, initial, seed, most, directory, executor, progress)
    pairs = whole(pairs, "pairs", 2)
    _require_function(function)
    choice = chosen(setting, pairs, lag, start, end)
    return _run(dataclasses.replace(setting, lag=choice.lag), function, choice, pairs)


def _require_function(function: Callable[..., Any]) -> None:
    if function is not None and not callable(function):
        raise TypeError(f"function is {function!r}; it must be a function of a position, or None")


def _run(
    setting: Setting, function: Callable[..., Any], choice: Choice, pairs: int, known: Sequence[Group] = ()
) -> Unbiased:
    _require_function(function)
    updates = min(max(choice.end, 2 * choice.lag), setting.most)
    average = Average(function, choice.start, choice.end)
    groups = run_pairs(setting, choice.batches, updates, "pairs", average, known)
    used = first_pairs(groups, pairs)
    bounds = converged(used, choice.lag, choice.reason, setting.most)
    values = jax.tree.map(lambda *leaves: np.concatenate(leaves), *[group.values for group in used])
    if bounds.unmet:
        values = jax.tree.map(lambda leaf: np.full_like(leaf, np.nan), values)
    return Unbiased(setting, function, choice, groups, bounds, values, sum(one.evaluated(choice.lag) for one in used))


def _efficiency(values: np.ndarray, along: np.ndarray, cost: float) -> np.ndarray:
    """The asymptotic variance of a long chain over (variance × cost) of a pair, component by component."""
    found = np.full(values.shape[1:], np.nan)
    for index in np.ndindex(found.shape):
        spread = values[(slice(None), *index)].var(ddof=1)
        if spread > 0:
            found[index] = _asymptotic_variance(along[(slice(None), slice(None), *index)]) / (spread * cost)
    return found


def _asymptotic_variance(chains: np.ndarray) -> float:
    """Of chains (chains, draws), by ArviZ's effective sample size; NaN if they are too short to tell."""
    from arviz_stats.base import array_stats

    if chains.shape[1] < 8 or np.ptp(chains) == 0:
        return float("nan")
    return float(chains.var() * chains.size / array_stats.ess(chains, method="mean"))
