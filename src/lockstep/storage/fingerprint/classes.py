"""Classes of the user's: methods, attributes and bases, and what the methods change of an object."""

from __future__ import annotations

import enum
import functools
import types
from pathlib import Path
from typing import Any

from lockstep.storage.fingerprint import owner
from lockstep.storage.fingerprint.gathering import Gathering, Spot
from lockstep.storage.fingerprint.uses import uses_of, words

BUILDING = words("__init__ __post_init__ __new__ __setstate__ __init_subclass__ __set_name__ __setattr__")
METHODS = (types.FunctionType, staticmethod, classmethod, property)
MAKERS = ("<string>", "dataclasses.py", "reprlib.py")  # files of methods that `dataclass` makes, by Python's version
SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def class_itself(walk: Gathering, kind: type, spot: Spot) -> None:
    """A class: of a package's the name, of the user's what it is made of."""
    spot.say(kind.__qualname__)
    if not owner.is_users_class(kind):
        walk.meet_package(kind)
        return
    module = owner.shown_module(kind.__module__)
    if "<" in kind.__qualname__ or spot.path == f"{module}.{kind.__qualname__}":
        _members(walk, kind, spot)
    else:
        walk.later(module, kind.__qualname__, _members, kind)


def _members(walk: Gathering, kind: type, spot: Spot) -> None:
    bases = [base for base in kind.__bases__ if base is not object]
    spot.say(f"class {kind.__qualname__}({', '.join(base.__qualname__ for base in bases)})")
    spot = spot._replace(around=(*spot.around, kind))
    walk.inside([(f".base {base.__qualname__}", base) for base in bases], spot)
    is_enum = issubclass(kind, enum.Enum)
    for name, value in sorted(vars(kind).items()):
        if _is_written(name, value) and not (is_enum and name.startswith("_")):
            walk.visit(value.value if is_enum and isinstance(value, enum.Enum) else value, spot.at(f".{name}"))


def _is_written(name: str, value: object) -> bool:
    """Whether the user wrote an attribute of a class, rather than Python or `dataclass`."""
    is_made = isinstance(value, types.FunctionType) and Path(value.__code__.co_filename).name in MAKERS
    is_slot = isinstance(value, SLOTS) or type(value).__name__ == "_tuplegetter"
    is_registry = name == "_abc_impl"  # of what Python finds to be subclasses
    is_special = name.startswith("__") and name.endswith("__") and not isinstance(value, METHODS)
    return not (is_made or is_slot or is_registry or is_special)


def changed_attributes(kind: type) -> set[str]:
    """Attributes that the methods of a class change when they are called, other than those that make the object."""
    changed = set()
    for owner_class in filter(owner.is_users_class, kind.__mro__):
        for name, value in vars(owner_class).items():
            if isinstance(value, functools.cached_property):
                changed.add(name)
            function = _function_of(value)
            if isinstance(function, types.FunctionType) and name not in BUILDING:
                first = function.__code__.co_varnames[:1]
                changed |= {
                    place.attributes[0]
                    for place in uses_of(function.__code__).changes
                    if place.scope == "argument" and (place.name,) == first and place.attributes
                }
    return changed


def _function_of(value: object) -> Any:
    """The function that an attribute of a class calls with the object."""
    match value:
        case property():
            return value.fget
        case functools.cached_property() | functools.partialmethod() | functools.singledispatchmethod():
            return value.func
    return value
