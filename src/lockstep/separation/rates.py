"""Rates of separation of every rule, from replicates at pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lockstep.core.estimator import Estimate, Estimator
from lockstep.core.parts import part
from lockstep.core.precision import double_precision
from lockstep.core.rule import Rule
from lockstep.core.types import Array
from lockstep.estimators.combinations import halves, two_sided
from lockstep.ratios.rules import RULES, corrected
from lockstep.separation.gaps import GRID, PENALTY, Gaps, are_laws_mixed, measure_gaps
from lockstep.separation.groups import FEWEST, uncertainty_of_variance
from lockstep.separation.prediction import RulePrediction
from lockstep.separation.replicates import Cumulants, Replicates, Singles
from lockstep.separation.resolution import measure_nothing
from lockstep.separation.summary import mean_and_error
from lockstep.separation.tails import FEWEST_IN_TAIL, pareto_shape
from lockstep.separation.trust import asymmetry_of, problems_of, variance_by_replicates

NAN = float("nan")
RESOLVED = 0.5
LEAST_SHARE = 0.2
LEAST_UNCERTAIN = 0.01
POWERS = (0.0, 1.0, 2.0)  # of the scale of noise that gaps may grow with
ABOVE_NOTHING = 3.0  # times what is measured where the truth is none: by then that adds about 5 %


@part
class TwoSidedCorrected(Rule):
    """`corrected` over the two-sided estimator: where the variance differs by direction, the rule that is left."""

    name = "two_sided"
    needs_variance = True
    order = corrected.order
    error = corrected.error
    colour, marker = "#CC79A7", "^"

    def __call__(self, estimate: Estimate) -> Array:
        return corrected(estimate)

    def suits(self, estimator: Estimator) -> bool:
        return estimator.sides == 1 and corrected.suits(estimator)

    def prepared(self, estimator: Estimator) -> tuple[Estimator, Rule]:
        return two_sided(estimator), corrected


ALL_RULES: tuple[Rule, ...] = (*RULES, TwoSidedCorrected())


class Judged(NamedTuple):
    """The rules, what makes all of their numbers worthless, and what those of one-sided rules."""

    rules: dict[str, RulePrediction]
    problems: tuple[str, ...]
    asymmetry: str
    is_noise_free: bool

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.problems, *([self.asymmetry] if self.asymmetry else []))


def judge(
    estimator: Estimator,
    forward: Replicates,
    reverse: Replicates,
    more: Sequence[Rule],
    seen: Seen,
    updates: int,
    against: str = PENALTY,
) -> Judged:
    """Every rule that suits the estimator, and some more, in so many updates against one exact kernel."""
    # Whatever is no number is found at the end, and said in words.
    with np.errstate(all="ignore"), double_precision():
        try:
            return _judge(estimator, forward, reverse, more, seen, updates, against)
        except np.linalg.LinAlgError:
            names = [rule.name for rule in (*ALL_RULES, *more) if rule.suits(estimator)]
            sentence = "no law could be fitted to the noise of the estimates; look at what the estimator returns"
            return Judged({name: RulePrediction.unknown(name) for name in names}, (sentence,), "", False)


def _judge(
    estimator: Estimator,
    forward: Replicates,
    reverse: Replicates,
    more: Sequence[Rule],
    seen: Seen,
    updates: int,
    against: str,
) -> Judged:
    rules = {rule.name: rule for rule in (*ALL_RULES, *more) if rule.suits(estimator)}
    one_sided = {name: rule for name, rule in rules.items() if sides_of(rule, estimator) == 1}
    problems = tuple(problems_of(estimator, forward, reverse, against == PENALTY))
    # Standard Metropolis-Hastings is exact whatever the noise is like.
    asymmetry = asymmetry_of(forward, reverse) if against == PENALTY else ""
    # Whole estimates know their variance better than dependent samples do.
    size = variance_by_replicates(forward, reverse)
    forward, reverse = (one._replace(halves=one.halves.of_variance(size)) for one in (forward, reverse))
    found: dict[str, RulePrediction] = {}
    if not problems and not asymmetry:
        found |= _measured(estimator, forward, one_sided, seen, updates, against)
    if not problems and len(one_sided) < len(rules):
        rest = {name: rule for name, rule in rules.items() if name not in one_sided}
        found |= _measured(estimator, both_ways(forward, reverse), rest, seen, updates, against)
    if lost := [name for name, of in found.items() if np.isnan(of.rho) and not of.at_least]:
        problems = (
            f"the gaps of {', '.join(lost)} are no numbers: the estimates or their cumulants are NaN or infinite; look "
            f"at what the estimator returns there",
        )
    is_noise_free = not problems and not np.any(forward.is_noisy & forward.does_move)
    return Judged(
        {name: found.get(name, RulePrediction.unknown(name)) for name in rules},
        problems,
        asymmetry,
        bool(is_noise_free),
    )


def _measured(
    estimator: Estimator, replicates: Replicates, rules: dict[str, Rule], seen: Seen, updates: int, against: str
) -> dict[str, RulePrediction]:
    """The numbers of rules that decide by these replicates."""
    # The chain without noise is known but for D: no score of the noise has to be measured.
    nothing = [] if against != PENALTY else measure_nothing(replicates, estimator)
    made_up = [(seen.rate(gaps)[0], seen.discrepancy(gaps)[0]) for gaps in nothing]
    resolution = Nothing(*np.mean(made_up, axis=0)) if made_up else Nothing(0.0, 0.0)
    found = measure_gaps(replicates, rules, against)
    # What one more split of laws that differ would change is not known better than by doing it.
    finer = measure_gaps(replicates, rules, against, FEWEST // 2) if are_laws_mixed(replicates) else found
    # Where the variance is less certain than that of normal samples, so is every score.
    other = found
    if (uncertain := uncertainty_of_variance(replicates)) > LEAST_UNCERTAIN:
        wider = replicates._replace(halves=replicates.halves.of_variance(1 + uncertain))
        other = measure_gaps(wider, rules, against)

    def off(name: str) -> float:
        rate = seen.rate(found[name])[0]
        return float(np.hypot(rate - seen.rate(finer[name])[0], rate - seen.rate(other[name])[0]))

    return {name: of_rule(name, of, resolution, seen, updates, off(name)) for name, of in found.items()}


def sides_of(rule: Rule, estimator: Estimator) -> int:
    """How many times the samples of an estimator a rule takes."""
    return rule.prepared(estimator)[0].sides // estimator.sides


def both_ways(forward: Replicates, reverse: Replicates) -> Replicates:
    """Replicates of the two-sided estimator, (forward - reverse)/2."""
    one, other = forward.halves, reverse.halves
    return Replicates(
        forward.log_proposal_ratio,
        halves(forward.each, reverse.each),
        (forward.linear - reverse.linear) / 2,
        Cumulants(
            (one.difference - other.difference) / 2,
            (one.bias - other.bias) / 2,
            (one.variance + other.variance) / 4,
            (one.third - other.third) / 8,
            (one.straight - other.straight) / 8,
        ),
        np.full((len(forward.linear), 1), np.nan),
        forward.does_move,
    )


class Nothing(NamedTuple):
    """What is measured where the truth is none."""

    rate: float
    discrepancy: float


class Once(NamedTuple):
    """Estimates at pairs where there is only one, under the rule that was used: log ratios and scales (C, N)."""

    log_ratio: np.ndarray
    scale: np.ndarray


class Seen(NamedTuple):
    """Log ratios under the rule that was used: those of the replicates (P, K), and those of the whole run if known.

    Pairs are few, updates are many: what a rule does at the log ratios of the run, by its curve, against the same at
    those of the pairs, tells by how much the pairs are not typical. Between the two stand pairs with one estimate
    each, which also tells its scale: gaps grow with a power of it.
    """

    chains: int
    at_pairs: np.ndarray
    in_run: np.ndarray | None
    scales: np.ndarray | None = None
    once: Once | None = None

    def average(self, values: np.ndarray, curve: np.ndarray) -> tuple[float, float]:
        """The average over updates of what has these values at the pairs, and its standard error.

        Every step is the ratio of two averages over the same pairs; what one lacks, the next has seen more of.
        """
        by_log_ratio = np.interp(self.at_pairs, GRID, curve)
        # A curve that is lost in noise cannot tell.
        is_lost = by_log_ratio.mean() < LEAST_SHARE * abs(values.mean())
        if is_lost or (self.in_run is None and self.once is None):
            mean, error = _mean_over_pairs(self._by_chain(values))
            return mean, _in_tail(values) * error
        if self.once is None:
            steps = [self._step(values, by_log_ratio.mean(axis=1))]
        else:
            assert self.scales is not None
            typical = np.median(self.scales)
            covariates = [(by_log_ratio * (self.scales / typical) ** power).mean(axis=1) for power in POWERS]
            power, first = min(
                zip(POWERS, (self._step(values, one) for one in covariates), strict=True), key=lambda of: of[1].error
            )
            once = np.interp(self.once.log_ratio, GRID, curve)
            scaled = once * (self.once.scale / typical) ** power
            if self.in_run is None:
                mean, error = _mean_over_pairs(scaled)
                return first.of(mean, _in_tail(scaled.ravel()) * error)
            steps = [first, _step(scaled, once)]
        assert self.in_run is not None
        mean, error = mean_and_error(np.interp(self.in_run, GRID, curve))
        for step in reversed(steps):
            mean, error = step.of(mean, error)
        return mean, error

    def _step(self, values: np.ndarray, covariate: np.ndarray) -> Step:
        return _step(self._by_chain(values), self._by_chain(covariate))

    def _by_chain(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(self.chains, -1)

    def rate(self, gaps: Gaps) -> tuple[float, float]:
        """1/ρ and its standard error."""
        return self.average(gaps.path, gaps.path_curve)

    def discrepancy(self, gaps: Gaps) -> tuple[float, float]:
        """The size of the average gaps, their noise included, and its standard error."""
        return self.average(*(np.abs(halves.sum(axis=0)) / 2 for halves in (gaps.signed, gaps.signed_curve)))


class Step(NamedTuple):
    """The ratio of two averages over the same pairs, and its standard error."""

    ratio: float
    error: float

    def of(self, mean: float, error: float) -> tuple[float, float]:
        """The upper average, where the lower one is known."""
        return self.ratio * mean, float(np.hypot(self.error * mean, self.ratio * error))


def _step(values: np.ndarray, covariate: np.ndarray) -> Step:
    lower = max(float(covariate.mean()), 1e-300)
    ratio = float(values.mean()) / lower
    error = _mean_over_pairs(values - ratio * covariate)[1]
    return Step(ratio, _in_tail(values.ravel()) * error / lower)


def _mean_over_pairs(values: np.ndarray) -> tuple[float, float]:
    """The mean and its standard error: at least that of pairs far apart, since a few chains tell theirs badly."""
    mean, error = mean_and_error(values)
    alone = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return mean, float(np.fmax(error, alone))


def _in_tail(values: np.ndarray) -> float:
    """How many times the error of an average is what the spread says: n^(k-1/2), n values in a tail of shape k.

    Few pairs may make most of the average, whose error then falls as n^(k-1) only.
    """
    count = max(FEWEST_IN_TAIL // 2, len(values) // 5)
    if len(values) <= 2 * count:
        return 1.0
    ordered = np.sort(values)
    shape = pareto_shape(ordered[-count:] - ordered[-count - 1])
    return float(count ** np.clip(shape - 0.5, 0.0, 0.5))


def seen_by(
    rule: Rule, forward: Replicates, chains: int, in_run: np.ndarray | None, once: Singles | None = None
) -> Seen:
    """The log ratios of a rule at the replicates, beside those of a run that it made and of single estimates."""
    with np.errstate(all="ignore"), double_precision():
        decided = _decided(rule, forward.each, forward.log_proposal_ratio[:, None])
        in_run = None if in_run is None else np.nan_to_num(in_run, nan=-np.inf)
        if once is None:
            return Seen(chains, decided, in_run)
        single = Once(_decided(rule, *once).reshape(chains, -1), _scale(once.estimate).reshape(chains, -1))
        return Seen(chains, decided, in_run, _scale(forward.each), single)


def _decided(rule: Rule, estimate: Estimate, log_proposal_ratio: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.asarray(rule(estimate)) + log_proposal_ratio, nan=-np.inf)


def _scale(estimate: Estimate) -> np.ndarray:
    """The standard deviation that an estimate tells of itself."""
    return np.sqrt(np.nan_to_num(np.asarray(estimate.variance), nan=0.0, posinf=0.0))


def of_rule(rule: str, gaps: Gaps, nothing: Nothing, seen: Seen, updates: int, mixed: float = 0.0) -> RulePrediction:
    """The numbers of one rule from its gaps at pairs, beside those that are measured where the truth is none.

    ``mixed``: what the rate may be off by laws that differ and were taken together, and by an uncertain variance.
    """
    rate, rate_se = seen.rate(gaps)
    rate_se = float(np.hypot(rate_se, mixed))
    if not np.isfinite(rate):
        return RulePrediction.unknown(rule)
    acceptance = float(gaps.acceptance.mean())
    if 0 < rate < ABOVE_NOTHING * nothing.rate:
        most = rate + 2 * (nothing.rate + abs(mixed))
        return RulePrediction(rule, NAN, NAN, NAN, NAN, (0.0, most), acceptance, 1 / most)
    most, error = seen.discrepancy(gaps)
    # Both halves share their scale and shape: errors of these do not show in the difference of the halves.
    error = float(np.hypot(error, nothing.discrepancy))
    # A half's sign times the other half: noise averages out, so that this is too small where noise decides the sign.
    least, _ = seen.average(*(_sure(half) for half in (gaps.signed, gaps.signed_curve)))
    return RulePrediction(
        rule,
        1 / rate if rate > 0 else np.inf,
        rate_se / rate**2 if rate > 0 else 0.0,
        updates * rate,
        float(np.sqrt(least * most)) if least >= max(RESOLVED * most, ABOVE_NOTHING * nothing.discrepancy) else NAN,
        (max(least - 2 * error, 0.0), most + 2 * error),
        acceptance,
    )


def _sure(signed: np.ndarray) -> np.ndarray:
    first, second = signed
    return np.asarray(np.sign(first) * second + np.sign(second) * first) / 2
