"""Named axes of parameters, and the labels along them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lockstep.core.arguments import whole
from lockstep.core.types import Shape

Axes = tuple[tuple[str, tuple[str, ...]], ...]
Labels = tuple[tuple[str, tuple[Any, ...]], ...]


def coordinates_of(coords: Any) -> Labels:
    """The labels along axes, by the name of the axis; a number stands for as many whole numbers."""
    if not isinstance(coords, (Mapping, type(None))):
        raise TypeError(f"coords is {coords!r}; it must be a dict of labels by the name of an axis")
    found = []
    for name, given in (coords or {}).items():
        labels = range(whole(given, f"coords of {name}", 1)) if isinstance(given, (int, np.integer)) else given
        array = np.asarray(labels)
        if array.ndim != 1 or not array.size or array.dtype.kind not in "fiubUS":
            raise ValueError(f"coords of {name} is {given!r}; it must be a list of labels, or their number")
        if len(set(array.tolist())) != array.size:
            raise ValueError(f"coords of {name} has a label twice; each must be another")
        found.append((str(name), tuple(array.tolist())))
    return tuple(found)


def axes_of(dims: Any, names: tuple[str, ...], labels: Labels) -> Axes:
    """The names of axes, by the name of the parameter."""
    if not isinstance(dims, (Mapping, type(None))):
        raise TypeError(f"dims is {dims!r}; it must be a dict of lists of names of axes, by the name of a parameter")
    known, found = dict(labels), []
    for name, given in (dims or {}).items():
        if name not in names:
            raise ValueError(f"dims has {name!r}, which is no parameter; there are {', '.join(names)}")
        own = (given,) if isinstance(given, str) else tuple(given)
        for axis in own:
            if axis not in known:
                raise ValueError(
                    f"dims of {name} has {axis!r}; give its labels or their number, coords={{{axis!r}: …}}"
                )
            if axis in (*names, "chain", "draw") or own.count(axis) > 1:
                raise ValueError(f"dims of {name}: an axis cannot be called {axis!r}, which is another's name")
        found.append((name, own))
    return tuple(found)


def shape_of(name: str, axes: Axes, labels: Labels) -> Shape | None:
    """The shape of a parameter with named axes; None if it has none."""
    own, known = dict(axes).get(name), dict(labels)
    return None if own is None else tuple(len(known[axis]) for axis in own)
