"""A kernel as it runs interpreted: black boxes called straight, the rest on NumPy arrays or compiled by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.declared import Part
from lockstep.core.trees import is_key
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.estimators.delta import Delta
from lockstep.estimators.samples import Samples, is_boxed, rows_of
from lockstep.host.boxes import boxes, is_box
from lockstep.host.call import ARRAY, calling, sampling
from lockstep.host.functions import Function, Scalar, as_arrays, as_scalar, explain
from lockstep.host.generator import RandomKey, as_keys
from lockstep.host.limit import NO_LIMIT, stopping_below

METHODS = ("init", "sample", "log_weight", "value", "coupled")


def hosted(kernel: Any) -> Any:
    """The kernel with NumPy arrays as leaves, and what cannot compute with them compiled by itself."""
    functions: dict[Any, Any] = {}  # one for all places of a kernel

    def convert(node: object) -> Any:
        if _is_straight(node):
            return _straight(node, functions)
        if _is_compiled(node):
            return Attempted(node) if isinstance(node, Delta) else Compiled(node)
        return node if is_box(node) else to_host(node)

    return jax.tree.map(convert, kernel, is_leaf=lambda node: is_box(node) or _is_straight(node) or _is_compiled(node))


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


class Compiled:
    """A part without black boxes in an interpreted kernel: compiled, from NumPy arrays to NumPy arrays."""

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
    with stopping_below(NO_LIMIT):  # which is another one at each call
        return getattr(part, method)(*as_keys(arguments))


def _is_compiled(node: object) -> bool:
    is_callable_part = callable(node) and not jax.tree_util.all_leaves([node])
    return is_callable_part and not (isinstance(node, Part) and node.computes_on_numpy) and not boxes(node)


def _is_straight(node: object) -> bool:
    """Whether a part of a kernel is a black box with what wraps it, and can be called straight."""
    if isinstance(node, (Function, Scalar)):
        return is_boxed(node) and not node.function.is_callback
    return isinstance(node, Samples) and _is_straight(node.sample)


def _straight(node: Any, functions: dict[Any, Any]) -> Any:
    """What stands for such a part, in the scope in which it is made; equal ``functions`` are made once."""
    if isinstance(node, Samples):
        return HostSamples(node)
    return functions.setdefault((node.function.callee, node.name, type(node)), _function(node))


def _function(part: Function | Scalar) -> Callable[..., Any]:
    """A user's function, with its errors explained and its result checked."""
    box, name = part.function, part.name

    def explained(error: Exception, arguments: tuple[Any, ...]) -> None:
        explain(error, box, name, arguments)

    def array(result: Any) -> Any:
        # A copy: the function may fill the same array again, and is not to find it read-only.
        checked = as_arrays(result, name)
        return checked.copy() if type(checked) is ARRAY else jax.tree.map(np.array, checked)

    def scalar(result: Any) -> Any:
        return as_scalar(result, name)

    return calling(box.callee, scalar if isinstance(part, Scalar) else array, explained)


class HostSamples:
    """`Samples` from a black box: one generator for all samples of an update, or the noise of a ``draw``."""

    def __init__(self, part: Samples) -> None:
        self.part, self.count = part, part.count
        box, name = part.sample.function, part.sample.name

        def explained(error: Exception, arguments: tuple[Any, ...]) -> None:
            explain(error, box, name, arguments)

        self.samples = sampling(box.callee, self.count, box.is_vectorized, explained)

    def noise(self, key: Key, shape: Shape = ()) -> Any:
        return self.part.noise(key, shape)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Any:
        return rows_of(self.samples(noise, position, candidate), self.part.sample, self.count)
