"""What to say when log ratios are no numbers: which function returned what, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.kernel import Info, Kernel, Positioned
from lockstep.core.trees import describe, one_of
from lockstep.core.types import Position, Tree
from lockstep.core.warnings import warn
from lockstep.host.boxes import boxes, called_back
from lockstep.kernels.metropolis_hastings import MetropolisHastings

PROBES = 256
FEW_PROBES = 16  # of black boxes, which may be slow


def infos(info: Tree) -> Iterator[Info]:
    """The `Info` of each leg of a run: one, or two for coupled kernels."""
    if isinstance(info, Info):
        yield info
    elif isinstance(info, tuple):
        for field in info:
            yield from infos(field)


def total(flags: Any) -> int:
    """The sum of flags, or of their counts over thinned draws."""
    return int(np.count_nonzero(flags) if flags.dtype == np.dtype(bool) else flags.sum())


def require_ratios(kernel: Kernel, state: Positioned, info: Tree) -> None:
    """Raise if not one update of the first block had a valid ratio; in a `Cycle`, of one of its kernels."""
    for leg in infos(info):
        if leg.is_valid.size and not leg.is_valid.any(axis=(0, 1)).all():
            position = jax.tree.map(lambda leaf: leaf[0], state.position)
            raise FloatingPointError(f"every log ratio so far was {_kinds(leg)}: {explain(kernel, position)}")


def count_bad(info: Tree, updates: int) -> int:
    """How many of the log ratios of that many updates were NaN or plus infinity."""
    return sum(updates * _width(leg) - total(leg.is_valid) for leg in infos(info))


def told_of_bad(leg: Info, thin: int, more: str = "") -> str | None:
    """How many log ratios of a leg were no basis for a decision, by name, and what that means; None if all were one."""
    updates = leg.is_valid.shape[0] * leg.is_valid.shape[1] * thin
    bad = count_bad(leg, updates)
    if not bad:
        return None
    share, infinite = f"{bad / (updates * _width(leg)):.2%}", f". {_INFINITE}" if _infinite(leg) else ""
    return (
        f"{bad:,} log ratios ({share}) were {_kinds(leg, bad)}, so that their candidates were refused{more}{infinite}"
    )


def told_of_broken(leg: Info, thin: int) -> str | None:
    """At how many updates of a leg a ratio found its own promise broken; None if at none."""
    if not (broken := total(leg.is_violated)):
        return None
    updates = leg.is_valid.shape[0] * leg.is_valid.shape[1] * thin * _width(leg)
    return f"{broken:,} updates ({broken / updates:.2%}) broke the condition under which the kernel is exact"


_INFINITE = (
    "Plus infinity makes a candidate infinitely more probable than the position (an overflow, a division by zero, or a "
    "position of density zero): a chain that took it would never leave"
)


def _infinite(leg: Info) -> int:
    return int(np.isposinf(leg.log_ratio).sum())


def _kinds(leg: Info, bad: int | None = None) -> str:
    """NaN or plus infinity, or both with their numbers; of a thinned draw only the last log ratio is known."""
    nan, infinite = int(np.isnan(leg.log_ratio).sum()), _infinite(leg)
    if bad is not None and nan + infinite < bad:
        return "NaN or plus infinity" if infinite or not nan else "NaN (or plus infinity, between thinned draws)"
    if nan and infinite:
        return f"NaN ({nan:,}) or plus infinity ({infinite:,})"
    return "plus infinity" if infinite else "NaN"


def warn_of_ratios(kernel: Kernel, positions: Position, info: Tree, thin: int, bad_in_warmup: int) -> None:
    """Warn once of NaN ratios, broken bounds, and chains that never moved."""
    for leg in infos(info):
        updates = leg.is_valid.shape[0] * leg.is_valid.shape[1] * thin
        if count_bad(leg, updates):
            # Such candidates are refused, so that the draw is the position from which the candidate was proposed.
            chain, draw = np.argwhere((leg.is_valid < thin).reshape(*leg.is_valid.shape[:2], -1).any(axis=2))[0]
            position = jax.tree.map(lambda leaf: leaf[chain, draw], positions)  # noqa: B023
            more, bad_in_warmup = f" (and {bad_in_warmup:,} in the warm-up)" if bad_in_warmup else "", 0
            warn(f"{told_of_bad(leg, thin, f'{more}: {explain(kernel, position)}')}. info.is_valid tells where.")
        if broken := total(leg.is_violated):
            counted = {"count": f"{broken:,}", "share": f"{broken / updates / _width(leg):.2%}"}
            ratios = [one.ratio for one, _ in kernel.placed(positions)]
            # One of a user's own may tell that its promise is broken without having said that it can.
            told = {ratio.when_violated for ratio in [r for r in ratios if r.can_be_violated] or ratios}
            warn(f"{'; or '.join(sorted(told)).format(**counted)}. info.is_violated tells where.")
        if not leg.is_accepted.any() and updates >= 100:
            warn("no candidate was accepted; is the scale of the proposal too large, or the start in a bad place?")
    if bad_in_warmup:
        position = jax.tree.map(lambda leaf: leaf[0, 0], positions)
        warn(f"{bad_in_warmup:,} log ratios of the warm-up were NaN or plus infinity: {explain(kernel, position)}.")


def explain(kernel: Kernel, position: Position) -> str:
    """Find an update from ``position`` whose ratio is no number, and say what its parts returned."""
    kernel = called_back(kernel)
    for one, where in kernel.placed(position):
        if found := _explain_one(one, where):
            return found
    return kernel.blame(position) or "look at what the functions of the kernel return there"


def _explain_one(kernel: MetropolisHastings, position: Position) -> str | None:
    position = jax.tree.map(jnp.asarray, position)
    probes = FEW_PROBES if boxes(kernel) else PROBES
    noise = kernel.noise(random.seeded(0), position, (probes,))
    candidates = jax.vmap(lambda n: kernel.proposal(n, position)[0])(noise.proposal)
    for what, found, is_bad, should in kernel.ratio.probe(noise.ratio, position, candidates):
        values = np.broadcast_to(np.asarray(found), (probes,))
        where = np.flatnonzero(is_bad(values))
        if where.size:
            first = int(where[0])
            return f"{what} {values[first]:.6g} at candidate {describe(one_of(candidates, first))}; {should}"
    return None


def _width(leg: Info) -> int:
    """How many ratios an update has: more than one in a `Cycle`."""
    return int(np.prod(leg.is_valid.shape[2:]))
