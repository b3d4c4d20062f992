"""Sentences about an estimator and a pilot: why a rule is advised, and what could be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lockstep.advice.advice import Option
from lockstep.advice.pilot import REPLICATES, Look, Pilot, updates_per_effective_draw
from lockstep.core.progress import duration
from lockstep.coupling.names import named_arrays

UNBIASED_RATIO = 0.15
MIXED, FEWEST_EFFECTIVE = 1.05, 100
PSEUDO_MARGINAL = 1.7  # variance of a log estimate at which a pseudo-marginal chain is about as efficient as can be


def findings_of(pilot: Pilot, options: list[Any], looks: tuple[Look, ...]) -> Iterator[str]:
    """Why the first of the options."""
    first, best = pilot.looks[pilot.estimator.count], options[0]
    near = min(looks, key=lambda look: abs(np.log(look.count / best.count)))
    sizes = {rule.name: _size(near, rule.name) for rule in pilot.rules if rule.name in near.rules}
    known = {name: size for name, size in sizes.items() if not np.isnan(size)}
    ranked = ", ".join(f"{name} {size:.2g}" for name, size in sorted(known.items(), key=lambda item: item[1]))
    yield f"{best.rule}: kernel discrepancy at m = {near.count}: {ranked}"
    if first.variance == 0:
        yield "the estimate has no noise: the kernel is `standard`, and one sample is enough"
        return
    elif looks_like_an_unbiased_ratio(first):
        yield "D̂ looks like the log of an unbiased ratio (bias = -variance/2): naive is right already, a penalty harms"
    elif abs(first.bias) < 0.1 * first.variance / 2:
        yield "D̂ looks unbiased: the penalty is what corrects it"
    else:
        yield f"D̂ is biased by {first.bias:.2g} at m = {first.count} (variance {first.variance:.2g})"
    yield first.asymmetry or "the variance of D̂ is the same in both directions, as far as the pilot tells"
    yield from _about_pseudo_marginal(first, best)
    yield (
        f"in plain words: {best.rule} with {best.count:,} {pilot.estimator.unit}; 1,000 effective draws then take "
        f"about {duration(1000 * best.seconds_per_effective_draw)} on this machine"
    )


def looks_like_an_unbiased_ratio(look: Look) -> bool:
    """Whether bias + variance/2, which a rule should take off, vanishes while the two do not."""
    return look.variance > 0 and abs(look.bias + look.variance / 2) < UNBIASED_RATIO * look.variance / 2


def _about_pseudo_marginal(look: Look, best: Option) -> Iterator[str]:
    """D̂ of two independent estimates of log π has twice the variance of one."""
    needed = max(1, round(look.count * look.variance / 2 / PSEUDO_MARGINAL))
    if needed < best.count:
        yield (
            f"if D̂ is the difference of the logs of two unbiased estimates of π, ls.pseudo_marginal is exact, and with "
            f"about m = {needed} samples an estimate (variance of its logarithm {PSEUDO_MARGINAL}) cheaper than "
            f"{best.rule} here"
        )
    else:
        yield f"ls.pseudo_marginal would need about m = {needed} samples: no gain over {best.rule} here"


def problems_of(pilot: Pilot, look: Look, is_advised: bool) -> Iterator[str]:
    """What is wrong with the estimator, and the risk that the pilot saw too little."""
    yield from look.problems
    if not is_advised and not look.problems:
        yield look.asymmetry or "no rule could be judged at the pairs of the pilot: start it elsewhere"
    if pilot.replicates < REPLICATES:
        yield (
            f"the budget allowed {pilot.budget.spent:,} calls of the estimator, at {pilot.pairs} pairs: a rough "
            f"advice; give more calls= for a better one"
        )
    effective = pilot.run.chains * pilot.run.draws / updates_per_effective_draw(pilot)
    if effective < FEWEST_EFFECTIVE:
        yield f"the pilot has only {effective:.0f} effective draws: what it has not visited is not in this advice"
    if (worst := _r_hat(pilot)) > MIXED:
        yield f"the chains of the pilot disagree (R-hat {worst:.2f}): start it elsewhere, or change the proposal"
    bad = 1 - float(np.mean(pilot.run.info.is_valid))
    if bad > 0:
        yield f"{bad:.2%} of the log ratios of the pilot were NaN or plus infinity"


def _r_hat(pilot: Pilot) -> float:
    from arviz_stats.base import array_stats

    found = [1.0]
    for array in named_arrays(pilot.run.positions).values():
        components = np.asarray(array, float).reshape(*array.shape[:2], -1)
        found += [float(array_stats.rhat(components[..., i])) for i in range(components.shape[2])]
    return float(np.nanmax(found))


def _size(look: Look, rule: str) -> float:
    found = look.rules[rule]
    return found.discrepancy_interval[1] if np.isnan(found.discrepancy) else found.discrepancy
