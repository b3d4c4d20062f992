"""The black boxes in a kernel: whether there are any, and how they are called."""

from __future__ import annotations

from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.types import Tree
from lockstep.host.black_box import BlackBox, replaced
from lockstep.host.callee import Callee


def is_box(node: object) -> TypeGuard[BlackBox]:
    """Whether a node is a black box."""
    return isinstance(node, BlackBox)


def boxes(tree: Tree) -> list[BlackBox]:
    """The black boxes in a kernel or a part of one."""
    return [node for node in jax.tree.leaves(tree, is_leaf=is_box) if is_box(node)]


def is_interpreted(tree: Tree) -> bool:
    """Whether a kernel has a black box that compiled code cannot call."""
    return any(not box.is_callback for box in boxes(tree))


def called_back(tree: Tree) -> Any:
    """The same with black boxes that compiled code calls back, one point after the other: for checks, not for speed."""
    return map_boxes(lambda box: replaced(box, is_callback=True), tree)


def forgotten(tree: Tree) -> Any:
    """The same without the users' functions in its black boxes: what draws noise is then compiled only once."""
    return map_boxes(lambda box: replaced(box, callee=_NOTHING), tree)


def returning(function: Any, like: Any) -> Any:
    """A black box that returns what looks like ``like``; other functions as they are."""
    if not is_box(function):
        return function
    leaves, structure = jax.tree.flatten(like)
    wanted = tuple(jax.ShapeDtypeStruct(np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
    return replaced(function, like=(wanted, structure))


def vectorized(function: Any) -> Any:
    """A black box one call of which makes all samples; other functions as they are."""
    return replaced(function, is_vectorized=True) if is_box(function) else function


def _nothing(*arguments: Any) -> Any:
    raise TypeError("a black box cannot draw noise, which is always compiled")


_NOTHING = Callee(_nothing)


def map_boxes(change: Any, tree: Tree) -> Any:
    """The same with its black boxes changed."""
    return jax.tree.map(lambda node: change(node) if is_box(node) else node, tree, is_leaf=is_box)
