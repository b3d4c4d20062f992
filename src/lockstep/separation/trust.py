"""Whether estimates are such that a prediction from their cumulants can be trusted."""

from __future__ import annotations

import numpy as np

from lockstep.core.estimator import Estimator
from lockstep.separation.groups import uncertainty_of_variance
from lockstep.separation.replicates import ROUNDING, Replicates
from lockstep.separation.tails import HEAVY, tail_of_squares

FEWEST_SAMPLES = 4
HEAVY_VALUE, HEAVY_VARIANCE = 0.45, 0.75  # Pareto shapes: beyond 1/2 there is no variance, beyond 1 no mean
MOST_BAD = 0.01  # of the pairs
MOST_UNCERTAIN = 0.05  # of the variance over all pairs; below a hundredth for exponential samples
LARGEST = 1e90  # the cubes of larger estimates overflow
LEAST_ASYMMETRY, ALARM = 0.1, 4.0
FREQUENCIES = np.arange(5.0, 130.0, 0.5)  # of steps in the law of the noise, of 1.3 down to 0.05 standard deviations
LEAST_LUMP, LEAST_SPREAD, MOST_ROWS = 0.05, 0.3, 512
SURE_LUMP = 6.0  # standard errors of the largest of 250 sizes, whose laws have long tails if replicates are few
COARSE = 0.02  # steps of a lattice, in standard deviations
LEAST_FACTOR, CERTAIN = np.log(1.25), 5.0  # of a variance beside the one that samples tell, and in standard errors
FEWEST_VALUES, FEWEST_REPLICATES = 200, 16
MEASURE = (
    "take predict(run, against='standard'), which needs no score, measure by ls.Shadowed against an exact kernel, or "
    "use ls.separation.bias"
)
WITHOUT_VARIANCE = (
    "their variance or third moment may not exist, and no correction by cumulants is valid; bound or transform the "
    "samples, take more of them if each is an average of few rows, or use an exact kernel"
)


def problems_of(estimator: Estimator, forward: Replicates, reverse: Replicates, needs_score: bool = True) -> list[str]:
    """Sentences about what is wrong with the estimates, for every rule; some only if they need a normal score."""
    found = []
    count = float(np.mean(forward.each.count))
    if count < FEWEST_SAMPLES and not estimator.is_variance_known:
        found.append(
            f"an estimate has only {count:.0f} samples, from which its cumulants cannot be estimated: take count >= 8"
        )
    if no_numbers := _no_numbers(np.asarray(forward.each.value)):
        return [*found, no_numbers]
    has_samples = bool(np.isfinite(forward.influences).any())
    heavy = _heavy_samples(forward, reverse) if has_samples else _heavy_estimates(forward, reverse)
    if needs_score:
        # Most estimates with heavy tails lie in one lump, in units of a standard deviation that they do not have.
        found.append(_few_values(forward) or ("" if heavy else _lumps(forward)))
        heavy = heavy or _uncertain_variance(forward)
    found += [_other_variance(forward, reverse), f"{heavy}: {WITHOUT_VARIANCE}" if heavy else ""]
    return list(filter(None, found))


def _no_numbers(values: np.ndarray) -> str:
    """A sentence if estimates are NaN, infinite or too large to compute with, where D is a number.

    One such estimate spoils all that is known of its pair. Where all are minus infinity, so is D.
    """
    is_known = np.isfinite(values)
    is_bad = ~is_known & ~np.all(values == -np.inf, axis=1, keepdims=True)
    if is_bad.any(axis=1).mean() > MOST_BAD:
        share = f"{100 * is_bad.mean():.2g} %"
        return f"{share} of the estimates are NaN or infinite where D is finite: such noise has no normal score"
    largest = np.max(np.abs(values), where=is_known, initial=0.0)
    if largest > LARGEST:
        return f"estimates are as large as {largest:.2g}: their cumulants overflow; look at the units of the log ratio"
    return ""


def _few_values(replicates: Replicates) -> str:
    """A sentence if estimates lie on a lattice: they have no normal score, and no coupling to a normal one is as close.

    Two normal numbers that are rounded to steps of h standard deviations are equal with probability h/(2 √π).
    """
    values = replicates.each.value[replicates.is_noisy & replicates.does_move]
    if not values.size:
        return ""
    is_tied = np.abs(values[:, :, None] - values[:, None, :]) <= ROUNDING * (1 + np.abs(values[:, :, None]))
    pairs = values.shape[1] * (values.shape[1] - 1)
    step = 2 * np.sqrt(np.pi) * float(np.mean((is_tied.sum(axis=(1, 2)) - values.shape[1]) / pairs))
    if step < COARSE:
        return ""
    return (
        f"the estimates take few values, about {step:.2g} standard deviations apart (averages of counts, or of samples "
        f"with two values): they have no normal score; {MEASURE}"
    )


def _lumps(replicates: Replicates) -> str:
    """A sentence if estimates come in lumps, as averages of samples with nearly two values do: their law has steps.

    Steps of h standard deviations are seen in abs(E exp(2πi e/h))², which is next to nothing for a smooth law. Within
    half of the replicates at a pair, where the steps begin at the same place, that is estimated without bias.
    """
    rows = replicates.is_noisy & replicates.does_move
    half = replicates.linear.shape[1] // 2
    scale = np.sqrt(replicates.halves.variance[:, rows].mean(axis=0))
    e = (np.asarray(replicates.linear)[rows] / scale[:, None]).reshape(-1, half)
    # Where a half varies far less than its pair (a slope near zero) all of it would seem to be one lump.
    e = e[np.isfinite(e).all(axis=1) & (np.mean(e**2, axis=1) > LEAST_SPREAD**2)][:MOST_ROWS]
    if len(e) < 2 or half < 2:
        return ""
    seen = np.array([np.mean(np.abs(np.exp(1j * t * e).mean(axis=1)) ** 2) for t in FREQUENCIES])
    sizes = (half * seen - 1) / (half - 1)
    if sizes.max() < max(LEAST_LUMP, SURE_LUMP / ((half - 1) * np.sqrt(len(e)))):
        return ""
    return (
        f"the estimates come in lumps, about {2 * np.pi / FREQUENCIES[np.argmax(sizes)]:.2g} standard deviations apart "
        f"(as averages of samples or of weights with nearly two values do): no smooth normal score fits them; {MEASURE}"
    )


def variance_by_replicates(forward: Replicates, reverse: Replicates) -> float:
    """How many times the variance that samples tell whole estimates have; 1 unless that is certain."""
    ratios = []
    for one in (forward, reverse):
        half = one.linear.shape[1] // 2
        linear = np.asarray(one.linear)[one.is_noisy].reshape(-1, 2, half)
        seen = np.sum(linear**2, axis=2).mean(axis=1) / (half - 1)
        ratios.append(seen / one.halves.variance[:, one.is_noisy].mean(axis=0))
    ratio = np.concatenate(ratios)
    if ratio.size < 2:
        return 1.0
    size, error = float(ratio.mean()), float(ratio.std(ddof=1) / np.sqrt(ratio.size))
    return size if np.abs(size - 1) >= CERTAIN * error else 1.0


def _other_variance(forward: Replicates, reverse: Replicates) -> str:
    """A sentence if whole estimates vary far otherwise than their samples tell: these are then not independent."""
    size = variance_by_replicates(forward, reverse)
    if np.abs(np.log(size)) < LEAST_FACTOR:
        return ""
    stated = float(np.median(forward.halves.variance[:, forward.is_noisy]))
    return (
        f"the variance of an estimate is {size:.2g} times what its samples say: they are not independent (or batches "
        f"too short against the chain's autocorrelation: take ls.estimators.batch_means with longer ones). No rule "
        f"that corrects by this variance is right: it takes off {stated / 2:.2g} where {size * stated / 2:.2g} is "
        f"needed, and balance is off by the factor {np.exp((size - 1) * stated / 2):.2g}"
    )


def _uncertain_variance(forward: Replicates) -> str:
    """A clause if few samples make most of the variance: no polynomial of a score fits such long tails."""
    error = uncertainty_of_variance(forward)
    if not error > MOST_UNCERTAIN:
        return ""
    if error > 1:
        return (
            "the variance of an estimate cannot be told from its samples, of which two halves differ by factors (is it "
            "a function of their average that is flat or has a kink there?)"
        )
    return f"the samples have heavy tails (all of them together tell their variance only to ±{error:.0%})"


def _heavy_samples(forward: Replicates, reverse: Replicates) -> str:
    """A clause if the samples look as if they had no variance."""
    of = tail_of_squares(np.concatenate([one.influences[one.is_noisy] for one in (forward, reverse)]))
    if of <= HEAVY:
        return ""
    return f"the samples have heavy tails (Pareto shape {of / 2:.2f}; from 0.50 on there is no variance)"


def _heavy_estimates(forward: Replicates, reverse: Replicates) -> str:
    """The same from estimates, whose samples are not known, and from their variances."""
    of_square = tail_of_squares(np.concatenate([one.each.value[one.is_noisy] for one in (forward, reverse)]))
    of_value = of_variance = -np.inf
    if forward.each.value.shape[1] >= FEWEST_REPLICATES:
        values, variances = (np.asarray(of)[forward.is_noisy] for of in (forward.each.value, forward.each.variance))
        # Medians: a heavy tail would carry averages away. (Medians of few replicates would make a tail themselves.)
        apart = np.abs(values - np.median(values, axis=1, keepdims=True))
        of_value = tail_shape(apart / np.median(apart, axis=1, keepdims=True))
        of_variance = tail_shape(variances / np.median(variances, axis=1, keepdims=True))
    if of_square <= HEAVY and of_value <= HEAVY_VALUE and of_variance <= HEAVY_VARIANCE:
        return ""
    return (
        f"the samples have heavy tails (Pareto shape {max(of_square / 2, of_value):.2f} of the estimates, "
        f"{of_variance:.2f} of their variances; from 0.50 and 1.00 on these have no variance and no mean)"
    )


def tail_shape(values: np.ndarray) -> float:
    """The shape k of a generalised Pareto tail; moments below 1/k exist. Minus infinity if there are too few values."""
    from arviz_stats.base import array_stats

    values = values[np.isfinite(values)]
    if values.size < FEWEST_VALUES or np.ptp(values) == 0:
        return -np.inf
    return float(array_stats.pareto_khat(values, chain_axis=None, draw_axis=-1, r_eff=1.0, tail="right"))


def asymmetry_of(forward: Replicates, reverse: Replicates) -> str:
    """A sentence if the variance differs by direction where moves are likely in both, else nothing."""
    difference = forward.halves.difference.mean(axis=0) + forward.log_proposal_ratio
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(forward.halves.variance / reverse.halves.variance)
    use = np.all(np.isfinite(logs), axis=0) & np.isfinite(difference)
    if use.sum() < 2:
        return ""
    far = np.abs(difference[use])
    weights = np.exp(far.min() - far)
    weights /= weights.sum()
    # Squares free of noise: one half times the other.
    products = logs[0, use] * logs[1, use]
    size = float(weights @ products)
    error = float(np.sqrt(np.sum(weights**2 * (products - size) ** 2)))
    if size < LEAST_ASYMMETRY**2 or size < ALARM * error:
        return ""
    return (
        f"the variance of an estimate differs by direction, typically by a factor of {np.exp(np.sqrt(size)):.2f}: a "
        f"one-sided rule keeps a flux of order 1/m; use ls.estimators.two_sided(estimator)"
    )
