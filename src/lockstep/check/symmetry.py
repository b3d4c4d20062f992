"""Whether an estimator's variance is the same in both directions."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from scipy.special import ndtri

from lockstep.check.finding import Finding
from lockstep.check.points import draws_of, pairs_of
from lockstep.core import random
from lockstep.core.estimator import Estimator
from lockstep.core.precision import canonical, double_precision
from lockstep.core.trees import describe, one_of
from lockstep.core.types import Key, Position
from lockstep.estimators.samples import as_estimator
from lockstep.host.boxes import called_back
from lockstep.host.callback import raised_here

FALSE_ALARMS = 1e-4


def symmetry(
    estimator: Estimator, positions: Position, candidates: Position, replicates: int = 2000, seed: int = 0
) -> Finding:
    """Whether the variance of an estimate of D is the same from θ to θ' as from θ' to θ.

    `ls.penalty` and `ls.corrected` need that; `ls.estimators.two_sided` brings it about.

    Parameters
    ----------
    estimator
        The estimator.
    positions, candidates
        Pairs, with a leading axis over them: where the chain goes, best where D is near 0.
    replicates
        How many estimates to make in each direction at each pair.
    seed
        Of those.

    Returns
    -------
    Finding
        ``residual`` is the largest ``abs(log(forward variance / reverse variance))``; the check fails where that is
        significant over all pairs, with one false alarm in 10,000.
    """
    estimator = as_estimator(estimator, "estimator")
    replicates, seed = draws_of(replicates, seed)
    with double_precision():
        estimator = called_back(canonical(estimator, "estimator"))
        points, others = pairs_of(positions, candidates)
        pairs = len(jax.tree.leaves(points)[0])
        keys = random.split(random.seeded(seed), 2)
        logs, errors = [], []
        for key, here, there in ((keys[0], points, others), (keys[1], others, points)):
            with raised_here():
                values = np.asarray(_values(estimator, key, here, there, replicates))
            centred = values - values.mean(axis=1, keepdims=True)
            variance = centred.var(axis=1)
            kurtosis = (centred**4).mean(axis=1) / np.where(variance > 0, variance, 1.0) ** 2
            logs.append(np.log(np.maximum(variance, np.finfo(float).tiny)))
            errors.append(np.maximum(kurtosis - 1, 0) / replicates)
    log_ratio = logs[0] - logs[1]
    scores = np.abs(log_ratio) / np.sqrt(np.maximum(errors[0] + errors[1], 1e-12))
    worst = int(np.argmax(scores))
    is_ok = bool(scores[worst] < -ndtri(FALSE_ALARMS / 2 / pairs))
    where = {"position": one_of(points, worst), "candidate": one_of(others, worst)}
    ratio = float(np.exp(log_ratio[worst]))
    sentence = (
        f"the variance is the same in both directions at {pairs} pairs, as far as {replicates:,} estimates tell"
        if is_ok
        else f"the variance from θ = {describe(where['position'])} to θ' = {describe(where['candidate'])} is "
        f"{ratio:.3g} times that of the way back; penalty and corrected need a symmetric variance: use "
        f"ls.estimators.two_sided"
    )
    return Finding(is_ok, sentence, float(np.abs(log_ratio[worst])), where, {"variance_ratios": np.exp(log_ratio)})


def _values(estimator: Estimator, key: Key, here: Position, there: Position, replicates: int) -> Any:
    def at_pair(key: Key, position: Position, candidate: Position) -> Any:
        noise = estimator.noise(key, position, (replicates,))
        return jax.vmap(lambda n: estimator(n, position, candidate).value)(noise)

    pairs = len(jax.tree.leaves(here)[0])
    return jax.jit(jax.vmap(at_pair))(random.split(key, pairs), here, there)
