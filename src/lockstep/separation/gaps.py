"""What a rule decides otherwise than an exact kernel: gaps between acceptance probabilities, from replicates.

The exact kernel is the penalty method on the normal score of the same noise, or standard Metropolis-Hastings, which has
no noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.core.estimator import Estimate
from lockstep.core.rule import Rule
from lockstep.separation.groups import FEWEST, common, groups_of, is_one_law, shapes_of
from lockstep.separation.replicates import ROUNDING, Cumulants, Replicates
from lockstep.separation.scores import kurtosis_of, normal_scores

PENALTY, STANDARD = "penalty", "standard"  # what a rule is coupled to
MOST_SHARED = 4096  # replicates that are tried at a pair
MOST_AT_ONCE = 2**16  # numbers, which stay near the processor
GRID = np.concatenate([np.linspace(-40.0, -6.0, 18)[:-1], np.linspace(-6.0, 6.0, 121), [40.0]])


class Gaps(NamedTuple):
    """At each pair: E abs(gap) along coupled paths, the average gap, and the acceptance.

    The average gap comes from each half of the replicates. The curves are the same as functions of D (plus the log
    proposal ratio) on `GRID`, for noise of typical size.
    """

    path: np.ndarray
    signed: np.ndarray
    acceptance: np.ndarray
    path_curve: np.ndarray
    signed_curve: np.ndarray


class Noise(NamedTuple):
    """Noise of estimates: weight, normal score, and the estimate with its cumulants in units of powers of s."""

    weight: np.ndarray
    score: np.ndarray
    estimate: Estimate


def measure_gaps(
    replicates: Replicates, rules: dict[str, Rule], against: str = PENALTY, fewest: int = FEWEST
) -> dict[str, Gaps]:
    """Gaps of each rule at each pair; pairs whose noise has one law, or the ``fewest`` most alike, share replicates."""
    log_ratio = replicates.halves.difference.mean(axis=0) + replicates.log_proposal_ratio
    is_noisy = np.isfinite(log_ratio) & replicates.is_noisy
    found = {name: _empty(len(log_ratio)) for name in rules}
    quiet, noisy = np.flatnonzero(~is_noisy), np.flatnonzero(is_noisy)
    for name, rule in rules.items():
        _without_noise(found[name], replicates, rule, quiet, np.nan_to_num(log_ratio[quiet], nan=-np.inf))
    groups = groups_of(shapes_of(replicates.halves)[:, noisy], fewest) if noisy.size else []
    for group in groups:
        members = noisy[group]
        _measure_group(found, replicates, rules, members, log_ratio[members], len(members) / len(noisy), against)
    for of in found.values():
        # A candidate that is the position itself separates nothing.
        of.path[~replicates.does_move] = of.signed[:, ~replicates.does_move] = 0.0
    return found


def are_laws_mixed(replicates: Replicates) -> bool:
    """Whether pairs are too few to tell all laws of their noise from each other: some share replicates that differ."""
    shapes = shapes_of(replicates.halves)[:, replicates.is_noisy]
    return shapes.shape[1] > 0 and not all(is_one_law(shapes[:, group]) for group in groups_of(shapes))


def _without_noise(of: Gaps, replicates: Replicates, rule: Rule, quiet: np.ndarray, log_ratio: np.ndarray) -> None:
    """The gaps where estimates have no noise: none, unless a rule corrects for noise that is not there."""
    exact = of.acceptance[quiet] = _probability(log_ratio)
    constant = replicates.is_constant[quiet]
    each = Estimate(*(np.asarray(field)[quiet] for field in replicates.each))
    decided = _probability(rule(each) + replicates.log_proposal_ratio[quiet, None]).mean(axis=1)
    is_off = constant & ~(np.abs(exact - decided) <= ROUNDING)
    of.path[quiet] = np.where(is_off, np.abs(exact - decided), 0.0)
    of.signed[:, quiet] = np.where(is_off, exact - decided, 0.0)


def _empty(pairs: int) -> Gaps:
    return Gaps(np.zeros(pairs), np.zeros((2, pairs)), np.zeros(pairs), np.zeros(GRID.size), np.zeros((2, GRID.size)))


def _measure_group(
    found: dict[str, Gaps],
    replicates: Replicates,
    rules: dict[str, Rule],
    members: np.ndarray,
    log_ratio: np.ndarray,
    share: float,
    against: str = PENALTY,
) -> None:
    """Put the gaps of a group of pairs in their place, and add its share to the curves."""
    halves = Cumulants(*(field[:, members] for field in replicates.halves))
    count = float(np.mean(replicates.each.count))
    shape, scale = common(halves, count)
    shape = shape._replace(kurtosis=kurtosis_of(np.asarray(replicates.each.variance)[members], count))
    targets = np.concatenate([log_ratio, GRID])
    scales = np.concatenate([scale, np.full(GRID.size, np.median(scale))])
    half = replicates.linear.shape[1] // 2
    # Paths from all replicates; average gaps from each half, so that their noise can be told from their size.
    for index, use in enumerate((slice(None), slice(0, half), slice(half, None))):
        e, linear, cumulants = _in_units(replicates, members, scale, use)
        score, weight = normal_scores(e, linear, shape)
        noise = _thinned(Noise(weight, score, cumulants), MOST_SHARED)
        gaps = _gaps(noise, targets, scales, rules, against)
        for name, (path, signed, acceptance) in gaps.items():
            of = found[name]
            if index == 0:
                of.path[members], of.acceptance[members] = path[: len(members)], acceptance[: len(members)]
                of.path_curve[:] += share * path[len(members) :]
            else:
                of.signed[index - 1, members] = signed[: len(members)]
                of.signed_curve[index - 1] += share * signed[len(members) :]


def _in_units(
    replicates: Replicates, members: np.ndarray, scale: np.ndarray, use: slice
) -> tuple[np.ndarray, np.ndarray, Estimate]:
    """The noise of the estimates, their linear parts, and their cumulants, in units of powers of the pairs' s.

    The noise is seen from the average of all samples of a half, which takes part in it: its linear part is stretched to
    its full variance, and the curved part, which goes with the square of it, accordingly.
    """
    half = replicates.linear.shape[1] // 2
    of = replicates.halves
    centre = np.repeat((of.difference + of.bias / half)[:, members], half, axis=0).T[:, use]
    each, s = replicates.each, scale[:, None]
    value, bias, variance, third = (np.asarray(field)[members, use] for field in each[:4])
    linear = replicates.linear[members, use] / s
    stretch = np.sqrt(half / (half - 1))
    e = stretch * linear + stretch**2 * ((value - centre) / s - linear)
    cumulants = Estimate(e, bias / s**2, variance / s**2, third / s**3, float(np.mean(each.count)))  # type: ignore[arg-type]
    return e, stretch * linear, cumulants


def _thinned(noise: Noise, most: int) -> Noise:
    """Fewer replicates, spread over all pairs."""
    fewer = slice(None, None, -(-noise.score.size // most))
    value, bias, variance, third, count = noise.estimate
    weight = np.ravel(noise.weight)[fewer]
    estimate = Estimate(*(np.ravel(field)[fewer] for field in (value, bias, variance, third)), count)  # type: ignore[arg-type,call-arg]
    return Noise(weight / weight.sum(), np.ravel(noise.score)[fewer], estimate)


def _gaps(
    noise: Noise, log_ratio: np.ndarray, scale: np.ndarray, rules: dict[str, Rule], against: str
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each rule E abs(gap), E gap and the acceptance at each pair."""
    rows = np.array_split(np.arange(len(log_ratio)), 1 + len(log_ratio) * noise.score.size // MOST_AT_ONCE)
    parts: dict[str, list[Any]] = {name: [] for name in rules}
    of = noise.estimate
    for row in rows:
        d, s = log_ratio[row, None], scale[row, None]
        exact = _probability(d if against == STANDARD else d + s * noise.score - s**2 / 2)
        estimate = Estimate(d + s * of.value, s**2 * of.bias, s**2 * of.variance, s**3 * of.third, of.count)
        for name, rule in rules.items():
            decided = _probability(rule(estimate))
            gaps = exact - decided
            parts[name].append((np.abs(gaps) @ noise.weight, gaps @ noise.weight, decided @ noise.weight))
    return {name: tuple(np.concatenate(column) for column in zip(*part, strict=True)) for name, part in parts.items()}  # type: ignore[misc]


def _probability(log_ratio: np.ndarray) -> np.ndarray:
    """The probability of acceptance; NaN and plus infinity are refused."""
    return np.where(log_ratio < np.inf, np.exp(np.minimum(log_ratio, 0.0)), 0.0)
