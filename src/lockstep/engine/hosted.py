"""A kernel as it runs interpreted: black boxes called straight, the rest on NumPy arrays or compiled by itself."""

from __future__ import annotations

from typing import Any

import jax

from lockstep.core.declared import Part
from lockstep.core.foreign import attribute
from lockstep.core.types import Tree
from lockstep.host.boxes import boxes, is_box
from lockstep.host.compiled import Compiled, to_host

__all__ = ["hosted", "to_host"]


def hosted(kernel: Tree) -> Any:
    """The kernel with NumPy arrays as leaves, and what cannot compute with them compiled by itself."""
    functions: dict[Any, Any] = {}  # one for all places of a kernel

    def convert(node: Any) -> Any:
        if _says_what_stands_for_it(node):
            return node.hosted(functions)
        if _is_compiled(node):
            return Compiled(node)
        return node if is_box(node) else to_host(node)

    def is_whole(node: object) -> bool:
        return is_box(node) or _says_what_stands_for_it(node) or _is_compiled(node)

    return jax.tree.map(convert, kernel, is_leaf=is_whole)


def _says_what_stands_for_it(node: object) -> bool:
    return isinstance(node, Part) and node.hosted is not None


def _is_compiled(node: object) -> bool:
    is_callable_part = callable(node) and not jax.tree_util.all_leaves([node])
    return is_callable_part and not attribute(node, "computes_on_numpy", False) and not boxes(node)
