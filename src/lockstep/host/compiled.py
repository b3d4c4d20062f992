"""Parts without black boxes in an interpreted kernel: compiled by themselves."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from lockstep.core.trees import is_key
from lockstep.core.types import Array, Tree
from lockstep.host.generator import RandomKey, as_keys
from lockstep.host.limit import NO_LIMIT, stopping_below

METHODS = ("init", "sample", "log_weight", "value", "coupled")


class Compiled:
    """A part that is compiled, from NumPy arrays to NumPy arrays."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def __call__(self, *arguments: Any) -> Any:
        if isinstance(arguments[0], jax.Array):
            return self.part(*arguments)  # noise is being drawn
        return to_host(_apply(self.part, arguments, "__call__"))

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *arguments: to_host(_apply(self.part, arguments, name))
        return getattr(self.part, name)


@functools.partial(jax.jit, static_argnames="method")
def _apply(part: Any, arguments: tuple[Any, ...], method: str) -> Any:
    with stopping_below(NO_LIMIT):  # which is another one at each call
        return getattr(part, method)(*as_keys(arguments))


def to_host(tree: Tree) -> Any:
    """Read-only NumPy arrays, NumPy numbers for arrays without axes, and the words of keys."""

    def convert(leaf: Array) -> Any:
        if is_key(leaf):
            return RandomKey(np.asarray(jax.random.key_data(leaf)))
        array = np.asarray(leaf)
        if not array.ndim:
            return array[()]
        array.flags.writeable = False
        return array

    return jax.tree.map(convert, tree)
