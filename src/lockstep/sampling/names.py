"""The components of positions by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.coupling import Pair


class Component(NamedTuple):
    """One number of a position: its name and its values, arrays (chains, draws) for each leg of a coupled run."""

    name: str
    legs: tuple[np.ndarray, ...]


def components(run: Any) -> list[Component]:
    """The components of all positions, in the order of their names."""
    legs = run.positions if isinstance(run.positions, Pair) else (run.positions,)
    arrays = [named_arrays(leg) for leg in legs]
    found = []
    for name, first in arrays[0].items():
        for index in np.ndindex(first.shape[2:]):
            label = name + (f"[{', '.join(map(str, index))}]" if index else "")
            found.append(Component(label, tuple(leg[name][(slice(None), slice(None), *index)] for leg in arrays)))
    return found


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a tree by name; a position that is one array is called ``position``."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def _name(path: tuple[Any, ...]) -> str:
    names = [str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", key)))) for key in path]
    name = "_".join(names) or "position"
    return f"position_{name}" if name[0].isdigit() else name
