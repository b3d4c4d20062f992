"""A kernel as it runs interpreted: black boxes called directly, the rest on NumPy arrays or compiled by itself."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from lockstep import involutions, proposals, rules
from lockstep.boxes import boxes, is_box
from lockstep.direct import direct, is_direct
from lockstep.parts import is_key
from lockstep.randomness import RandomKey, as_keys

# Parts that compute with NumPy as well as with JAX; whatever else holds no black box is compiled.
ON_NUMPY = (
    *(proposals.Component, proposals.Finite, proposals.RandomWalk, proposals.UniformWalk),
    *(proposals.Independent, proposals.IndependentNormal, proposals.IndependentUniform),
    *(involutions.Identity, involutions.Reflection, involutions.Mobius),
    *(rules.PlugIn, rules.Penalty, rules.PenaltySeries, rules.Corrected),
)
METHODS = ("init", "sample", "log_weight")


class Compiled:
    """A part without black boxes in an interpreted kernel: compiled, from NumPy arrays to NumPy arrays."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def __call__(self, *arguments: Any) -> Any:
        if isinstance(arguments[0], jax.Array):
            return self.part(*arguments)  # noise is being drawn
        return on_host(_apply(self.part, arguments, "__call__"))

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *arguments: on_host(_apply(self.part, arguments, name))
        return getattr(self.part, name)


@functools.partial(jax.jit, static_argnames="method")
def _apply(part: Any, arguments: tuple[Any, ...], method: str) -> Any:
    return getattr(part, method)(*as_keys(arguments))


def hosted(kernel: Any) -> Any:
    """The kernel with NumPy arrays as leaves, and what cannot compute with them compiled by itself."""
    functions: dict[Any, Any] = {}  # one for all places of a kernel

    def convert(node: Any) -> Any:
        if is_direct(node):
            return direct(node, functions)
        return Compiled(node) if _is_compiled(node) else node if is_box(node) else on_host(node)

    return jax.tree.map(convert, kernel, is_leaf=lambda node: is_box(node) or is_direct(node) or _is_compiled(node))


def _is_compiled(node: Any) -> bool:
    is_callable_part = callable(node) and not jax.tree_util.all_leaves([node])
    return is_callable_part and not isinstance(node, ON_NUMPY) and not boxes(node)


def on_host(tree: Any) -> Any:
    """Read-only NumPy arrays, NumPy numbers for arrays without axes, and the words of keys."""

    def convert(leaf: Any) -> Any:
        if is_key(leaf):
            return RandomKey(np.asarray(jax.random.key_data(leaf)))
        array = np.asarray(leaf)
        if not array.ndim:
            return array[()]
        array.flags.writeable = False
        return array

    return jax.tree.map(convert, tree)
