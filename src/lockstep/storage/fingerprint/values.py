"""Values that hold others: containers, objects, and functions with data."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.core.foreign import attribute
from lockstep.core.trees import is_named
from lockstep.core.types import Key
from lockstep.host.black_box import BlackBox
from lockstep.storage.fingerprint import held, owner
from lockstep.storage.fingerprint.changes import Found
from lockstep.storage.fingerprint.classes import changed_attributes, class_itself
from lockstep.storage.fingerprint.code import digest
from lockstep.storage.fingerprint.functions import function, whole_module
from lockstep.storage.fingerprint.gathering import Gathering, Spot
from lockstep.storage.fingerprint.text import SIMPLE
from lockstep.storage.fingerprint.uses import words

MOST_ITEMS = 64  # of a container, after which it is digested as a whole
BUILT_IN = (types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType, np.ufunc)
CHANGING = (weakref.ref, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
# Packages and modules whose objects save their data, and nothing that changes by itself.
TOLD_IN_FULL = words("builtins collections datetime decimal fractions jax numpy pandas pathlib types uuid xarray")


def node(walk: Gathering, value: object, spot: Spot) -> None:
    """Describe a value that holds others."""
    match value:
        case np.ma.MaskedArray():
            spot.say("masked array")
            parts = ((".data", value.data), (".mask", np.ma.getmaskarray(value)), (".fill_value", value.fill_value))
            walk.inside(parts, spot)
        case np.ndarray():  # of objects
            spot.say(f"objects{list(value.shape)}")
            _items(walk, list(value.ravel()), spot)
        case BlackBox():
            spot.say(f"black box {value.is_vectorized} {value.is_batched}")
            walk.visit(value.callee.function, spot.at(".function"))
        case functools.partial():
            _partial(walk, value, spot)
        case types.MethodType():
            spot.say("method")
            walk.inside(((".func", value.__func__), (".self", value.__self__)), spot)
        case types.FunctionType():
            function(walk, value, spot)
        case types.ModuleType():
            spot.say(owner.shown_module(value.__name__))
            whole_module(walk, value)
        case type():
            class_itself(walk, value, spot)
        case _ if isinstance(value, BUILT_IN) or type(value).__module__.startswith("_cython"):
            _built_in(walk, value, spot)
        case staticmethod() | classmethod():
            spot.say(type(value).__name__)
            walk.visit(value.__func__, spot.at(".func"))
        case property():
            spot.say("property")
            accessors = ((".get", value.fget), (".set", value.fset), (".delete", value.fdel))
            walk.inside([(name, accessor) for name, accessor in accessors if accessor], spot)
        case _ if not owner.is_users_class(type(value)) and callable(attribute(value, "__wrapped__")):
            _wrapper(walk, value, spot)
        case enum.Enum():
            spot.say(f"{type(value).__qualname__}.{value.name}")
            walk.inside(((".value", value.value), (".class", type(value))), spot)
        case dict() | types.MappingProxyType() if not owner.is_users_class(type(value)):
            spot.say(type(value).__name__)
            pairs = [(_key(walk, key), inner) for key, inner in list(value.items())]
            is_ordered = isinstance(value, collections.OrderedDict)
            _items(walk, dict(pairs if is_ordered else sorted(pairs, key=lambda pair: pair[0])), spot)
        case list() | tuple() | collections.deque():
            _sequence(walk, value, spot)
        case set() | frozenset():
            entries = sorted(_key(walk, entry) for entry in value)
            spot.say(f"{type(value).__name__} {digest(repr(entries).encode())}")
        case _:
            _object(walk, value, spot)


def _partial(walk: Gathering, value: functools.partial[Any], spot: Spot) -> None:
    if not (value.args or value.keywords):
        walk.visit(value.func, spot)
        return
    data = [*enumerate(value.args), *value.keywords.items()]
    spot.say("function with data")
    walk.inside([(".func", value.func), *((f"({key})", argument) for key, argument in data)], spot)


def _built_in(walk: Gathering, value: object, spot: Spot) -> None:
    """A function that is not written in Python, perhaps one of an object."""
    spot.say(_name(value))
    holder = attribute(value, "__self__")
    if holder is None or isinstance(holder, types.ModuleType):
        walk.meet_package(value)
    else:
        walk.visit(holder, spot.at(".self"))


def _wrapper(walk: Gathering, value: Any, spot: Spot) -> None:
    """Compiled, cached, or given a derivative: the function, and others that were given with it."""
    spot.say(f"{_name(type(value))} of a function")
    walk.meet_package(type(value))
    walk.inside([(f".{name}", inner) for name, inner in held.public(value).items() if owner.is_followed(inner)], spot)
    walk.visit(value.__wrapped__, spot.at(".wrapped"))


def _name(value: object) -> str:
    return str(attribute(value, "__qualname__") or attribute(value, "__name__") or type(value).__name__)


def _sequence(walk: Gathering, value: Sequence[Any], spot: Spot) -> None:
    kind = type(value)
    spot.say(kind.__name__)
    if owner.is_users_class(kind):
        walk.visit(kind, spot.at(".class"))
        walk.inside([(f".{name}", kept) for name, kept in sorted(held.own(value).items())], spot)
    if is_named(value) and len(value._fields) == len(value):  # type: ignore[attr-defined]
        walk.inside([(f".{name}", item) for name, item in zip(value._fields, value, strict=True)], spot)  # type: ignore[attr-defined]
    else:
        _items(walk, value, spot)


def _items(walk: Gathering, value: Sequence[Any] | Mapping[str, Any], spot: Spot) -> None:
    """The entries of a container: each by itself, or all together if there are many."""
    if len(value) <= MOST_ITEMS:
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        walk.inside([(f"[{key}]", item) for key, item in pairs], spot)
    else:
        spot.say(f"{spot.found[spot.path]} of {len(value):,}, {_digest(walk, value, spot)}")


def _digest(walk: Gathering, value: Sequence[Any] | Mapping[str, Any], spot: Spot) -> str:
    items = list(value.values()) if isinstance(value, Mapping) else list(value)
    keys = repr(list(value)) if isinstance(value, Mapping) else ""
    kinds = set(map(type, items))
    if kinds == {float}:
        return digest(keys.encode() + np.array(items).tobytes())
    if kinds <= {int, float, bool, str, bytes, type(None)}:
        return digest((keys + repr(items)).encode())
    inner: Found = {}
    walk.inside([(f"[{i}]", item) for i, item in enumerate(items)], spot._replace(found=inner))
    return digest((keys + repr(list(inner.values()))).encode())


def _key(walk: Gathering, key: Key) -> str:
    """A key of a mapping, or an entry of a set, as text that another process gives it too."""
    if isinstance(key, SIMPLE) or (isinstance(key, tuple) and all(isinstance(one, SIMPLE) for one in key)):
        return repr(key)
    inner: Found = {}
    walk.visit(key, Spot("key", inner))
    return next(iter(inner.values())) if len(inner) == 1 else digest(repr(inner).encode())


def _object(walk: Gathering, value: object, spot: Spot) -> None:
    """An object of any other kind: what it holds."""
    kind = type(value)
    top = kind.__module__.partition(".")[0]
    if top == "lockstep":
        # A part of ours: what it was made of, not what it keeps for itself or has met with.
        made_of = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else None
        parts = held.public(value) if made_of is None else {name: getattr(value, name) for name in made_of}
        spot.say(kind.__name__)
        walk.inside([(f".{name}", part) for name, part in parts.items()], spot)
    elif owner.is_users_class(kind):
        spot.say(kind.__qualname__)
        walk.visit(kind, spot.at(".class"))
        parts = held.everything(value)
        walk.changes.places |= {f"{spot.path}.{name}" for name in changed_attributes(kind)}
        for name in parts:
            walk.changes.meet_attribute(name, f"{spot.path}.{name}")
        walk.inside([(f".{name}", part) for name, part in parts.items()], spot)
        if isinstance(value, Mapping):
            _items(walk, {_key(walk, key): inner for key, inner in list(value.items())}, spot)
        elif not parts:
            _saved(walk, value, spot)
    else:
        walk.meet_package(value)
        spot.say(kind.__name__)
        _saved(walk, value, spot if top in TOLD_IN_FULL else spot._replace(found=walk.internals))


def _saved(walk: Gathering, value: object, spot: Spot) -> None:
    """An object of a package's: what the package itself would save of it."""
    try:
        reduced = None if isinstance(value, CHANGING) else value.__reduce_ex__(4)
    except Exception:
        reduced = None
    match reduced:
        case None:
            walk.say_opaque(f"a {type(value).__name__}", spot)
        case str():
            spot.say(f"{type(value).__name__} {reduced}")
        case _:
            walk.inside([(suffix, part) for suffix, part in held.saved(reduced) if part is not None], spot)
