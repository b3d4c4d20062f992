"""The components of positions by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.sampled import Sampled
from lockstep.core.shown import Shown
from lockstep.core.trees import key_of
from lockstep.core.types import Position, Tree
from lockstep.coupling.pair import legs

ONE = "position"  # what a position is called that is one array


class Component(NamedTuple):
    """One number of a position: its name and its values, arrays (chains, draws) for each leg of a coupled run."""

    name: str
    legs: tuple[np.ndarray, ...]


def components(run: Sampled) -> list[Component]:
    """The components of all positions, in the order of their names."""
    together = zip(*(entries(leg, run.shown) for leg in legs(run.positions)), strict=True)
    return [Component(both[0][0], tuple(values for _, values in both)) for both in together]


def entries(positions: Position, shown: Shown | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Every number of a position by name, with its values (chains, draws)."""
    for name, array in shown_arrays(shown, positions).items():
        labels = labels_of(shown, name, array.shape[2:])
        for index in np.ndindex(array.shape[2:]):
            label = name + (f"[{', '.join(str(labels[axis][i]) for axis, i in enumerate(index))}]" if index else "")
            yield label, array[(slice(None), slice(None), *index)]


def labels_of(shown: Shown | None, name: str, shape: tuple[int, ...]) -> list[Sequence[Any]]:
    """The labels along each axis of what is shown: those that the user gave, or whole numbers."""
    axes = () if shown is None else shown.dims.get(name, ())
    return [shown.coords[axes[i]] if shown is not None and i < len(axes) else range(n) for i, n in enumerate(shape)]


def shown_arrays(shown: Shown | None, values: object) -> dict[str, np.ndarray]:
    """What is shown of positions, by name."""
    found = None if shown is None else shown.named(values)
    return named_arrays(values) if found is None else found


def named_arrays(tree: Tree) -> dict[str, np.ndarray]:
    """The leaves of a tree by name; a position that is one array is called ``position``."""
    found: dict[str, np.ndarray] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        name = _name(path)
        if name in found:
            raise ValueError(f"two components of the position are called {name!r}; rename one of them")
        found[name] = np.asarray(leaf)
    return found


def require_names(position: Position) -> None:
    """Refuse, before a run starts, names under which a component would be lost, or could not be stored or shown."""
    names: dict[str, Any] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(position)[0]:
        name, where = _name(path), f"initial{jax.tree_util.keystr(path)}"
        if name in names:
            raise ValueError(
                f"{where} and initial{names[name][0]} are both called {name!r} in summaries and files; rename one of "
                f"them"
            )
        if problem := _problem(name, path):
            raise ValueError(f"{where}: a component cannot be called {name!r}, {problem}; rename it")
        names[name] = jax.tree_util.keystr(path), np.ndim(leaf)
    for name, (where, dimensions) in names.items():
        taken = [other for other in names if dimensions and other.startswith((f"{name}[", f"{name}_dim_"))]
        if taken:
            raise ValueError(
                f"initial: {taken[0]!r} is what an entry or an axis of initial{where} is called in summaries and "
                f"files; rename it"
            )


def _problem(name: str, path: tuple[Any, ...]) -> str | None:
    """What is wrong with a name."""
    if name in ("chain", "draw"):
        return "which is what ArviZ calls an axis of every array"
    if any(mark in name for mark in "/\\") or name.startswith("."):
        return "which would be a path in a file"
    if any(not str(key_of(key)).isprintable() or not str(key_of(key)) for key in path):
        return "whose letters cannot all be shown"
    return None


def _name(path: tuple[Any, ...]) -> str:
    name = "_".join(str(key_of(key)) for key in path) or ONE
    # No escape sequences of a terminal, whatever a file says.
    name = "".join(letter if letter.isprintable() else f"<{ord(letter):#x}>" for letter in name)
    return f"position_{name}" if name[0].isdigit() else name
