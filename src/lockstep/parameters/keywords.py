"""Users' functions that take parameters by name: called with one dict, they get its values as keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax

from lockstep.core.foreign import name_of
from lockstep.core.parts import part, static
from lockstep.core.types import Array, Tree
from lockstep.estimators.sides import HostSide
from lockstep.host.black_box import BlackBox, replaced, see_alike
from lockstep.host.boxes import is_box
from lockstep.host.callee import Callee
from lockstep.host.functions import Checked

ONE = "theta"  # what stands for all names in a signature


class Named:
    """A Python function that takes parameters by name, as one that takes a dict of them."""

    def __init__(self, function: Callable[..., Any], names: tuple[str, ...]) -> None:
        self.function, self.names = function, names
        parameters = list(inspect.signature(function).parameters.values())
        self.others = [p.name for p in parameters if p.name not in names]
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        self.required = {p.name for p in parameters if p.default is p.empty and p.kind not in variadic}
        first = next(index for index, p in enumerate(parameters) if p.name in names)
        kept = [p.replace(kind=p.POSITIONAL_OR_KEYWORD, default=p.empty) for p in parameters if p.name not in names]
        before = sum(p.name not in names for p in parameters[:first])
        one = inspect.Parameter(ONE, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.__signature__ = inspect.Signature([*kept[:before], one, *kept[before:]])
        self.__name__ = name_of(function)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        where = next(i for i, one in enumerate(arguments) if isinstance(one, dict) and one.keys() == set(self.names))
        rest = [argument for i, argument in enumerate(arguments) if i != where]
        left = [name for name in self.others if name not in keywords]
        if len(rest) < len(left) and (unknown := [name for name in left[len(rest) :] if name in self.required]):
            raise TypeError(
                f"{self.__name__} takes {', '.join(unknown)}, which is no parameter: those of ls.Parameters are "
                f"{', '.join(self.names)}. Give it a default, or bind it with functools.partial, or name it there"
            )
        return self.function(**arguments[where], **dict(zip(left, rest, strict=False)), **keywords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.names == other.names and self.function == other.function

    def __hash__(self) -> int:
        return hash((self.names, self.function))


@part
class Keywords:
    """The same for a function that is a part, or has data."""

    function: Any
    names: tuple[str, ...] = static()

    def __call__(self, *arguments: Array) -> Array:
        return Named(self.function, self.names)(*arguments)


def by_name(tree: Tree, names: tuple[str, ...]) -> Any:
    """A kernel or an estimator whose functions get a dict of values: those with the names as parameters get these."""

    def is_function(node: object) -> bool:
        return isinstance(node, Checked) or is_box(node)

    def convert(node: Any) -> Any:
        if is_box(node):
            return _box(node, names, "function")
        if not is_function(node):
            return node
        inner = node.function
        if is_box(inner):
            given: Any = _box(inner, names, node.name)
        elif takes(inner, names, node.name):
            given = Keywords(inner, names)
        else:  # a part of the package's own may hold functions of the user's
            given = inner if isinstance(inner, jax.tree_util.Partial) else by_name(inner, names)
        return type(node)(given, node.name)

    return jax.tree.map(convert, tree, is_leaf=is_function)


def _box(box: BlackBox, names: tuple[str, ...], name: str) -> BlackBox:
    function = box.callee.function
    side = function if isinstance(function, HostSide) else None
    inner = function if side is None else side.function
    if not takes(inner, names, name):
        return box
    named: Any = Named(inner, names)
    found = replaced(box, callee=Callee(named if side is None else side.calling(named)))
    see_alike(found, box)
    return found


def takes(function: Callable[..., Any], names: tuple[str, ...], name: str) -> bool:
    """Whether a function takes parameters by these names; refused if it takes some of them only."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    found = [one for one in names if one in parameters]
    if not found:
        return False
    missing = [one for one in names if one not in parameters]
    if missing and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        raise TypeError(
            f"{name} takes {', '.join(found)} by name, but not {', '.join(missing)}: its signature is "
            f"({', '.join(parameters)}). Let it take all of them, or **others besides, or one dict of them, theta"
        )
    return True
