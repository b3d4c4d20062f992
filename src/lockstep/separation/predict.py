"""Separation predicted without the exact chain, by replicates at pairs (θ, θ') of a run."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.arguments import whole
from lockstep.compose import Cycle, Mixture
from lockstep.coupling import Coupled, Pair, Shadowed
from lockstep.estimators.combinations import TwoSided, halves
from lockstep.kernel import MetropolisHastings
from lockstep.ratios import Estimated
from lockstep.rules import corrected, penalty, penalty_series, plug_in
from lockstep.separation.gaps import GRID, Gaps, measure_gaps
from lockstep.separation.prediction import Prediction, RulePrediction
from lockstep.separation.replicates import Cumulants, Replicates, draw_replicates
from lockstep.separation.summary import mean_and_error
from lockstep.separation.trust import asymmetry_of, problems_of
from lockstep.types import Position

SHARE = 10  # one call of the estimator for so many of the run's
PAIRS, REPLICATES = 1024, 32
FEWEST_PAIRS, FEWEST_REPLICATES = 8, 8
RULES = {"naive": plug_in, "penalty": penalty, "penalty_series": penalty_series, "corrected": corrected}
TWO_SIDED = "two_sided"
RESOLVED = 0.5


def predict(
    run: Any, kernel: Any = None, pairs: int | None = None, replicates: int | None = None, seed: int | None = None
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
        How many pairs, and how many estimates at each and each way. By default together at most a tenth of the calls of
        the estimator that the run has made.
    seed
        Of the replicates; by default it follows from that of the run.

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
    >>> prediction.rules["corrected"].rho > 5 * prediction.rho
    True
    """
    judged, positions = _judged(run, kernel)
    parts = [(weight, one) for weight, one in _weighted(judged) if not _is_always_exact(one)]
    updates = run.chains * run.draws * run.thin
    size = _size(run, pairs, replicates, len(parts))
    places, chains = _places(positions, size[0])
    seed = (run.seed + 1) % 2**31 if seed is None else whole(seed, "seed", 0)
    shares = [
        _predict_one(one, places, chains, size[1], seed + index, updates, _log_ratios(run, judged, index))
        for index, (_, one) in enumerate(parts)
    ]
    found = shares[0] if len(parts) == 1 else _together(shares, [weight for weight, _ in parts], updates)
    for problem in found.problems:
        from lockstep.sampling.problems import LockstepWarning

        warnings.warn(f"separation is not predicted: {problem}", LockstepWarning, stacklevel=2)
    return found


def _judged(run: Any, kernel: Any) -> tuple[Any, Position]:
    """The kernel to judge, and the positions to judge it at."""
    judged = run.kernel if kernel is None else kernel
    if judged is None:
        raise ValueError("run has no kernel (it was loaded from disk); call predict(run, kernel)")
    positions = run.positions.second if isinstance(run.positions, Pair) else run.positions
    if isinstance(judged, (Coupled, Shadowed)):
        judged = judged.kernels[1]
    return judged, positions


def _weighted(kernel: Any) -> list[tuple[float, MetropolisHastings]]:
    """The kernels of one accept/reject that a kernel is made of, and how often each is applied in an update."""
    if isinstance(kernel, MetropolisHastings):
        return [(1.0, kernel)]
    if isinstance(kernel, (Cycle, Mixture)):
        weights = kernel.weights if isinstance(kernel, Mixture) else [1.0] * len(kernel.kernels)
        pairs = zip(weights, kernel.kernels, strict=True)
        return [(float(w) * inner, one) for w, part in pairs for inner, one in _weighted(part)]
    raise TypeError(f"kernel is {kernel!r}; a prediction needs one such as ls.naive(estimator, proposal)")


def _is_always_exact(kernel: MetropolisHastings) -> bool:
    if isinstance(kernel.ratio, Estimated):
        return False
    if kernel.exact_when is not None:
        return True
    raise TypeError(
        f"kernel has the ratio {type(kernel.ratio).__name__}, which is approximate but estimates no log ratio by an "
        f"estimator; a prediction needs a kernel such as ls.naive(estimator, proposal)"
    )


def _size(run: Any, pairs: int | None, replicates: int | None, parts: int) -> tuple[int, int]:
    """Numbers of pairs and of replicates that together cost a tenth of the run."""
    if not parts:
        raise TypeError(f"the kernel of the run is exact ({run.kernel.exact_when}): there is nothing to predict")
    budget = run.chains * (run.draws * run.thin + run.warmup) // (2 * SHARE * parts)
    if replicates is None:
        replicates = REPLICATES if budget >= 2 * REPLICATES * FEWEST_PAIRS else FEWEST_REPLICATES
    replicates = whole(replicates, "replicates", 4)
    replicates -= replicates % 2
    most = run.chains * run.draws
    if pairs is not None:
        return min(whole(pairs, "pairs", 2), most), replicates
    pairs = min(budget // replicates, PAIRS, most)
    if pairs < FEWEST_PAIRS:
        raise ValueError(
            f"the run is too short for a prediction at a tenth of its cost ({2 * SHARE * budget * parts:,} calls "
            f"of the estimator); give pairs=... and replicates=..., for example 64 and 16, or run longer"
        )
    return pairs, replicates


def _places(positions: Position, pairs: int) -> tuple[Position, int]:
    """Positions spread over all chains and draws, chain by chain, and the number of chains."""
    chains, draws = jax.tree.leaves(positions)[0].shape[:2]
    chains = min(chains, pairs)
    each = pairs // chains
    when = np.linspace(0, draws - 1, each + 1).astype(int)[1:]
    take = jax.tree.map(lambda leaf: np.asarray(leaf)[:chains][:, when].reshape(-1, *leaf.shape[2:]), positions)
    return take, chains


def _log_ratios(run: Any, judged: Any, index: int) -> np.ndarray | None:
    """The log ratios of all updates of the run that the judged kernel made; None if another made them."""
    if judged is not run.kernel or not isinstance(judged, (MetropolisHastings, Cycle)):
        return None
    log_ratios = np.asarray(run.info.log_ratio)
    if isinstance(judged, Cycle):
        approximate = [i for i, one in enumerate(judged.kernels) if not _is_always_exact(one)]
        log_ratios = log_ratios[..., approximate[index]]
    return np.nan_to_num(log_ratios, nan=-np.inf)


def _predict_one(
    kernel: MetropolisHastings,
    places: Position,
    chains: int,
    replicates: int,
    seed: int,
    updates: int,
    log_ratios: np.ndarray | None,
) -> Prediction:
    estimator, used = kernel.ratio.estimator, kernel.ratio.rule  # type: ignore[attr-defined]
    forward, reverse = draw_replicates(estimator, kernel.proposal, places, replicates, seed)
    rules: dict[str, Any] = {name: rule for name, rule in RULES.items() if _can_use(rule, estimator)}
    name = next((name for name, rule in rules.items() if type(rule) is type(used)), used.name)
    rules[name] = used
    problems, one_sided = problems_of(estimator, forward), asymmetry_of(forward, reverse)
    gaps: dict[str, Gaps | None] = {}
    gaps |= measure_gaps(forward, rules) if not problems and not one_sided else dict.fromkeys(rules)
    if not isinstance(estimator, TwoSided) and _can_use(corrected, estimator):
        gaps[TWO_SIDED] = (
            None if problems else measure_gaps(both_ways(forward, reverse), {TWO_SIDED: corrected})[TWO_SIDED]
        )
    decided = used(forward.each) + forward.log_proposal_ratio[:, None]
    seen = Seen(chains, np.nan_to_num(decided, nan=-np.inf), log_ratios)
    return Prediction(
        name,
        {rule: of_rule(rule, found, seen, updates) for rule, found in gaps.items()},
        (*problems, *([one_sided] if one_sided else [])),
        updates,
        len(forward.log_proposal_ratio),
        replicates,
    )


def _can_use(rule: Any, estimator: Any) -> bool:
    return not rule.needs_variance or getattr(estimator, "has_variance", True)


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
    )


class Seen(NamedTuple):
    """Log ratios under the rule that was used: those of the replicates (P, K), and those of the whole run if known.

    Pairs are few, updates are many: what a rule does at the log ratios of the run, by its curve, against the same at
    those of the pairs, tells by how much the pairs are not typical.
    """

    chains: int
    at_pairs: np.ndarray
    in_run: np.ndarray | None

    def average(self, values: np.ndarray, curve: np.ndarray) -> tuple[float, float]:
        """The average over updates of what has these values at the pairs, and its standard error."""
        if self.in_run is None:
            return mean_and_error(values.reshape(self.chains, -1))
        at_pairs = np.interp(self.at_pairs, GRID, curve).mean(axis=1)
        in_run, error_in_run = mean_and_error(np.interp(self.in_run, GRID, curve))
        ratio = float(values.sum() / max(at_pairs.sum(), 1e-300))
        _, error = mean_and_error((values - ratio * at_pairs).reshape(self.chains, -1))
        error *= in_run / max(at_pairs.mean(), 1e-300)
        return ratio * in_run, float(np.hypot(error, ratio * error_in_run))


def of_rule(rule: str, gaps: Gaps | None, seen: Seen, updates: int) -> RulePrediction:
    """The numbers of one rule from its gaps at pairs."""
    nan = float("nan")
    if gaps is None:
        return RulePrediction(rule, nan, nan, nan, nan, (nan, nan), nan)
    rate, rate_se = seen.average(gaps.path, gaps.path_curve)
    most, most_se = seen.average(*(np.abs(half.sum(axis=0)) / 2 for half in (gaps.signed, gaps.signed_curve)))
    # A half's sign times the other half: noise averages out, so that this is too small where noise decides the sign.
    least, _ = seen.average(*(_sure(half) for half in (gaps.signed, gaps.signed_curve)))
    return RulePrediction(
        rule,
        1 / rate if rate > 0 else np.inf,
        rate_se / rate**2 if rate > 0 else nan,
        updates * rate,
        float(np.sqrt(least * most)) if least >= RESOLVED * most else nan,
        (max(least - 2 * most_se, 0.0), most + 2 * most_se),
        float(gaps.acceptance.mean()),
    )


def _sure(signed: np.ndarray) -> np.ndarray:
    first, second = signed
    return np.asarray(np.sign(first) * second + np.sign(second) * first) / 2


def _together(shares: list[Prediction], weights: list[float], updates: int) -> Prediction:
    """Rates of several kernels add up, each weighed by how often it is applied."""
    names = [name for name in shares[0].rules if all(name in share.rules for share in shares)]
    used = shares[0].rule if len({share.rule for share in shares}) == 1 else "as used"
    columns = {name: [share.rules[name] for share in shares] for name in names}
    columns.setdefault(used, [share.used for share in shares])
    rules = {name: _sum(name, column, np.asarray(weights), updates) for name, column in columns.items()}
    problems = tuple(dict.fromkeys(problem for share in shares for problem in share.problems))
    return Prediction(used, rules, problems, updates, sum(share.pairs for share in shares), shares[0].replicates)


def _sum(name: str, column: list[RulePrediction], weights: np.ndarray, updates: int) -> RulePrediction:
    rates = np.array([1 / one.rho for one in column])
    errors = np.array([one.rho_se / one.rho**2 if np.isfinite(one.rho) else 0.0 for one in column])
    rate, error = float(weights @ rates), float(np.sqrt(weights**2 @ errors**2))
    low, high = (float(weights @ [one.discrepancy_interval[end] for one in column]) for end in (0, 1))
    return RulePrediction(
        name,
        1 / rate if rate else np.inf,
        error / rate**2 if rate else np.nan,
        updates * rate,
        float(weights @ [one.discrepancy for one in column]),
        (low, high),
        float(weights @ [one.acceptance for one in column] / weights.sum()),
    )
