"""``ls.advise``: pilot runs, then which rule and how many samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.advice.advice import Advice, Option, rule_of
from lockstep.advice.budget import Budget
from lockstep.advice.carried import advise_carried
from lockstep.advice.findings import findings_of, problems_of
from lockstep.advice.particles import ParticleAdvice, advise_particles, filtered_by
from lockstep.advice.pilot import Look, Pilot, TooLittleError, updates_per_effective_draw
from lockstep.core.adopt import adopted
from lockstep.core.arguments import MOST_SEED, positive, whole
from lockstep.core.estimator import Estimator
from lockstep.core.evaluation import Evaluation
from lockstep.core.kernel import Kernel
from lockstep.core.progress import Progress
from lockstep.core.proposal import Proposal
from lockstep.core.rule import Rule
from lockstep.core.warnings import warn
from lockstep.estimators.samples import as_estimator, with_count
from lockstep.host.boxes import boxes
from lockstep.separation.rates import ALL_RULES, sides_of

FEWEST = 4  # samples from which cumulants can be estimated
MOST_LOOKS = 7
ENOUGH = 1000  # calls of the estimator
CLOSE = math.log(1.1)
APART = math.log(1.4)
FARTHEST = 16.0  # factor between two looks
SIMPLER = 0.7  # a rule must have a discrepancy smaller by this factor to be preferred to a simpler one


def advise(
    estimator: Any,
    proposal: Any = None,
    initial: Any = None,
    updates: int = 10_000,
    separations: float = 1.0,
    seed: int = 0,
    progress: bool | None = None,
    calls: int | None = None,
    seconds: float | None = None,
    rules: Sequence[Rule] = (),
) -> Any:
    """Advise on a rule and a number of samples m, from pilot runs; or on a number of particles.

    A pilot chain finds where the sampler goes. At pairs (θ, θ') of it every rule is judged as in
    `ls.separation.predict`, for one number of samples after another, until the number of separations from an exact
    chain is the wanted one. Rules are ranked by their kernel discrepancy, which is what biases estimates.

    ``ls.advise(kernel, initial)`` of an `ls.particle_marginal` measures how noisy its log likelihood estimates are at
    the draws of a pilot run, and what a particle costs on this machine, and recommends the number of particles (and
    a correlation) that gives most effective draws a second.

    Parameters
    ----------
    estimator, proposal
        As of `ls.naive`; the estimator needs ``with_count``. Of named parameters,
        ``parameters.posterior(estimator)``. Or a kernel of a particle filter alone. Or what `ls.abc` returns: then how
        many simulations a pseudo-marginal chain should take is told, with the same budget.
    initial
        As of `ls.sample`; or a run that there is already, of this target, whose positions then serve for the pilot's.
    updates
        Updates of the run that is planned, all chains together.
    separations
        How many separations from an exact chain are tolerable in these.
    seed
        Of the pilot.
    progress
        As of `ls.sample`.
    calls, seconds
        The budget: at most so many calls of the estimator (one call is one estimate), and about so many seconds beside
        those of compilation, which makes the advice depend on the speed of the machine. By default a tenth of
        ``updates`` calls if the estimator is a black box; compiled estimators get all that serves, in at most a minute.
    rules
        Rules of your own to judge beside those of `ls.rules`.

    Returns
    -------
    Advice
        ``rule``, ``count``, ``kernel``, the ``options``, ``findings`` in plain words, a ``figure()``; and ``sample()``
        runs what is advised.

    Examples
    --------
    >>> import jax.random as jr, lockstep as ls
    >>> def one_sample(noise, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) + noise
    >>> noisy = ls.estimators.mean(one_sample, count=16, draw=lambda key, count: jr.normal(key, (count,)))
    >>> advice = ls.advise(noisy, ls.RandomWalk(2.0), 0.0, updates=10_000, separations=10)
    >>> advice.rule
    'penalty'
    >>> run = advice.sample(chains=4)
    """
    if isinstance(estimator, Kernel):
        return _of_kernel(estimator, proposal if initial is None else initial, seed, progress)
    if isinstance(estimator, Evaluation):
        proposal = adopted(proposal, Proposal, "proposal", "a proposal such as ls.RandomWalk(scale)")
        budget = Budget(calls, seconds, whole(updates, "updates", 1), bool(boxes(estimator)))
        return advise_carried(estimator, proposal, initial, whole(seed, "seed", 0, MOST_SEED), progress, budget)
    estimator = as_estimator(estimator, "estimator")
    if initial is None and (estimator.shown is None or estimator.shown.draw is None):
        raise TypeError("initial is missing: ls.advise(estimator, proposal, initial)")
    proposal = adopted(proposal, Proposal, "proposal", "a proposal such as ls.RandomWalk(scale)")
    if not isinstance(rules, (tuple, list)):
        raise TypeError(f"rules is {rules!r}; it must be a list of rules of your own")
    own = [adopted(rule, Rule, "each of the rules", "a rule such as ls.rules.corrected") for rule in rules]
    choice = tuple({rule.name: rule for rule in (*ALL_RULES, *own) if rule.is_advised}.values())
    updates, seed = whole(updates, "updates", 1), whole(seed, "seed", 0, MOST_SEED)
    separations = positive(separations, "separations")
    if estimator.with_count is None:
        raise TypeError(
            f"estimator {estimator!r} has no with_count(count): a method that returns the same estimator with another "
            f"number of samples is what advise varies"
        )
    budget = Budget(calls, seconds, updates, bool(boxes(estimator)))
    try:
        pilot = Pilot(_large_enough(estimator), proposal, initial, seed, progress, budget, choice)
    except TooLittleError:
        problems = (
            f"{budget} are too little for an advice (for a black box the default is a tenth of updates): give "
            f"calls={ENOUGH} or more, more seconds, or a run that there is, ls.advise(estimator, proposal, run)",
        )
        return _without_rule(
            Advice(None, None, (), (), problems, updates, separations, (), estimator, proposal, None, choice)
        )
    wanted = separations / updates
    with Progress(MOST_LOOKS, "looks at numbers of samples", progress) as shown:
        first = pilot.look(pilot.estimator.count)
        shown.update(len(pilot.looks))
        options = _options(pilot, first, wanted, updates, shown)
    looks = tuple(look for _, look in sorted(pilot.looks.items()))
    advice = Advice(
        options[0].rule if options else None,
        options[0].count if options else None,
        tuple(options),
        tuple(findings_of(pilot, options, looks)) if options else (),
        tuple(problems_of(pilot, first, bool(options))),
        updates,
        separations,
        looks,
        estimator,
        proposal,
        pilot.run,
        choice,
    )
    return advice if options else _without_rule(advice)


def _of_kernel(kernel: Kernel, initial: Any, seed: int, progress: bool | None) -> ParticleAdvice:
    """Advice on the particles of a kernel that estimates a likelihood by them."""
    if kernel.simple is None or (estimate := filtered_by(kernel.simple)) is None:
        raise TypeError(
            f"{kernel.name} estimates no likelihood by particles, so that there is no noise to judge: give a kernel of "
            f"ls.particle_marginal, or the estimator of one such as ls.naive. Where chains stick: {kernel.when_stuck}"
        )
    return advise_particles(kernel.simple, estimate, initial, seed, progress)


def _options(pilot: Pilot, first: Look, wanted: float, updates: int, shown: Progress) -> list[Option]:
    """The rules that can be used, the best first, each with the number of samples that it needs."""
    if first.problems or not _usable(pilot, first):
        return []
    rule = _best(pilot, first)
    _search(pilot, rule, wanted, shown)
    # The ranking may change with m.
    again = _best(pilot, _nearest(pilot, rule, wanted))
    if again and again != rule:
        _search(pilot, again, wanted, shown)
        rule = again
    options = [_option(pilot, name, wanted, updates) for name in _usable(pilot, first)]
    options.sort(key=lambda option: (option.rule != rule, math.isnan(option.discrepancy), option.discrepancy))
    return options


def _without_rule(advice: Advice) -> Advice:
    warn(f"no rule can be advised: {'; '.join(advice.problems)}")
    return advice


def _large_enough(estimator: Estimator) -> Estimator:
    """The estimator with samples enough to estimate its cumulants, if it has fewer."""
    if estimator.count >= FEWEST or estimator.is_variance_known:
        return estimator
    return with_count(estimator, 2 * FEWEST)


def _usable(pilot: Pilot, look: Look) -> list[str]:
    names = (rule.name for rule in pilot.rules)
    return [name for name in names if name in look.rules and not math.isnan(look.rules[name].sure_rho)]


def _best(pilot: Pilot, look: Look) -> str:
    """The rule of least discrepancy at the same number of samples; a simpler one if it is nearly as good.

    An empty name if no rule can be judged there.
    """
    best, least = "", math.inf
    for name in _usable(pilot, look):
        rule = rule_of(pilot.rules, name)
        # With samples on two sides it could have twice as many on one.
        size = _discrepancy(look, name)[0] * sides_of(rule, pilot.estimator) ** rule.order
        if size < SIMPLER * least:
            best, least = name, size
    return best


def _discrepancy(look: Look, rule: str) -> tuple[float, bool]:
    """The discrepancy, and whether it is a bound from above."""
    found = look.rules[rule]
    is_bound = math.isnan(found.discrepancy)
    return (found.discrepancy_interval[1] if is_bound else found.discrepancy), is_bound


def _search(pilot: Pilot, rule: str, wanted: float, shown: Progress) -> None:
    """Look at numbers of samples until the rate of separation of a rule is the wanted one."""
    look = pilot.look(pilot.estimator.count)
    for _ in range(MOST_LOOKS):
        rate = 1 / look.rules[rule].sure_rho
        if rate == 0 or abs(math.log(rate / wanted)) < CLOSE:
            return
        count = _needed(pilot, rule, wanted)
        near = look.count
        count = int(np.clip(count, max(FEWEST, near / FARTHEST), min(pilot.most, near * FARTHEST)))
        count = _allowed(pilot.estimator, count)
        if count in pilot.looks or not pilot.can_look(count):
            return
        look = pilot.look(count)
        shown.update(min(len(pilot.looks), MOST_LOOKS - 1))
        if math.isnan(look.rules[rule].sure_rho):
            return


def _needed(pilot: Pilot, rule: str, wanted: float) -> float:
    """The number of samples at which the rate is the wanted one, by a power law through the two nearest looks."""
    points = sorted(
        ((look.count, 1 / look.rules[rule].sure_rho) for look in pilot.looks.values() if look.rules[rule].sure_rho > 0),
        key=lambda point: abs(math.log(max(point[1], 1e-300) / wanted)),
    )
    points = [point for point in points if point[1] > 0]
    if not points:
        return float(pilot.estimator.count)
    count, rate = points[0]
    slope = 1.0
    # The slope from a look far enough away that noise does not decide it.
    for other, other_rate in points[1:]:
        if abs(math.log(other / count)) > APART:
            slope = -math.log(other_rate / rate) / math.log(other / count)
            break
    return float(count * (rate / wanted) ** (1 / min(max(slope, 0.4), 3.0)))


def _allowed(estimator: Estimator, count: int) -> int:
    """A number of samples that the estimator can have: batch means want a multiple of their batches."""
    multiple = estimator.batches
    return -(-max(count, estimator.fewest, 1) // multiple) * multiple


def _nearest(pilot: Pilot, rule: str, wanted: float) -> Look:
    """The look nearest to the number of samples that a rule needs, of those that could judge it."""
    needed = _needed(pilot, rule, wanted)
    judged = [look for look in pilot.looks.values() if not math.isnan(look.rules[rule].sure_rho)]
    return min(judged, key=lambda look: abs(math.log(look.count / needed)))


def _option(pilot: Pilot, rule: str, wanted: float, updates: int) -> Option:
    """A rule with the number of samples that it needs, and its cost."""
    needed = _needed(pilot, rule, wanted)
    count = _allowed(pilot.estimator, max(FEWEST, math.ceil(needed)))
    near = _nearest(pilot, rule, wanted)
    # From the nearest look: rates fall about as 1/m or faster, discrepancies as m^{-1} to m^{-3/2}.
    discrepancy, is_bound = _discrepancy(near, rule)
    growth = count / near.count
    rate = wanted * (count / needed) ** -1.0 if near.rules[rule].sure_rho < math.inf else 0.0
    one = rule_of(pilot.rules, rule)
    sides = sides_of(one, pilot.estimator) * pilot.estimator.sides
    per_draw = updates_per_effective_draw(pilot)
    return Option(
        rule,
        count,
        rate * updates,
        discrepancy * growth**-one.order,
        is_bound,
        per_draw * count * sides,
        per_draw * pilot.seconds_per_update * sides * count / pilot.estimator.count,
        not 0.5 <= growth <= 2,
    )
