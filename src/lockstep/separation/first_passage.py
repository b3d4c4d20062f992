"""First passages: replicates that run only until they separate."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.chains.starts import initial_states
from lockstep.core.arguments import MOST_SEED, whole
from lockstep.core.precision import canonical, double_precision
from lockstep.core.progress import Progress
from lockstep.core.trees import one_of
from lockstep.coupling.common_noise import Shadowed
from lockstep.engine.bad_ratios import explain
from lockstep.engine.block import CELL, block_noise, take
from lockstep.engine.compiled import COMPILED

LEAST_WIDTH = 16
SHRINK = 0.7  # so that a sixth of the lanes is idle on average, with few widths to compile


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FirstPassage:
    """Times T of first separation, one a replicate; those that had not separated at ``limit`` hold the limit.

    ``tau`` is their mean: a lower bound if any was cut off.
    """

    times: np.ndarray
    is_cut: np.ndarray

    @property
    def tau(self) -> float:
        return float(self.times.mean())

    @property
    def tau_se(self) -> float:
        return float(self.times.std(ddof=1) / np.sqrt(len(self.times)))

    def __repr__(self) -> str:
        cut = f"; {self.is_cut.sum():,} had not separated: a lower bound" if self.is_cut.any() else ""
        return f"First passages: τ = {self.tau:,.5g} ± {self.tau_se:,.2g} from {len(self.times):,} replicates{cut}"


def first_passage(
    kernel: Shadowed,
    initial: Any,
    replicates: int = 1000,
    seed: int = 0,
    limit: int = 10_000_000,
    progress: bool | None = None,
) -> FirstPassage:
    """Run replicates of a shadowed chain until the approximate kernel first decides otherwise.

    T = min{t ≥ 1: B_{t-1} = 1}. Replicates that have separated are dropped, so that the work is about the sum of the
    times.

    Parameters
    ----------
    kernel
        ``ls.Shadowed(exact, approximate)``.
    initial
        Starts in equilibrium: a function of a key, or ``ls.Starts(positions)``, such as draws of an earlier run (with
        another seed than that run, whose noise would be replayed).
    replicates
        How many.
    seed
        A whole number.
    limit
        After how many updates to give up on a replicate.
    progress
        As in `ls.sample`.
    """
    if not isinstance(kernel, Shadowed):
        raise TypeError(f"kernel must be ls.Shadowed(exact, approximate); got {kernel!r}")
    replicates, limit = whole(replicates, "replicates", 2), whole(limit, "limit", 1)
    with double_precision(), Progress(replicates, "first passages", progress) as shown:
        compiled = canonical(kernel, "kernel")
        key_start, key_run = jr.split(jr.key(whole(seed, "seed", 0, MOST_SEED)))
        keys = jax.vmap(lambda chain: jr.fold_in(key_run, chain))(jnp.arange(replicates))
        state = initial_states(compiled, initial, replicates, key_start)
        times = np.full(replicates, limit)
        is_cut = np.ones(replicates, bool)
        active = np.arange(replicates)
        width, step = replicates, 0
        while len(active) and step < limit:
            cells = COMPILED.cells_per_block(compiled, keys, state, limit - step)
            steps = min(cells * CELL, limit - step)
            moved, first, is_valid = _until_marked(compiled, keys, state, step, steps, cells=cells)
            if step == 0 and not all(is_valid):
                where = explain(compiled, one_of(state.position, 0))
                raise FloatingPointError(f"every log ratio so far was NaN or plus infinity: {where}")
            state, first = moved, np.asarray(first)[: len(active)]
            is_done = first < steps
            times[active[is_done]] = step + first[is_done] + 1
            is_cut[active[is_done]] = False
            step += steps
            shown.update(replicates - int((~is_done).sum()))
            # Drop what has separated; the width shrinks in few sizes, since each is compiled once.
            kept = np.flatnonzero(~is_done)
            active = active[kept]
            while width > LEAST_WIDTH and len(active) <= int(SHRINK * width):
                width = max(LEAST_WIDTH, int(SHRINK * width))
            index = np.resize(kept, width) if len(kept) else kept
            if len(kept):
                keys, state = jax.tree.map(lambda leaf: leaf[index], (keys, state))  # noqa: B023
    return FirstPassage(times, is_cut)


@functools.partial(jax.jit, static_argnames="cells")
def _until_marked(kernel: Any, keys: Any, state: Any, start: Any, steps: Any, *, cells: int) -> tuple[Any, Any, Any]:
    """The states after a block, when each replicate was first marked, and whether any log ratio was a number.

    A replicate that was not marked holds ``steps``; the last result has an entry for each leg.
    """
    noise = block_noise(kernel, keys, state, start // CELL, cells)
    offset = start % CELL
    move = jax.vmap(kernel.move)

    def body(i: Any, carry: Any) -> Any:
        state, first, is_valid = carry
        state, info = move(state, take(noise, offset + i))
        is_valid = [seen | leg.is_valid for seen, leg in zip(is_valid, (info.exact, info.approximate), strict=True)]
        return state, jnp.where(info.marks & (first == steps), i, first), is_valid

    start_flags = [jnp.zeros(len(keys), bool)] * 2
    state, first, is_valid = jax.lax.fori_loop(0, steps, body, (state, jnp.full(len(keys), steps), start_flags))
    return state, first, [seen.any() for seen in is_valid]
