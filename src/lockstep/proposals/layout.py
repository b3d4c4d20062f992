"""Which component of a position a hyperparameter belongs to: by name where positions have names, else by place."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import shapes
from lockstep.core.flat import require_size, size
from lockstep.core.trees import key_of
from lockstep.core.types import Array, Position, Shape, Tree

LEAVES = "leaves"


Check = Callable[[Any, str], Array]


def by_name(value: object, name: str, whole: Check, entry: Check) -> Any:
    """Hyperparameters checked as a whole; if they come in dicts, with their names kept and each entry checked."""
    return _entries(value, name, entry) if _has_names(value) and value else whole(value, name)


def _entries(value: object, name: str, entry: Check) -> Any:
    if isinstance(value, dict) and value:
        return {key: _entries(inner, f"{name}[{key!r}]", entry) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) and _has_names(value):
        return tuple(_entries(inner, f"{name}[{index}]", entry) for index, inner in enumerate(value))
    return entry(value, name)


def require_order(order: Any, name: str) -> None:
    """Refuse an order that there is not."""
    if order is not None and not (isinstance(order, str) and order == LEAVES):
        raise ValueError(
            f"order of {name} is {order!r}; leave it out, or give {LEAVES!r} if an array counts the components of a "
            f"dict in the order of jax.tree.leaves, by sorted keys"
        )


def laid_out(value: object, position: Position) -> Array:
    """Hyperparameters that fit (`require_layout`) for the flat vector of a position: a number, a vector or a matrix."""
    if not isinstance(value, (dict, tuple)):
        return value
    leaves = _pieces(value, position)
    array_module = jnp if any(isinstance(leaf, jax.Array) for leaf, _ in leaves) else np
    return array_module.concatenate([array_module.broadcast_to(leaf, shape).reshape(-1) for leaf, shape in leaves])


def require_layout(
    value: Any, position: Position, name: str, order: str | None, is_matrix_allowed: bool = False
) -> Array:
    """Hyperparameters for the flat vector of a position, refused if they do not fit it or could be taken for others."""
    if isinstance(value, (dict, tuple)):
        _require_names(value, position, name)
        return laid_out(value, position)
    if np.ndim(value) and order is None and _has_names(position):
        remedy = f"give a number for all components, or a dict by name: {_as_text(position)}"
        if np.ndim(value) == 2 and is_matrix_allowed:
            remedy += (
                f". ls.sample(..., adapt=True) learns a covariance; a Cholesky factor of your own is taken with "
                f"order={LEAVES!r}: rows and columns are then those of jax.tree.leaves(position), by sorted keys"
            )
        raise ValueError(
            f"{name} is an array of shape {np.shape(value)}, but the components of the position have names, not "
            f"places; {remedy}"
        )
    require_size(value, position, name, is_matrix_allowed)
    return value


def _has_names(tree: Tree) -> bool:
    """Whether there is a dict in a tree."""
    found = jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, dict))
    return any(isinstance(node, dict) for node in found)


def _children(position: Position) -> dict[Any, Position] | None:
    """What a position holds, by name or place, in the order of its leaves; None for an array."""
    if jax.tree_util.all_leaves([position]):
        return None
    inner = jax.tree_util.tree_flatten_with_path(position, is_leaf=lambda node: node is not position)[0]
    return {key_of(path[0]): node for path, node in inner}


def _given(value: Any, children: dict[Any, Position]) -> dict[Any, Any]:
    """What hyperparameters say of each child of a position: by name, those of a tuple by place."""
    if isinstance(value, dict):
        return value
    return dict(zip([*children, *range(len(children), len(value))], value, strict=False))


def _pieces(value: object, position: Position) -> list[tuple[Array, Shape]]:
    """The hyperparameters of each leaf of a position (or of a part with places only), and its shape."""
    children = _children(position)
    if isinstance(value, (dict, tuple)) and children is not None:
        given = _given(value, children)
        return [piece for key, child in children.items() for piece in _pieces(given[key], child)]
    if children is None:
        return [(value, np.shape(position))]
    return [(value, (size(position),))]


def _require_names(value: Any, position: Position, name: str) -> None:
    """Refuse names that the position has not, names that are missing, and arrays that do not fit what they are for."""
    children = _children(position)
    if isinstance(value, (dict, tuple)):
        if children is None:
            raise ValueError(
                f"{name} is a {type(value).__name__}, but the position is {shapes(position)}; give numbers"
            )
        given = _given(value, children)
        unknown, missing = [key for key in given if key not in children], [key for key in children if key not in given]
        if unknown or missing:
            raise ValueError(f"{name} {_difference(unknown, missing)}; write {_as_text(position)}")
        for key, child in children.items():
            _require_names(given[key], child, f"{name}[{key!r}]")
        return
    if children is not None:
        require_layout(value, position, name, None)
    elif np.ndim(value) and np.shape(value) != np.shape(position):
        raise ValueError(
            f"{name} has shape {np.shape(value)}, but there the position has shape {np.shape(position)}; give a number "
            f"or an array of that shape"
        )


def _difference(unknown: list[Any], missing: list[Any]) -> str:
    said = []
    for key in unknown:
        near = difflib.get_close_matches(str(key), [str(other) for other in missing], 1, 0.5)
        said.append(f"names {key!r}, which the position has not" + (f" (did you mean {near[0]!r}?)" if near else ""))
    if missing:
        said.append(f"says nothing of {', '.join(map(repr, missing))}")
    return ", and ".join(said)


def _as_text(position: Position) -> str:
    """A dict as a user would write it for a position."""
    children = _children(position)
    if children is None or not _has_names(position):
        return "..."
    if isinstance(position, dict):
        return "{" + ", ".join(f"{key!r}: {_as_text(child)}" for key, child in children.items()) + "}"
    return "(" + ", ".join(map(_as_text, children.values())) + ")"
