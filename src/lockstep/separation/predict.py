"""Separation predicted without the exact chain, by replicates at pairs (θ, θ') of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.adopt import adopted
from lockstep.core.arguments import MOST_SEED, positive, require_run, whole
from lockstep.core.kernel import Kernel, Simple
from lockstep.core.sampled import Sampled
from lockstep.core.types import Position
from lockstep.core.warnings import warn
from lockstep.coupling.infos import Marked
from lockstep.coupling.pair import legs
from lockstep.host.boxes import boxes
from lockstep.separation.gaps import PENALTY
from lockstep.separation.kept import keep, recall
from lockstep.separation.precise import AIM, is_elsewhere, joined, pairs_for, relative_error, too_little_seen, withheld
from lockstep.separation.prediction import REFERENCES, Prediction, RulePrediction, number
from lockstep.separation.rates import Judged, judge, seen_by
from lockstep.separation.replicates import Replicates, Singles, draw_replicates, draw_singles

SHARE = 10  # one call of the estimator for so many of the run's
SECONDS = 60.0  # that more calls of a compiled estimator may take, where those do not tell
PART = 4  # of the calls, one of so many is for pairs with one estimate
PAIRS, REPLICATES = 1024, 32
MOST_PAIRS = 8192  # beyond a tenth of the calls: all of them are held and judged at once
FEWEST_PAIRS, FEWEST_REPLICATES = 8, 8
FEWEST_SINGLES = 2  # for each pair: fewer tell nothing that pairs do not
Both = tuple[Replicates, Replicates]  # forward and in reverse
ANOTHER = 2**20  # between the seeds of the first pairs and of those that are taken after them


def predict(
    run: Any,
    kernel: Any = None,
    pairs: int | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    calls: int | None = None,
    seconds: float | None = None,
    against: str = PENALTY,
) -> Prediction:
    """Predict how often a chain with estimated ratios separates from an exact one, and how far its kernel is off.

    At pairs (θ, θ') of the run the estimator is called many times with independent noise, both ways. That tells D, the
    law of the noise, and so the normal estimate of the exact penalty method that would be coupled to each estimate. The
    average gap between the two acceptance probabilities is 1/ρ. Nothing is known of D or of the law of the noise, and
    nothing is added to the run.

    Parameters
    ----------
    run
        From `ls.sample`, of a kernel such as `ls.naive`, `ls.penalty` or `ls.corrected`, or of a `Cycle` or `Mixture`
        of these.
    kernel
        Another kernel to judge at the run's positions; needed for a run that was loaded from disk.
    pairs, replicates
        How many pairs, and how many estimates at each and each way. By default as many as the budget allows.
    seed
        Of the replicates; by default it follows from that of the run.
    calls, seconds
        The budget: at most so many calls of the estimator, and at most what took the run so many seconds. By default a
        tenth of the calls that the run has made; if these do not tell and the estimator is compiled, as many as the run
        has made, in about a minute at the most. What is predicted with all defaults is kept in the run and in its
        directory, so that it is not computed again, by `run.summary()` neither.
    against
        Which exact chain: ``"penalty"``, the penalty method on the normal score of the very same noise, the closest
        that there is; or ``"standard"``, Metropolis-Hastings with the same candidates and no noise at all, as
        ``ls.Shadowed(ls.standard(log_density, proposal), kernel)`` measures it. From that one it separates more often.

    Returns
    -------
    Prediction
        ``rho``, ``rho_se``, ``expected_separations``, ``discrepancy`` of the rule that was used; ``rules`` has them for
        every rule. Where the noise is such that no cumulant can be trusted the numbers are NaN, ``problems`` say why,
        and a warning is given.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> def one_sample(noise, position, candidate):
    ...     return -0.5 * (candidate**2 - position**2) + noise
    >>> noisy = ls.estimators.mean(one_sample, count=16, draw=lambda key, count: jr.normal(key, (count,)))
    >>> run = ls.sample(ls.naive(noisy, ls.RandomWalk(2.0)), 0.0, draws=4000, chains=4, seed=1)
    >>> prediction = ls.separation.predict(run)
    >>> prediction.rules["corrected"].rho > 2 * prediction.rho
    True
    """
    require_run(run)
    if not isinstance(against, str) or against not in REFERENCES:
        raise ValueError(f"against is {against!r}; it must be one of {', '.join(map(repr, REFERENCES))}")
    options = (kernel, pairs, replicates, seed, calls, seconds)
    is_default = all(option is None for option in options) and against == PENALTY
    found = recall(run) if is_default else None
    if found is None:
        found = _predict(run, kernel, pairs, replicates, seed, calls, seconds, against)
        if is_default:
            keep(run, found)
    for problem in () if found.is_trusted else found.problems:
        warn(f"separation is not predicted: {problem}")
    return found


def _predict(
    run: Sampled,
    kernel: Kernel,
    pairs: int | None,
    replicates: int | None,
    seed: int | None,
    calls: int | None,
    seconds: float | None,
    against: str,
) -> Prediction:
    judged, positions = _judged(run, kernel)
    parts = [(weight, one) for weight, one in _weighted(judged) if not _is_always_exact(one)]
    updates = run.chains * run.draws * run.thin
    weights = [weight for weight, _ in parts]
    budgets = (budget // max(1, 2 * len(parts)) for budget in _budget(run, judged, weights, calls, seconds))
    size = _size(run, pairs, replicates, *budgets)
    seed = (run.seed + 1) % 2**31 if seed is None else whole(seed, "seed", 0, MOST_SEED)
    shares = [
        _predict_one(run, one, positions, size, seed + index, _log_ratios(run, judged, index), against)
        for index, (_, one) in enumerate(parts)
    ]
    return shares[0] if weights == [1.0] else _together(shares, weights, updates)


def replicates_of(run: Sampled, kernel: Simple, pairs: int = 64, replicates: int = 16) -> Both:
    """A few replicates forward and in reverse, to look at the noise of a kernel's estimator."""
    places, _ = places_of(run.walked, min(pairs, run.chains * run.draws))
    estimator = kernel.ratio.estimator
    assert estimator is not None  # who calls this has made sure
    return draw_replicates(estimator, kernel.proposal, places, replicates, run.seed)


def _judged(run: Sampled, kernel: Kernel | None) -> tuple[Kernel, Position]:
    """The kernel to judge, and the positions to judge it at."""
    judged = run.kernel if kernel is None else kernel
    if judged is None:
        raise ValueError("run has no kernel (it was loaded from disk); call predict(run, kernel)")
    *_, positions = legs(run.walked)
    judged = adopted(judged, Kernel, "kernel", "a kernel such as ls.naive(estimator, proposal)")
    return (judged.kernels[1] if judged.is_coupling else judged), positions


def _weighted(kernel: Kernel) -> list[tuple[float, Simple]]:
    """The kernels of one accept/reject that a kernel is made of, and how often each is applied in an update."""
    if kernel.simple is not None:
        return [(1.0, kernel.simple)]
    if len(kernel.applications):
        pairs = zip(kernel.applications, kernel.kernels, strict=True)
        return [(float(times) * inner, one) for times, part in pairs for inner, one in _weighted(part)]
    raise TypeError(f"kernel is {kernel!r}; a prediction needs one such as ls.naive(estimator, proposal)")


def _is_always_exact(kernel: Simple) -> bool:
    if kernel.ratio.rule is not None and kernel.ratio.estimator is not None:
        return False
    if kernel.exact_when is not None:
        return True
    raise TypeError(
        f"kernel has the ratio {kernel.ratio.name}, which is approximate but estimates no log ratio by an "
        f"estimator; a prediction needs a kernel such as ls.naive(estimator, proposal)"
    )


def _budget(
    run: Sampled, judged: Kernel, weights: list[float], calls: int | None, seconds: float | None
) -> tuple[int, int]:
    """How many calls of the estimators a prediction may take, and how many if these do not tell."""
    if not weights:
        raise TypeError(f"the kernel of the run is exact ({run.kernel.exact_when}): there is nothing to predict")
    made = sum(weights) * run.chains * (run.draws * run.thin + run.warmup)
    if seconds is not None:
        affordable = positive(seconds, "seconds") / max(run.seconds, 1e-9) * made
        found = int(affordable if calls is None else min(affordable, whole(calls, "calls", 1)))
        return found, found
    if calls is not None:
        return whole(calls, "calls", 1), calls
    share = int(made) // SHARE
    # A black box may take minutes; calls of compiled code are cheap.
    return share, share if boxes(judged) else max(share, int(made * min(1.0, SECONDS / max(run.seconds, 1e-9))))


class Size(NamedTuple):
    """Pairs at first, replicates at each and each way, up to how many pairs; how many more pairs with one estimate."""

    pairs: int
    replicates: int
    most_pairs: int
    singles: int


def _size(run: Sampled, pairs: int | None, replicates: int | None, budget: int, most_budget: int) -> Size:
    """Numbers of pairs and of replicates; if they are not given, such that a budget of estimates each way suffices."""
    if replicates is None:
        replicates = REPLICATES if budget >= 2 * REPLICATES * FEWEST_PAIRS else FEWEST_REPLICATES
    replicates = whole(replicates, "replicates", 4)
    replicates -= replicates % 2
    most = run.chains * run.draws
    if pairs is not None:
        pairs = min(whole(pairs, "pairs", 2), most)
        return Size(pairs, replicates, pairs, 0)
    singles = min(2 * budget // PART, most) if budget >= PART * FEWEST_PAIRS * replicates else 0
    first, most = (min((calls - -(-singles // 2)) // replicates, most) for calls in (budget, most_budget))
    if first < FEWEST_PAIRS:
        raise ValueError(
            f"the run is too short for a prediction within its budget ({2 * budget:,} calls of the estimator; by "
            f"default a tenth of the run's): call ls.separation.predict(run, calls=2000), or run longer"
        )
    return Size(min(first, PAIRS), replicates, max(first, min(most, MOST_PAIRS)), singles)


def places_of(positions: Position, pairs: int) -> tuple[Position, int]:
    """Positions spread over all chains and draws, chain by chain, and the number of chains."""
    chains, draws = jax.tree.leaves(positions)[0].shape[:2]
    chains = min(chains, pairs)
    each = pairs // chains
    when = np.linspace(0, draws - 1, each + 1).astype(int)[1:]
    take = jax.tree.map(lambda leaf: np.asarray(leaf)[:chains][:, when].reshape(-1, *leaf.shape[2:]), positions)
    return take, chains


def _log_ratios(run: Sampled, judged: Kernel, index: int) -> np.ndarray | None:
    """The log ratios of all updates of the run that the judged kernel made; None if another made them."""
    whose, info = run.kernel, run.info
    if whose is not None and isinstance(info, Marked):
        whose, info = whose.kernels[1], info.judged
    kernels = [one.simple for one in judged.in_turn or (judged,)]
    if judged is not whose or info is None or None in kernels:
        return None
    approximate = [i for i, one in enumerate(kernels) if one is not None and not _is_always_exact(one)]
    log_ratios = np.reshape(info.log_ratio, (run.chains, run.draws, -1))[..., approximate[index]]
    return np.where(log_ratios < np.inf, log_ratios, -np.inf)  # NaN and plus infinity are refused


def _predict_one(
    run: Sampled,
    kernel: Simple,
    positions: Position,
    size: Size,
    seed: int,
    log_ratios: np.ndarray | None,
    against: str,
) -> Prediction:
    estimator, used = kernel.ratio.estimator, kernel.ratio.rule
    assert estimator is not None and used is not None  # it is not exact
    updates = run.chains * run.draws * run.thin
    width = len(jax.tree.leaves(places_of(positions, size.pairs)[0])[0])

    def draw(pairs: int, seed: int) -> tuple[Both, int]:
        places, chains = places_of(positions, pairs)
        return draw_replicates(estimator, kernel.proposal, places, size.replicates, seed, width), chains

    def judged(replicates: Both, once: Singles | None = None, against: str = against) -> Judged:
        seen = seen_by(used, replicates[0], chains, log_ratios, once)
        return judge(estimator, *replicates, [used], seen, updates, against)

    replicates, chains = draw(size.pairs, seed)
    found = judged(replicates)
    pairs = len(replicates[0].log_proposal_ratio)
    # So many times the pairs where these differ so much that so few do not tell, as far as the budget goes.
    times = min(-(-pairs_for(found.rules[used.name], pairs, AIM) // pairs), size.most_pairs // pairs)
    if times > 1:
        others, _ = draw((times - 1) * pairs, seed + ANOTHER)
        forward, reverse = (joined(one, other, chains) for one, other in zip(replicates, others, strict=True))
        replicates = forward, reverse
        found = judged(replicates)
        pairs = len(replicates[0].log_proposal_ratio)
    # One estimate at each of many more tells how large the noise is there, and with it most of what pairs differ in.
    singles = size.singles - size.singles % chains
    if singles < FEWEST_SINGLES * pairs or all(relative_error(one) <= AIM for one in found.rules.values()):
        singles = 0
    once = None
    if singles:
        places, _ = places_of(positions, singles)
        once = draw_singles(estimator, kernel.proposal, places, seed + 2 * ANOTHER)
        found = judged(replicates, once)
    rules, sentence = withheld(found.rules, pairs, 2 * pairs * size.replicates + singles)
    elsewhere = "" if found.is_noise_free else too_little_seen(run)
    if log_ratios is not None and not found.sentences and not elsewhere:
        elsewhere = is_elsewhere(run, replicates[0], found.rules[used.name])
        # The chain without noise is another kernel, and no measure of how far the law of this one is off.
        if elsewhere and against != PENALTY and not (exact := judged(replicates, once, PENALTY)).sentences:
            elsewhere = is_elsewhere(run, replicates[0], exact.rules[used.name])
    if elsewhere:
        rules, sentence = {name: RulePrediction.unknown(name) for name in rules}, elsewhere
    unresolved = _unresolved(rules[used.name], 2 * pairs * size.replicates)
    problems = (*found.sentences, *filter(None, (sentence, unresolved)))
    done = pairs, size.replicates, found.is_noise_free, against, singles
    return Prediction(used.name, rules, problems, updates, *done)


def _unresolved(found: RulePrediction, calls: int) -> str:
    """A sentence if a rule is nearer to the exact one than the replicates can tell."""
    if not found.at_least:
        return ""
    return (
        f"{found.rule} decides as an exact chain does, as far as {calls:,} estimates can tell: ρ is above "
        f"{number(found.at_least)}; with ls.separation.predict(run, calls={10 * calls}) smaller differences are seen"
    )


def _together(shares: list[Prediction], weights: list[float], updates: int) -> Prediction:
    """Rates of several kernels add up, each weighed by how often it is applied."""
    names = [name for name in shares[0].rules if all(name in share.rules for share in shares)]
    used = shares[0].rule if len({share.rule for share in shares}) == 1 else "as used"
    columns = {name: [share.rules[name] for share in shares] for name in names}
    columns.setdefault(used, [share.used for share in shares])
    rules = {name: _sum(name, column, np.asarray(weights), updates) for name, column in columns.items()}
    problems = tuple(dict.fromkeys(problem for share in shares for problem in share.problems))
    pairs, is_noise_free = sum(share.pairs for share in shares), all(share.is_noise_free for share in shares)
    done = pairs, shares[0].replicates, is_noise_free, shares[0].against, sum(share.singles for share in shares)
    return Prediction(used, rules, problems, updates, *done)


def _sum(name: str, column: list[RulePrediction], weights: np.ndarray, updates: int) -> RulePrediction:
    rates = np.array([1 / one.rho for one in column])
    errors = np.array([one.rho_se / one.rho**2 if np.isfinite(one.rho) else 0.0 for one in column])
    rate, error = float(weights @ rates), float(np.sqrt(weights**2 @ errors**2))
    surely = float(weights @ [1 / one.sure_rho for one in column])
    low, high = (float(weights @ [one.discrepancy_interval[end] for one in column]) for end in (0, 1))
    return RulePrediction(
        name,
        1 / rate if rate else np.inf,
        error / rate**2 if rate else np.nan,
        updates * rate,
        float(weights @ [one.discrepancy for one in column]),
        (low, high),
        float(weights @ [one.acceptance for one in column] / weights.sum()),
        1 / surely if np.isnan(rate) and not np.isnan(surely) else 0.0,
    )
