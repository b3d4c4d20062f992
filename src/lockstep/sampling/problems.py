"""What to say when log ratios are no numbers: which function returned what, and where."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import jax
import jax.random as jr
import numpy as np

from lockstep.kernel import MetropolisHastings
from lockstep.ratios import Carried, Estimated, Randomized, Universal
from lockstep.types import Info, describe, one_of

PROBES = 256


class LockstepWarning(UserWarning):
    """A run that ended, but about which its user should know something."""


def infos(info: Any) -> Iterator[Info]:
    """The `Info` of each leg of a run: one, or two for coupled kernels."""
    if isinstance(info, Info):
        yield info
    elif isinstance(info, tuple):
        for field in info:
            yield from infos(field)


def require_ratios(kernel: Any, state: Any, info: Any) -> None:
    """Raise if not one update of the first block had a valid ratio."""
    for leg in infos(info):
        if leg.is_finite.size and not leg.is_finite.any():
            raise FloatingPointError(f"every log ratio so far was NaN or infinite: {explain(kernel, state)}")


def warn_of_ratios(kernel: Any, state: Any, info: Any, updates: int) -> None:
    """Warn once of NaN ratios, broken bounds, and chains that never moved."""
    for leg in infos(info):
        bad = updates * _width(leg) - int(leg.is_finite.sum())
        if bad:
            share = bad / (updates * _width(leg))
            _warn(
                f"{bad:,} log ratios ({share:.2%}) were NaN or infinite and their candidates were not decided by a "
                f"ratio (NaN is rejected): {explain(kernel, state)}. info.is_finite tells where."
            )
        if leg.is_violated is not None and (broken := int(leg.is_violated.sum())):
            _warn(
                f"{broken:,} of {updates:,} errors were above the bound of the universal rule, which is exact only if "
                f"none is; raise the bound. info.is_violated tells where."
            )
        if not leg.is_accepted.any() and updates >= 100:
            _warn("no candidate was accepted; is the scale of the proposal too large, or the start in a bad place?")


def explain(kernel: Any, state: Any) -> str:
    """Find an update whose ratio is no number, and say what its parts returned."""
    if not isinstance(kernel, MetropolisHastings):
        return "look at what the functions of its kernels return"
    position = jax.tree.map(lambda leaf: leaf[0], state.position)
    noise = kernel.noise(jr.key(0), position, (PROBES,))
    candidates = jax.vmap(lambda n: kernel.proposal(n, position)[0])(noise.proposal)
    for name, values, is_bad, should in _parts(kernel.ratio, noise.ratio, position, candidates):
        values = np.broadcast_to(np.asarray(values), (PROBES,))
        where = np.flatnonzero(is_bad(values))
        if where.size:
            first = int(where[0])
            return f"{name} {values[first]:.6g} at candidate {describe(one_of(candidates, first))}; {should}"
    return "no function returned such a value near the last position"


def _parts(ratio: Any, noise: Any, position: Any, candidates: Any) -> Iterator[tuple[str, Any, Any, str]]:
    """Name, values, test for a bad value and remedy, for each part of a ratio."""
    if isinstance(ratio, Randomized):
        if ratio.base is not None:
            yield from _parts(ratio.base, noise[0], position, candidates)
        draw = jax.vmap(ratio.randomization.sample, in_axes=(0, None, 0))
        weigh = jax.vmap(ratio.randomization.log_weight, in_axes=(0, None, 0))
        weights = weigh(draw(noise[1], position, candidates), position, candidates)
        yield (
            "the weight of the randomization is",
            weights,
            _is_no_ratio,
            "it must be a number or minus infinity",
        )
    elif isinstance(ratio, Carried):
        name = next((n for n in ("log_density", "log_estimate") if hasattr(ratio.evaluate, n)), "the evaluation")
        values = jax.vmap(ratio.evaluate)(noise, candidates)
        yield (
            f"{name} returned",
            values,
            _is_no_ratio,
            "it must return a number, or minus infinity outside the support",
        )
    elif isinstance(ratio, (Estimated, Universal)):
        noise = noise[0] if isinstance(ratio, Universal) else noise
        estimates = jax.vmap(ratio.estimator, in_axes=(0, None, 0))(noise, position, candidates)
        yield (
            "estimator returned value",
            estimates.value,
            _is_no_ratio,
            "it must be a number or minus infinity",
        )
        if isinstance(ratio, Estimated) and ratio.rule.needs_variance:
            should = "a variance must be finite and non-negative"
            yield (
                "estimator returned variance",
                estimates.variance,
                lambda v: ~((v >= 0) & (v < np.inf)),
                should,
            )
            yield (
                "estimator returned bias",
                estimates.bias,
                lambda v: ~np.isfinite(v),
                "a bias must be finite",
            )


def _is_no_ratio(values: Any) -> Any:
    return ~(values < np.inf)


def _width(leg: Info) -> int:
    """How many ratios an update has: more than one in a `Cycle`."""
    return int(np.prod(leg.is_finite.shape[2:]))


def _warn(message: str) -> None:
    warnings.warn(message, LockstepWarning, stacklevel=4)
