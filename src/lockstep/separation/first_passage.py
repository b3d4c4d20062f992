"""First passages: replicates that run only until they separate."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import MOST_SEED, whole
from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.precision import canonical, double_precision
from lockstep.core.progress import Progress
from lockstep.core.trees import one_of
from lockstep.core.types import Array, Key, Tree
from lockstep.coupling.common_noise import Shadowed
from lockstep.engine.bad_ratios import explain
from lockstep.engine.block import CELL, MOST_UPDATES, block_noise, take
from lockstep.starts.states import initial_states

LANES = 64  # replicates that walk side by side
CELLS = 2  # of noise that are drawn at once for each of them,
ROWS = CELLS * CELL  # for so many updates


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
    times; one program is compiled, however many are left.

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
        key_start, key_run = random.two_keys(random.seeded(whole(seed, "seed", 0, MOST_SEED)))
        keys = jax.vmap(lambda chain: random.fold_in(key_run, chain))(jnp.arange(replicates))
        state = initial_states(compiled, initial, replicates, key_start)
        times = np.full(replicates, limit)
        is_cut = np.ones(replicates, bool)
        lanes = min(LANES, replicates)
        room = lanes * -(-replicates // lanes)
        kept, active, step = np.arange(replicates), np.arange(replicates), 0
        while len(active) and step < limit:
            # GATHER those that have not separated in the first groups; what is left of the last is filled with others.
            keys, state = _gathered((keys, state), np.resize(kept, room))
            groups = -(-len(active) // lanes)
            steps = min(ROWS * max(1, MOST_UPDATES // (groups * lanes * ROWS)), limit - step)
            moved, first, is_valid = _until_marked(compiled, keys, state, groups, step, steps, lanes=lanes)
            if step == 0 and not all(is_valid):
                where = explain(compiled, one_of(state.position, 0))
                raise FloatingPointError(f"every log ratio so far was NaN or plus infinity: {where}")
            state, first = moved, np.asarray(first)[: len(active)]
            is_done = first < steps
            times[active[is_done]] = step + first[is_done] + 1
            is_cut[active[is_done]] = False
            step += steps
            shown.update(replicates - int((~is_done).sum()))
            kept = np.flatnonzero(~is_done)
            active = active[kept]
    return FirstPassage(times, is_cut)


@jax.jit
def _gathered(tree: Tree, index: Array) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


@functools.partial(jax.jit, static_argnames="lanes")
def _until_marked(
    kernel: Kernel, keys: Key, state: Positioned, groups: Array, start: Array, steps: Array, *, lanes: int
) -> tuple[Any, Any, Any]:
    """The states of the first groups after a block, when each replicate was first marked, and whether any ratio is one.

    A replicate that was not marked holds ``steps``; the last result has an entry for each leg. How many groups are left
    and how far they walk are data, so that one program serves all; a group stops when all in it are marked.
    """
    move = jax.vmap(kernel.move)
    begun = jnp.full(lanes, steps), [jnp.array(False)] * 2

    def some_rows(keys: Key, carry: Tree) -> Any:
        at, *carried = carry
        noise = block_noise(kernel, keys, carried[0], (start + at) // CELL, CELLS)

        def body(i: Array, carry: Tree) -> Any:
            state, first, is_valid = carry
            state, info = move(state, take(noise, i))
            legs = zip(is_valid, (info.exact, info.approximate), strict=True)
            is_valid = [seen | leg.is_valid.any() for seen, leg in legs]
            return state, jnp.where(info.marks & (first == steps), at + i, first), is_valid

        return at + ROWS, *jax.lax.fori_loop(0, jnp.minimum(ROWS, steps - at), body, tuple(carried))

    def one_group(group: Array, carry: Tree) -> Any:
        states, firsts, is_valid = carry
        mine = take(group_keys, group)
        walking = (jnp.zeros((), int), take(states, group), *begun)
        _, state, first, seen = jax.lax.while_loop(
            lambda carry: (carry[0] < steps) & (carry[2] == steps).any(), functools.partial(some_rows, mine), walking
        )
        states, firsts = jax.tree.map(
            lambda all_of, one: jax.lax.dynamic_update_index_in_dim(all_of, one, group, 0),
            (states, firsts),
            (state, first),
        )
        return states, firsts, [a | b for a, b in zip(is_valid, seen, strict=True)]

    group_keys, states = jax.tree.map(lambda leaf: leaf.reshape((-1, lanes, *leaf.shape[1:])), (keys, state))
    firsts = jnp.broadcast_to(begun[0], group_keys.shape)
    states, firsts, is_valid = jax.lax.fori_loop(0, groups, one_group, (states, firsts, begun[1]))
    flat = jax.tree.map(lambda leaf: leaf.reshape((-1, *leaf.shape[2:])), (states, firsts))
    return *flat, is_valid
