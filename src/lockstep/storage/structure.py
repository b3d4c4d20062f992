"""Trees of arrays as JSON, so that a run can be opened without the program that made it."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from typing import Any

import jax

from lockstep.core.kernel import Info
from lockstep.core.trees import is_named, key_of
from lockstep.core.types import Key, Tree
from lockstep.coupling.infos import CoupledInfo, LaggedInfo, ShadowedInfo
from lockstep.coupling.pair import Pair

LEAF = "array"
KNOWN = {kind.__name__: kind for kind in (Pair, Info, CoupledInfo, ShadowedInfo, LaggedInfo)}


def encode(tree: Tree) -> Any:
    """The structure of a tree. Nodes of a type that only their program knows become named tuples or mappings."""
    if tree is None:
        return None
    if jax.tree_util.all_leaves([tree]):
        return LEAF
    children = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda inner: inner is not tree)[0]
    inner = [encode(child) for _, child in children]
    if is_named(tree):
        # `None` is no child for JAX, but a field all the same.
        name = type(tree).__name__
        fields = [[field, encode(getattr(tree, field))] for field in tree._fields]
        return {"named": name, "fields": fields, "type": "lockstep" if type(tree) is KNOWN.get(name) else "own"}
    if type(tree) in (list, tuple):
        return {"list" if isinstance(tree, list) else "tuple": [encode(child) for child in tree]}
    fields = [[key_name(path[-1]), node] for (path, _), node in zip(children, inner, strict=True)]
    if fields and all(isinstance(path[-1], jax.tree_util.GetAttrKey) for path, _ in children):
        return {"named": type(tree).__name__, "fields": fields, "type": "own"}
    found = {"mapping": fields}
    is_dict = type(tree) is dict and all(type(key) in (str, int) for key in tree)
    return found | {"type": "dict"} if is_dict else found


def decode(node: object, leaves: Iterator[Any]) -> Any:
    """The tree of a structure, with its leaves in order."""
    match node:
        case None:
            return None
        case "array":
            return next(leaves)
        case {"named": str(name), "fields": list(fields), **rest}:
            values = {str(field): decode(inner, leaves) for field, inner in fields}
            known = KNOWN.get(name) if rest.get("type") != "own" else None  # (older files do not say)
            # A field with a default may be newer than the file.
            if known is not None and {*known._fields} - {*known._field_defaults} <= set(values) <= {*known._fields}:
                return known(**values)
            unknown: Any = namedtuple(name, list(values))  # type: ignore[misc]
            return unknown(**values)
        case {"list": list(items)}:
            return [decode(item, leaves) for item in items]
        case {"tuple": list(items)}:
            return tuple(decode(item, leaves) for item in items)
        case {"mapping": list(items), **rest}:
            found = OrderedDict((key, decode(item, leaves)) for key, item in items)
            # JAX sorts the leaves of a dict by their keys; those of other types keep the order that they have here.
            return dict(found) if rest.get("type") == "dict" else found
    raise ValueError(f"{node!r} is no structure of arrays")


def is_whole(node: Any) -> bool:
    """Whether a structure tells all, so that the tree can be made without the program that wrote it."""
    match node:
        case {"named": _, "fields": fields}:
            return node.get("type") == "lockstep" and all(is_whole(inner) for _, inner in fields)
        case {"list": items} | {"tuple": items}:
            return all(map(is_whole, items))
        case {"mapping": items}:
            return node.get("type") == "dict" and all(is_whole(inner) for _, inner in items)
    return True


def key_name(key: Key) -> Any:
    """The name, key or index by which a tree holds one of its children."""
    found = key_of(key)
    return found if isinstance(found, (str, int)) else str(key)
