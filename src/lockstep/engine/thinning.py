"""Thinning: draws that are made of several updates each, and the draw that chains are in the middle of.

A thinned draw is the position after its last update. Its info is gathered over all of its updates: flags are counted,
what the type of an info lists as ``summed`` is added, of the rest the last is kept. Blocks of updates end anywhere, so
that a block may go on with a draw that another one has begun; sums are taken one update after the other, and come out
the same to the last bit wherever blocks end.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import key_of
from lockstep.core.types import Array, Tree
from lockstep.engine.block import Output

COUNT = np.dtype(np.int32)  # of flags


@runtime_checkable
class Summing(Protocol):
    """An info that lists what is added up over the updates of a draw, by the names of its fields."""

    @property
    def summed(self) -> tuple[str, ...]: ...


class Thinning(NamedTuple):
    """How many updates a draw takes, how many the draw that has begun has had, and what was gathered of these.

    ``info`` holds leaves with a leading axis over the chains. Where the ``phase`` is 0 no draw has begun, and they say
    nothing of the next one: they are those of the last draw, or None.
    """

    thin: int
    phase: int = 0
    info: Any = None

    @classmethod
    def at(cls, step: int, warmup: int, thin: int, info: list[Any] | None) -> Thinning:
        """Where a chain is after that many updates. Those of the warm-up belong to no draw."""
        phase = max(step - warmup, 0) % thin
        return cls(thin, phase, info if phase else None)

    @property
    def is_on(self) -> bool:
        """Whether a draw takes more than one update."""
        return self.thin > 1

    @property
    def begun(self) -> list[Any] | None:
        """The leaves of the info of the draw that has begun; None if none has."""
        return self.info if self.phase else None

    def begun_like(self, info: Tree) -> Any:
        """The info of the draw that has begun in the structure of another info; None if none has."""
        return jax.tree.unflatten(jax.tree.structure(info), self.info) if self.phase else None

    def anew(self) -> Thinning:
        """The same, but that no draw has begun."""
        return self._replace(phase=0)

    def slots(self, steps: int) -> int:
        """How many draws the updates of a block belong to."""
        return (self.phase + steps - 1) // self.thin + 1

    def after(self, output: Output, steps: int) -> tuple[Output, Thinning]:
        """The draws that a block of leading axes (chains, draws) completes, and the one that it leaves begun."""
        count, phase = divmod(self.phase + steps, self.thin)
        last = [np.array(leaf[:, -1]) for leaf in jax.tree.leaves(output.info)]
        return jax.tree.map(lambda leaf: leaf[:, :count], output), Thinning(self.thin, phase, last)

    # Compiled code gathers update after update, in buffers with a slot for each draw.

    def buffers(self, info: Tree, slots: int) -> Any:
        """Slots for infos of these shapes, empty but for the first, which holds the draw that has begun."""
        empty = jax.tree.map(lambda leaf: jnp.zeros((slots, *leaf.shape), counted(leaf.dtype)), info)
        begun = jax.tree.unflatten(jax.tree.structure(info), self.info)
        return jax.tree.map(lambda slots, old: slots.at[0].set(old), empty, begun)

    def slot(self, i: Array) -> Array:
        """The draw to which update ``i`` of a block belongs."""
        return (self.phase + i) // self.thin

    def gather(self, past: Any, now: Any, i: Array) -> Any:
        """The info of a draw with that of one more update, which is number ``i`` of the block."""
        is_first = (self.phase + i) % self.thin == 0

        def combine(path: Any, new: Array, old: Array) -> Array:
            if not _is_added(now, path, new):
                return new
            new = new.astype(old.dtype)
            return jnp.where(is_first, new, old + new)

        return jax.tree_util.tree_map_with_path(combine, now, past)

    # Interpreted code gathers all updates of a block, of one chain after the other.

    def of_chain(self, chain: int) -> Thinning:
        """The same of one chain alone."""
        return self._replace(info=None if self.info is None else [leaf[chain] for leaf in self.info])

    def last(self, steps: int) -> np.ndarray:
        """Which updates of a block are the last of a draw; the last of the block is the last so far."""
        return np.append(np.arange(self.thin - self.phase, steps, self.thin), steps) - 1

    def gather_draws(self, updates: Output) -> Output:
        """The draws of one chain from all updates of a block, each with a leading axis."""
        if not self.is_on:
            return updates
        last = self.last(len(jax.tree.leaves(updates.info)[0]))
        return Output(jax.tree.map(lambda leaf: leaf[last], updates.positions), self.gather_all(updates.info))

    def gather_all(self, info: Tree) -> Any:
        """The infos of draws from those of all updates of a block, with a leading axis over these."""
        last = self.last(len(jax.tree.leaves(info)[0]))

        def combine(path: Any, leaf: np.ndarray, *begun: Any) -> np.ndarray:
            if not _is_added(info, path, leaf):
                return leaf[last]
            dtype = counted(leaf.dtype)
            parts = np.split(leaf.astype(dtype), last[:-1] + 1)
            if begun:
                parts[0] = np.concatenate([np.asarray(begun, dtype), parts[0]])
            # One after the other: `reduceat` would add in an order that depends on where the block ends.
            return np.array([np.add.accumulate(part, dtype=dtype)[-1] for part in parts], dtype)

        trees = (info, self.begun_like(info)) if self.phase else (info,)
        return jax.tree_util.tree_map_with_path(combine, *trees)


def counted(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The kind of number in which values of a kind are gathered."""
    return COUNT if dtype == np.dtype(bool) else dtype


def _is_added(info: Tree, path: Any, leaf: Array) -> bool:
    """Whether a leaf of the info of an update is added up over a draw. An info of a user's own may list nothing."""
    summed = info.summed if isinstance(info, Summing) else ()
    return leaf.dtype == np.dtype(bool) or any(key_of(field) in summed for field in path[:1])
