"""Names for the numbers of a position that is one vector, and what files keep of how positions are shown."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.kernel import Kernel
from lockstep.core.parts import part, static
from lockstep.core.shown import Shown
from lockstep.core.types import Position
from lockstep.parameters.parameters import Parameters
from lockstep.parameters.supports import restored as restored_support


@part
class Names(Shown):
    """Names for the components of a vector: positions stay as they are, tables and files have the names."""

    names: tuple[str, ...] = static()

    def values(self, position: Position) -> Position:
        return position

    def named(self, values: Position) -> dict[str, np.ndarray] | None:
        if not jax.tree_util.all_leaves([values]):  # a structure has names of its own
            return None
        array = np.asarray(values)
        if array.ndim < 3:  # one number
            return {self.names[0]: array}
        return {name: array[..., index] for index, name in enumerate(self.names)}

    def all_values(self, positions: Position) -> Position:
        return positions

    def stored(self) -> dict[str, Any]:
        return {"kind": "names", "names": list(self.names)}


def named(names: Any, kernel: Kernel) -> Names | None:
    """The names that a user gave the numbers of a position; None if there are none."""
    if names is None:
        return None
    if kernel.shown is not None:
        raise ValueError(f"names is {names!r}, but the kernel names its own parameters; leave names out")
    return names_of(names, "names")


def names_of(names: Any, argument: str) -> Names:
    """Names, refused if they are none or the same."""
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) and name for name in names):
        raise TypeError(f"{argument} is {names!r}; it must be a list of names, one for each number of a position")
    if len(set(names)) != len(names) or {"chain", "draw"} & set(names):
        raise ValueError(f"{argument} is {names!r}; each must be another, and none `chain` or `draw`")
    if any(not name.isprintable() or "/" in name or "\\" in name or name.startswith(".") for name in names):
        raise ValueError(f"{argument} is {names!r}; a name cannot be a path, or have letters that cannot be shown")
    return Names(tuple(names))


def require_fit(shown: Names, position: Position) -> None:
    """Refuse names for a position that they do not fit."""
    shape = np.shape(position) if not isinstance(position, (dict, tuple, list)) else None
    if shape not in (((len(shown.names),),) if len(shown.names) > 1 else ((), (1,))):
        raise ValueError(
            f"names has {len(shown.names)} names, {', '.join(shown.names)}, which do not fit the position: they are "
            f"for a vector of as many numbers"
        )


def restored(found: Any) -> Shown | None:
    """How positions are shown, from what files keep of it; a ValueError if that makes no sense."""
    if found is None:
        return None
    try:
        if found["kind"] == "names":
            return names_of(found["names"], "names")
        supports = {str(name): restored_support(one) for name, one in found["supports"].items()}
        return Parameters(dims=found["dims"], coords=found["coords"], **supports)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"it is not said how positions are shown ({error!r})") from None
