"""The claims of the discussion: how well penalty, pseudo-marginal, naive and standard chains mix.

All see the log ratio through normal noise of the same variance v of D̂: penalty and naive draw it anew for each update,
the pseudo-marginal chain carries estimates of log π with variance v/2 and mean -v/4, so that e^{...} is unbiased.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from lockstep.core import random
from lockstep.core.types import Array, Key
from lockstep.kernels import naive, penalty, pseudo_marginal, standard
from lockstep.sampling import sample
from lockstep.studies.nicholls2012.estimators import NormalScore
from lockstep.studies.nicholls2012.model import PROPOSALS, draw_target, log_density
from lockstep.studies.nicholls2012.settings import Settings
from lockstep.studies.nicholls2012.statistics import Measured

VARIANCES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ALGORITHMS = ("standard", "penalty", "naive", "pseudo-marginal")


def _log_estimate(variance: Array, noise: Array, position: Array) -> Array:
    return log_density(position) + jnp.sqrt(variance / 2) * noise - variance / 4


def _draw(key: Key) -> Array:
    return random.normal(key, ())


def kernel_of(algorithm: str, variance: float, proposal: str) -> Any:
    """A kernel that sees D through noise of this variance (the standard one sees D itself)."""
    walk: Any = PROPOSALS[proposal]
    if algorithm == "standard":
        return standard(log_density, walk)
    if algorithm == "pseudo-marginal":
        return pseudo_marginal(Partial(_log_estimate, variance), walk, draw=_draw)
    return {"penalty": penalty, "naive": naive}[algorithm](NormalScore(1 / variance), walk)


def measure_efficiency(
    settings: Settings, algorithm: str, proposal: str, report: Callable[[str], None]
) -> dict[float, Any]:
    """Integrated autocorrelation time of θ₁+θ₂ and longest sojourn, by the variance of D̂."""
    found = {}
    for variance in VARIANCES[:1] if algorithm == "standard" else VARIANCES:
        run = sample(
            kernel_of(algorithm, variance, proposal),
            draw_target,
            draws=settings.updates // settings.chains,
            chains=settings.chains,
            seed=settings.seed_of("efficiency", algorithm, proposal, variance),
            progress=False,
        )
        sojourns = np.array([longest_sojourn(chain) for chain in run.info.is_accepted], float)
        found[variance] = {
            "autocorrelation_time": autocorrelation_time(run.positions.sum(axis=-1)),
            "longest_sojourn": Measured(float(sojourns.mean()), float(sojourns.std(ddof=1) / np.sqrt(len(sojourns)))),
            "acceptance": run.acceptance,
        }
        report(f"efficiency of {algorithm}, {proposal}, variance {variance:g}: acceptance {run.acceptance:.2f}")
    return found


def autocorrelation_time(values: np.ndarray) -> Measured:
    """Updates an independent draw: draws over ArviZ's effective sample size, in four groups of chains."""
    from arviz_stats.base import array_stats

    groups = np.array_split(values, min(4, len(values)))
    each = np.array([group.size / float(array_stats.ess(group, method="mean")) for group in groups])
    return Measured(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))))


def longest_sojourn(is_accepted: np.ndarray) -> int:
    """The most updates that a chain stayed where it was."""
    moves = np.flatnonzero(np.concatenate([[True], is_accepted, [True]]))
    return int(np.diff(moves).max()) - 1
