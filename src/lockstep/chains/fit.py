"""Parts that are fitted to the initial position before a run: modes that a kernel needs but does not know yet."""

from __future__ import annotations

from typing import Any

import jax

from lockstep.chains.starts import Starts, start_keys
from lockstep.core.types import Key, Position
from lockstep.coupling.common_noise import Pair
from lockstep.host.functions import Function


def fitted(kernel: Any, initial: Any, key: Key, progress: bool | None = None) -> tuple[Any, Any]:
    """The kernel with every part that has a method ``fit`` fitted, and where its chains are to begin.

    ``fit(position, progress)`` returns the fitted part and a position: the mode. Chains begin there if anything was
    fitted, else at ``initial``. A function of the kernel and of one initial position alone, so that it can be repeated.
    """
    position: Any = None
    known: dict[int, tuple[Any, Position]] = {}

    def has_fit(node: Any) -> bool:
        return callable(getattr(node, "fit", None))

    def fit(node: Any) -> Any:
        nonlocal position
        if not has_fit(node):
            return node
        if position is None:
            position = _one(initial, key)
        if id(node) not in known:
            known[id(node)] = node.fit(position, progress)
        return known[id(node)][0]

    found = jax.tree.map(fit, kernel, is_leaf=has_fit)
    if not known:
        return kernel, initial
    kernel = found
    starts = [start for _, start in known.values() if start is not position]
    if not starts:
        return kernel, initial
    return kernel, Pair(starts[0], starts[0]) if isinstance(initial, Pair) else starts[0]


def _one(initial: Any, key: Key) -> Position:
    """One position of what a user gave as a start: that of the first chain."""
    if isinstance(initial, Starts):
        return jax.tree.map(lambda leaf: leaf[0], initial.positions)
    if isinstance(initial, Pair):
        return initial.first
    return Function(initial, "initial")(start_keys(key, 1)[0]) if callable(initial) else initial
