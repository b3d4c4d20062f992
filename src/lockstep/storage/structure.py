"""Trees of arrays as JSON, so that a run can be opened without the program that made it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import jax

from lockstep.core.kernel import Info
from lockstep.core.trees import is_named, key_of
from lockstep.core.types import Key, Tree
from lockstep.coupling.common_noise import CoupledInfo, Pair, ShadowedInfo

LEAF = "array"
KNOWN = {kind.__name__: kind for kind in (Pair, Info, CoupledInfo, ShadowedInfo)}


def encode(tree: Tree) -> Any:
    """The structure of a tree. Nodes of a type that only their program knows become mappings by name."""
    if tree is None:
        return None
    if jax.tree_util.all_leaves([tree]):
        return LEAF
    children = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda inner: inner is not tree)[0]
    inner = [encode(child) for _, child in children]
    if is_named(tree):
        # `None` is no child for JAX, but a field all the same.
        return {"named": type(tree).__name__, "fields": [[name, encode(getattr(tree, name))] for name in tree._fields]}
    if type(tree) in (list, tuple):
        return {"list" if isinstance(tree, list) else "tuple": [encode(child) for child in tree]}
    return {"mapping": [[key_name(path[-1]), node] for (path, _), node in zip(children, inner, strict=True)]}


def decode(node: object, leaves: Iterator[Any]) -> Any:
    """The tree of a structure, with its leaves in order."""
    match node:
        case None:
            return None
        case "array":
            return next(leaves)
        case {"named": str(name), "fields": list(fields)}:
            values = {str(field): decode(inner, leaves) for field, inner in fields}
            known = KNOWN.get(name)
            # A field with a default may be newer than the file.
            if known is not None and {*known._fields} - {*known._field_defaults} <= set(values) <= {*known._fields}:
                return known(**values)
            unknown: Any = namedtuple(name, list(values))  # type: ignore[misc]
            return unknown(**values)
        case {"list": list(items)}:
            return [decode(item, leaves) for item in items]
        case {"tuple": list(items)}:
            return tuple(decode(item, leaves) for item in items)
        case {"mapping": list(items)}:
            return {key: decode(item, leaves) for key, item in items}
    raise ValueError(f"{node!r} is no structure of arrays")


def key_name(key: Key) -> Any:
    """The name, key or index by which a tree holds one of its children."""
    found = key_of(key)
    return found if isinstance(found, (str, int)) else str(key)
