"""A kernel as it runs interpreted: black boxes called directly, the rest on NumPy arrays or compiled by itself."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from lockstep import involutions, proposals, rules
from lockstep.boxes import boxes, is_box
from lockstep.direct import direct, is_direct
from lockstep.estimators.delta import Delta
from lockstep.parts import is_key
from lockstep.randomness import RandomKey, as_keys

# Parts that compute with NumPy as well as with JAX; whatever else holds no black box is compiled.
ON_NUMPY = (
    *(proposals.Component, proposals.Finite, proposals.RandomWalk, proposals.UniformWalk),
    *(proposals.Independent, proposals.IndependentNormal, proposals.IndependentUniform),
    *(involutions.Identity, involutions.Reflection, involutions.Mobius),
    *(rules.PlugIn, rules.Penalty, rules.PenaltySeries, rules.Corrected),
)
METHODS = ("init", "sample", "log_weight", "value")


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


class Attempted:
    """A `Delta` next to a black-box sample: compiled if its function is one of JAX, else that is a black box too."""

    def __init__(self, delta: Delta) -> None:
        self.delta = delta
        self.found: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return self._suited(arguments)(*arguments)

    def value(self, *arguments: Any) -> Any:
        return self._suited(arguments).value(*arguments)

    def _suited(self, arguments: tuple[Any, ...]) -> Any:
        if self.found is None:
            is_compiled = self.delta.is_traceable(*arguments)
            self.found = Compiled(self.delta) if is_compiled else hosted(self.delta.as_black())
        return self.found


@functools.partial(jax.jit, static_argnames="method")
def _apply(part: Any, arguments: tuple[Any, ...], method: str) -> Any:
    return getattr(part, method)(*as_keys(arguments))


def hosted(kernel: Any) -> Any:
    """The kernel with NumPy arrays as leaves, and what cannot compute with them compiled by itself."""
    functions: dict[Any, Any] = {}  # one for all places of a kernel

    def convert(node: Any) -> Any:
        if is_direct(node):
            return direct(node, functions)
        if _is_compiled(node):
            return Attempted(node) if isinstance(node, Delta) else Compiled(node)
        return node if is_box(node) else on_host(node)

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
