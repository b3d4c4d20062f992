"""The parts inside of a kernel, or of any tree, by what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax

from lockstep.core.declared import Part
from lockstep.core.types import Tree

Base = TypeVar("Base", bound=Part)


def parts(tree: Tree, base: type[Base], is_wanted: Callable[[Base], bool]) -> list[Base]:
    """The parts with this base that are wanted; what is inside of one of them is not looked at."""
    is_one = _is_one(base, is_wanted)
    return [node for node in jax.tree.leaves(tree, is_leaf=is_one) if is_one(node)]


def with_parts(tree: Tree, base: type[Base], is_wanted: Callable[[Base], bool], change: Callable[[Base], Any]) -> Any:
    """The same tree with those parts changed."""
    is_one = _is_one(base, is_wanted)
    return jax.tree.map(lambda node: change(node) if is_one(node) else node, tree, is_leaf=is_one)


def _is_one(base: type[Base], is_wanted: Callable[[Base], bool]) -> Callable[[object], bool]:
    return lambda node: isinstance(node, base) and is_wanted(node)
