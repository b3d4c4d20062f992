"""The last update of each chain, taken again when a run is resumed: whatever changed, the run notices.

A fingerprint follows what a model is made of as far as that can be seen. What a model computes is compared here: each
segment holds the states before its last update, and a resume takes this update again and compares states and infos,
bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from lockstep.chains.drive import advance
from lockstep.chains.task import Task
from lockstep.core.kernel import Kernel, Positioned
from lockstep.core.trees import is_key, key_of
from lockstep.core.types import Array, Key, Tree
from lockstep.core.warnings import warn
from lockstep.engine.block import CELL, Block
from lockstep.engine.choice import engine_of
from lockstep.engine.interface import Moving
from lockstep.storage.errors import MismatchError
from lockstep.storage.point import Witness, require_alike

ROUNDING = 1e-6  # of the largest number of an array: more than other versions make of one update
MOST_SHOWN = 3


class Found(NamedTuple):
    """A number of the repeated update that is not what it was, and by how much of the largest of its array."""

    name: str
    chain: int
    there: Any
    here: Any
    share: float

    def __str__(self) -> str:
        form = ".17g" if self.share <= ROUNDING else ".6g"
        there, here = (
            f"{value:{form}}" if value.dtype.kind == "f" else str(value) for value in (self.there, self.here)
        )
        return f"{self.name} of chain {self.chain}: {there} there, {here} here"


def repeat(kernel: Kernel, keys: Key, task: Task, step: int, witness: Witness) -> tuple[Any, Any]:
    """Take the updates of a witness, which end at ``step``, again; the states after them and the last info."""
    engine, state = engine_of(kernel), witness.state
    if task.ahead == 1:  # on the devices of the run, since programs for fewer chains may round otherwise
        keys, state = engine.spread(kernel, keys, state, task.devices)
    # As many cells as the run goes on with, so that nothing is compiled twice.
    cells = engine.cells_per_block(kernel, keys, state, max(task.steps - step, 1))
    thinning, info, now = witness.thinning, None, step - witness.steps
    if thinning.phase:
        require_alike(thinning.info, engine.no_info(kernel, keys, state), task.directory)
    while now < step:
        block = Block(now, min(step - now, cells * CELL - now % CELL))
        state, output = advance(engine, Moving(kernel, keys, cells), state, block, thinning)
        _, thinning = thinning.after(output, block.steps)
        info, now = jax.tree.map(lambda leaf: leaf[:, -1], output.info), now + block.steps
    return state, info


def require_repeatable(
    kernel: Kernel,
    keys: Key,
    task: Task,
    step: int,
    state: Positioned,
    witness: Witness,
    other: list[str],
    suspects: list[str],
) -> str | None:
    """Refuse to go on with a model that computes something else than what the directory holds.

    With other versions (``other`` names them) numbers may differ by rounding, which is told. ``suspects`` are what
    could not be compared. If changes are accepted, what differs is returned.
    """
    first = task.first
    again, info = repeat(kernel, keys, task, step, witness)
    require_alike(witness.info, jax.tree.leaves(info), task.directory)
    there = jax.tree.unflatten(jax.tree.structure(info), witness.info)
    found = [*_differences(there, info, first, 1.0 + _largest(state)), *_differences(state, again, first)]
    if not found:
        return None
    shown = "; ".join(map(str, found[:MOST_SHOWN])) + (
        f"; and {len(found) - MOST_SHOWN} more" * (len(found) > MOST_SHOWN)
    )
    is_rounding = all(one.share <= ROUNDING for one in found)
    if is_rounding and other:
        warn(
            f"{task.directory}: the last update of the run, computed again, differs by rounding ({shown}), as it may "
            f"with other versions or processors ({'; '.join(other)}). Its further draws are not bit for bit those of "
            f"an uninterrupted run"
        )
        return None
    if task.changed == "accept":
        return f"what the model computes: {shown}"
    raise MismatchError(
        f"{task.directory}: the last update of the run was computed again, and is not what it was: {shown}. "
        f"{_reason(kernel, keys, task, step, witness, (again, info), is_rounding, other, suspects)} To go on with the "
        f'model as it is now, say changed="accept", which is recorded; else give another directory'
    )


def _reason(
    kernel: Kernel,
    keys: Key,
    task: Task,
    step: int,
    witness: Witness,
    again: Any,
    is_rounding: bool,
    other: Iterable[str],
    suspects: list[str],
) -> str:
    """What may have made the difference. A third time tells whether the model is a function of its noise at all."""
    if any(True for _ in _differences(again, repeat(kernel, keys, task, step, witness), task.first)):
        return (
            "Computed once more it differs again: the model draws random numbers of its own, or depends on what was "
            "called before. Draw from the key or generator that it is given."
        )
    if is_rounding:
        return (
            "The numbers differ in their last digits only, though versions and processor are the same: another number "
            "of threads or devices, or another compiled library, may do this."
        )
    what = f" It uses what cannot be compared: {'; '.join(suspects[:MOST_SHOWN])}." if suspects else ""
    versions = f" Versions differ as well: {'; '.join(other)}." if other else ""
    return (
        f"Code and data are the same as far as they can be followed, so that something else has changed that the model "
        f"depends on: a file, a program, a library.{what}{versions} Undo the change to go on with the run."
    )


def _differences(there: Any, here: Any, first: int, least_scale: float = 0.0) -> Iterator[Found]:
    """Where two trees of arrays with a leading axis over the chains differ in their bits.

    A log ratio is a difference of what states remember, so that its rounding is in terms of those (``least_scale``).
    """
    flat, _ = jax.tree_util.tree_flatten_with_path(there)
    for (path, old), new in zip(flat, map(_plain, jax.tree.leaves(here)), strict=True):
        old = _plain(old)
        if old.dtype == new.dtype and old.tobytes() == new.tobytes():
            continue
        name = ".".join(str(key_of(key)) for key in path)
        scale = max(_largest(old), least_scale)
        for chain, (was, now) in enumerate(zip(old, new, strict=True)):
            pairs = [(a, b) for a, b in zip(was.ravel(), now.ravel(), strict=True) if a.tobytes() != b.tobytes()]
            if pairs:
                a, b = max(pairs, key=lambda pair: _share(pair[0], pair[1], 1.0))
                yield Found(name or "info", first + chain, a, b, _share(a, b, scale))


def _plain(leaf: Array) -> np.ndarray:
    return np.asarray(jr.key_data(leaf) if is_key(leaf) else leaf)


def _largest(tree: Tree) -> float:
    """The largest finite number of a tree."""
    floats = [leaf for leaf in map(_plain, jax.tree.leaves(tree)) if leaf.dtype.kind == "f"]
    return max((float(np.max(np.abs(leaf[np.isfinite(leaf)]), initial=0.0)) for leaf in floats), default=0.0)


def _share(there: Any, here: Any, scale: float) -> float:
    """How far apart two numbers are, in terms of a scale; infinite for flags, counts and what is not finite."""
    if there.dtype.kind != "f" or not (np.isfinite(there) and np.isfinite(here)):
        return np.inf
    return float(abs(there - here) / max(scale, np.finfo(float).tiny))
