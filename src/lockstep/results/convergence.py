"""Whether the chains of a run have moved, and agree; if not, what would help this kernel."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.sampled import Sampled
from lockstep.coupling.infos import Marked
from lockstep.coupling.pair import legs
from lockstep.engine.bad_ratios import infos

GOOD_RHAT = 1.01
GOOD_ESS = 400
LONG = 50  # draws in one state that are worth a word, if they are also a large share,
LARGE_SHARE = 0.05
SMALL_SHARE = 0.01  # or a smaller one that this acceptance rate does not explain
CHANCE = 1e-3
FEW = 8  # chains that are looked at, to find what makes them stick
LOW_ACCEPTANCE, HIGH_ACCEPTANCE = 0.1, 0.7


class Stay(NamedTuple):
    """The longest time that one chain spent in one state."""

    chain: int
    draws: int
    share: float
    is_for_good: bool


def is_suspicious(column: str, value: Any) -> bool:
    """Whether a number of the table of diagnostics needs attention; NaN does."""
    if column == "r_hat":
        return not value <= GOOD_RHAT
    return column.startswith("ess") and not value >= GOOD_ESS


def stuck(run: Sampled, share: float = 0.0) -> str | None:
    """A sentence on the chain that stood in one state for longest, with the remedy; None if no chain sticks.

    Or if no more than a ``share`` of them do: of hundreds of short chains a few always seem to.
    """
    acceptance = run.acceptance if any(infos(run.info)) else 0.0  # of an info of a user's own nothing is known
    longest = longest_stays(run, _least(run, acceptance))
    stays = [stay for stay in longest if _is_stuck(stay, run, acceptance)]
    if len({stay.chain for stay in stays}) <= share * run.chains:
        return None
    return _told(max(stays, key=lambda stay: stay.draws), len(stays), run, _cure(run, stays) or _remedy(run))


def problems(run: Sampled, table: Any) -> list[str]:
    """What keeps the draws from being used, the worst first."""
    sticks, helps = stuck(run), _remedy(run)
    said = [] if sticks is None else [sticks]
    still = [label for label in table.index if np.isnan(table.loc[label, "ess_bulk"])]
    if still and run.draws >= 4:
        few = ", ".join(map(str, still[:4])) + (f" and {len(still) - 4} more" if len(still) > 4 else "")
        said.append(
            f"{few} never moved: an effective sample size, R-hat and Monte Carlo error of it do not exist; {helps}, "
            f"unless it is meant to be constant"
        )
    elif run.draws < 4:
        said.append(f"{run.draws} draws of a chain are too few for R-hat and effective sample sizes: take more draws")
    unconverged = []
    label, value = _worst(table, ["r_hat"])
    if value > GOOD_RHAT:
        unconverged.append(f"R-hat is {value:.3f} (of {label}): the chains do not agree with one another")
    label, value = _worst(table, ["ess_bulk", "ess_tail"])
    if value < GOOD_ESS:
        unconverged.append(f"the effective sample size is only {value:,.0f} (of {label}), fewer than {GOOD_ESS}")
    if unconverged:
        said.append("; ".join([*unconverged, "the chains stick, see above" if sticks else _advice(run, helps)]))
    return said


def good_news(table: Any) -> list[str]:
    """That the chains agree, if they do."""
    (of_rhat, rhat), (_, size) = _worst(table, ["r_hat"]), _worst(table, ["ess_bulk", "ess_tail"])
    if not (rhat <= GOOD_RHAT and size >= GOOD_ESS):
        return []
    return [f"R-hat is at most {rhat:.3f} (of {of_rhat}), and the effective sample size at least {size:,.0f}"]


def longest_stays(run: Sampled, least: int = LONG) -> list[Stay]:
    """The longest time in one state, of each chain in which it may be so many draws; of coupled chains, of both."""
    found = []
    for leg in run.info.walking if isinstance(run.info, Marked) else infos(run.info):
        accepted = np.asarray(leg.is_accepted)
        seen = accepted.reshape(run.chains, run.draws, -1).any(axis=2) if accepted.ndim > 2 else accepted != 0
        has_moved = np.asarray(seen)
        chains = np.flatnonzero(_may_stay_long(has_moved, least))
        if len(chains):
            found += [
                Stay(int(chain), int(draws), draws / run.draws, not count)
                for chain, draws, count in zip(chains, *_longest(has_moved[chains]), strict=True)
            ]
    return found


def _may_stay_long(has_moved: np.ndarray, least: int) -> np.ndarray:
    """Of each row, whether it may be without an arrival for so many draws: then it is throughout half as many."""
    rows, draws = has_moved.shape
    window = least // 2
    if draws < least:
        return np.logical_not(np.all(has_moved, axis=1))
    windows = has_moved[:, : draws // window * window].reshape(rows, -1, window)
    return np.logical_not(np.all(np.any(windows, axis=2), axis=1))


def _longest(has_moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The longest time without an arrival, of each row, and how many arrivals a row has; all rows at once."""
    rows, draws = has_moved.shape
    # One after the other, each closed by an end that counts as an arrival.
    ends = np.flatnonzero(np.pad(has_moved, [(0, 0), (0, 1)], constant_values=True))
    first = np.searchsorted(ends, np.arange(rows) * (draws + 1))
    times = np.diff(ends, prepend=0)
    times[first] = ends[first] - np.arange(rows) * (draws + 1)
    return np.maximum.reduceat(times, first), np.diff(first, append=len(ends)) - 1


def _remedy(run: Sampled) -> str:
    return run.about.get("remedy") or "take smaller steps"


def _least(run: Sampled, acceptance: float) -> int:
    """How many draws in one state are worth a word at the least, as `_is_stuck` judges."""
    refused, strange = 1 - min(acceptance, 1.0), math.inf
    if refused < 1:
        strange = math.log(CHANCE / run.draws) / math.log(refused) / run.thin if refused else 0.0
    return max(LONG, math.floor(min(LARGE_SHARE * run.draws, max(SMALL_SHARE * run.draws, strange))) - 1)


def _is_stuck(stay: Stay, run: Sampled, acceptance: float) -> bool:
    if stay.is_for_good:
        return run.draws * run.thin >= LONG
    # How many such times this acceptance rate would make by chance.
    by_chance = run.draws * (1 - min(acceptance, 1.0)) ** (stay.draws * run.thin)
    is_strange = stay.share >= SMALL_SHARE and by_chance < CHANCE
    return stay.draws >= LONG and (stay.share >= LARGE_SHARE or is_strange)


def _cure(run: Sampled, stays: list[Stay]) -> str | None:
    """What would cure chains that stick, measured where they stood; None if that cannot be measured."""
    if run.kernel is None or len(legs(run.walked)) > 1:
        return None
    chains = sorted({stay.chain for stay in stays})[:FEW]
    draws = [_stood(run, chain) for chain in chains]
    return run.kernel.cure(jax.tree.map(lambda leaf: leaf[chains, draws], run.walked))


def _stood(run: Sampled, chain: int) -> int:
    """A draw of the longest time that a chain spent in one state."""
    has_moved = np.asarray(next(infos(run.info)).is_accepted)[chain].reshape(run.draws, -1).any(axis=1)
    begins = np.concatenate([[0], np.flatnonzero(has_moved), [run.draws]])
    return int(begins[np.argmax(np.diff(begins))])


def _told(worst: Stay, count: int, run: Sampled, helps: str) -> str:
    others = "" if count == 1 else f" ({count} chains stick)"
    if worst.is_for_good:
        return f"chain {worst.chain} never moved in {run.draws * run.thin:,} updates{others}: {helps}"
    return (
        f"chain {worst.chain} stood in one state for {worst.draws:,} of {run.draws:,} draws ({worst.share:.1%}, at "
        f"acceptance {run.acceptance:.3f}){others}: {helps}"
    )


def _advice(run: Sampled, helps: str) -> str:
    """What to do about chains that disagree or are too short, and do not stick."""
    if run.acceptance < LOW_ACCEPTANCE:
        return helps
    if run.acceptance > HIGH_ACCEPTANCE and "smaller steps" in helps:
        return f"run longer, with larger steps (the acceptance is {run.acceptance:.2f})"
    return "run longer; chains that still disagree then have found different modes"


def _worst(table: Any, columns: list[str]) -> tuple[str, float]:
    """The component whose diagnostic is worst, and its value; NaN if there is none."""
    values = table[columns].max(axis=1) if columns == ["r_hat"] else table[columns].min(axis=1)
    if values.isna().all():
        return "", float("nan")
    label = values.idxmax() if columns == ["r_hat"] else values.idxmin()
    return str(label), float(values[label])
