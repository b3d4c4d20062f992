"""Whether pairs of a run tell a rate of separation: their number, and where the run is."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.sampled import Sampled
from lockstep.coupling.names import named_arrays
from lockstep.separation.groups import shapes_of, spread_of
from lockstep.separation.prediction import RulePrediction
from lockstep.separation.replicates import Cumulants, Replicates

PROMISE, LEVEL = 1.25, 3.0  # the factor within which a ρ that is told is right, to so many standard errors
# The largest relative error of a rate r for which r (1 ± 3 error) is within the promise: above it a ρ is withheld.
MOST = (1 - 1 / PROMISE) / LEVEL
AIM = 0.75 * MOST  # until when pairs are taken
FARTHEST = 0.3  # how far the noise may be from that of an exact chain, in logarithms of its standard deviation
MOST_COMPONENTS = 16
FEWEST_EFFECTIVE, FEWEST_DRAWS = 20, 4


def relative_error(found: RulePrediction) -> float:
    """The standard error of ρ as a share of it; 0 where there is no ρ or no separation."""
    return found.rho_se / found.rho if np.isfinite(found.rho) and np.isfinite(found.rho_se) else 0.0


def pairs_for(found: RulePrediction, pairs: int, error: float) -> int:
    """How many pairs bring the relative error down to this one."""
    return int(np.ceil(pairs * (relative_error(found) / error) ** 2))


def withheld(rules: dict[str, RulePrediction], pairs: int, calls: int) -> tuple[dict[str, RulePrediction], str]:
    """The rules without those numbers that so few pairs and calls cannot tell, and a sentence about these."""
    lost = {name: found for name, found in rules.items() if relative_error(found) > MOST}
    if not lost:
        return rules, ""
    worst = max(lost.values(), key=relative_error)
    sentence = (
        f"the gaps of {', '.join(lost)} differ so much over the posterior (as where the noise changes with position) "
        f"that {pairs} pairs tell ρ to a standard error of {relative_error(worst):.1%}; only one below {MOST:.1%} "
        f"promises {PROMISE - 1:.0%}: "
        f"call ls.separation.predict(run, calls={pairs_for(worst, calls, AIM)}), or run longer"
    )
    return {name: RulePrediction.unknown(name) if name in lost else found for name, found in rules.items()}, sentence


def too_little_seen(run: Sampled) -> str:
    """A sentence if the run has hardly left its start: its pairs then tell of the start, not of the target."""
    effective = run.chains * run.draws * run.thin / _updates_to_forget(run)
    if effective >= FEWEST_EFFECTIVE:
        return ""
    return (
        f"the run has about {effective:.0f} effective draws, fewer than {FEWEST_EFFECTIVE}: its pairs tell of where it "
        f"began; run longer, or let it move (smaller steps, more samples)"
    )


def is_elsewhere(run: Sampled, forward: Replicates, used: RulePrediction) -> str:
    """A sentence if the run may be where an exact chain would not be, and the noise is another there.

    A kernel that is off by a discrepancy δ an update, and forgets in τ updates, has a stationary law within about δτ of
    the exact one. That matters to the gaps if the noise changes over the posterior.
    """
    noisy = forward.is_noisy & forward.does_move
    if noisy.sum() < 2 or not np.isfinite(used.discrepancy):
        return ""
    halves = Cumulants(*(np.asarray(field)[:, noisy] for field in forward.halves))
    with np.errstate(all="ignore"):
        change = float(np.sqrt(max(spread_of(shapes_of(halves)[..., :1])[0], 0.0)))
    far = used.discrepancy * _updates_to_forget(run)
    if not far * change > FARTHEST:
        return ""
    return (
        f"the kernel is off by {used.discrepancy:.2g} an update, and the noise changes over the posterior by a factor "
        f"of {np.exp(change):.2g}: pairs of this run need not be where an exact chain would be; run ls.corrected, or "
        f"take more samples, and predict from that run"
    )


def _updates_to_forget(run: Sampled) -> float:
    """Updates for each effective draw of the slowest of some components; all of them if none has moved."""
    from arviz_stats.base import array_stats

    sizes = []
    for array in named_arrays(run.positions).values() if run.draws >= FEWEST_DRAWS else ():
        components = np.asarray(array, float).reshape(*array.shape[:2], -1)
        some = (components[..., i] for i in range(components.shape[2])[:MOST_COMPONENTS])
        sizes += [float(array_stats.ess(one, method="bulk")) for one in some if np.ptp(one) > 0]
    least = min((size for size in sizes if np.isfinite(size)), default=1.0)
    return float(run.chains * run.draws * run.thin / max(least, 1.0))


def joined(first: Replicates, second: Replicates, chains: int) -> Replicates:
    """The pairs of both, chain by chain."""
    both = [_by_pair(one) for one in (first, second)]
    narrowest = min(one.influences.shape[1] for one in both)
    both = [one._replace(influences=one.influences[:, :narrowest]) for one in both]

    def join(*leaves: Any) -> np.ndarray:
        apart = [np.asarray(leaf).reshape(chains, -1, *np.shape(leaf)[1:]) for leaf in leaves]
        whole = np.concatenate(apart, axis=1)
        return whole.reshape(-1, *whole.shape[2:])

    return _by_pair(jax.tree.map(join, *both))


def _by_pair(replicates: Replicates) -> Replicates:
    """With the axis of pairs of the halves in front, or back again."""
    return replicates._replace(halves=jax.tree.map(np.transpose, replicates.halves))
