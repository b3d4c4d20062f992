"""Functions: their code, and what that uses of defaults, closures, globals and modules."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any

from lockstep.storage.fingerprint import owner
from lockstep.storage.fingerprint.code import code_text
from lockstep.storage.fingerprint.gathering import Gathering, Spot
from lockstep.storage.fingerprint.uses import Place, Uses, all_names, uses_of


def function(walk: Gathering, value: types.FunctionType, spot: Spot) -> None:
    """A function of the user's is followed; of a package's only what data it holds."""
    name = value.__qualname__
    if not owner.is_users_function(value):
        walk.meet_package(value)
        spot.say(name)
        walk.inside(_closure(walk, value, spot, set()), spot)
        return
    module = owner.shown_module(owner.module_name(value))
    is_plain = value.__closure__ is None and "<" not in name
    if is_plain and walk.is_first(f"{module}.{name}()", value.__code__):
        spot.say(name)
        walk.later(module, f"{name}()", _follow, value)
    else:
        _follow(walk, value, spot)


def _follow(walk: Gathering, value: types.FunctionType, spot: Spot) -> None:
    """A function: its code, and what the code uses of its defaults, its closure and its module."""
    spot = spot if spot.around else spot._replace(around=(value,))
    uses = uses_of(value.__code__)
    spot.say(f"{value.__qualname__} with code {code_text(value)}")
    if uses.reads:
        walk.opaque[spot.path] = f"what it reads with {', '.join(sorted(uses.reads))}"
    walk.inside(_defaults(walk, value, spot, uses.changes), spot)
    walk.inside(_closure(walk, value, spot, uses.changes), spot)
    walk.inside([(f".{name}", kept) for name, kept in sorted(vars(value).items()) if name != "__wrapped__"], spot)
    module = owner.shown_module(owner.module_name(value))
    for place in uses.changes:
        if place.scope == "global":
            walk.changes.places |= {f"{module}.{place.name}{call}{place.suffix}" for call in ("", "()")}
        elif place.scope == "argument" and place.attributes and not _is_method(value):
            walk.changes.attributes_of_arguments.add(place.attributes[0])
    for name, chains in uses.globals.items():
        if name in value.__globals__:
            _global(walk, value.__globals__[name], module, name, chains)
    _imports(walk, value, uses)


def _is_method(value: types.FunctionType) -> bool:
    return "." in value.__qualname__.rpartition("<locals>.")[2]


def _defaults(walk: Gathering, value: types.FunctionType, spot: Spot, changes: set[Place]) -> Iterator[tuple[str, Any]]:
    """The defaults of a function, by the names of its arguments."""
    code, defaults = value.__code__, value.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    held = dict(zip(names, defaults, strict=True)) | (value.__kwdefaults__ or {})
    changed = [place for place in changes if place.scope == "argument" and place.name in held]
    walk.changes.places |= {f"{spot.path}({place.name}){place.suffix}" for place in changed}
    return ((f"({name})", default) for name, default in held.items())


def _closure(walk: Gathering, value: types.FunctionType, spot: Spot, changes: set[Place]) -> Iterator[tuple[str, Any]]:
    """What a function closes over, by names."""
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
        changed = {place.suffix for place in changes if place.scope == "free" and place.name == name}
        walk.changes.meet_cell(cell, f"{spot.path}.{name}", changed)
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:  # an empty cell
            continue


def _global(walk: Gathering, value: object, module: str, name: str, chains: set[tuple[str, ...]]) -> None:
    """A global that code uses; of a module, what the code takes from it."""
    if not isinstance(value, types.ModuleType):
        walk.later(module, name, type(walk).visit, value)
        return
    for chain in chains:
        _through(walk, value, chain)


def _through(walk: Gathering, module: types.ModuleType, chain: tuple[str, ...]) -> None:
    """What code takes from a module by a chain of attributes."""
    if not chain or not owner.is_users_module(module.__name__):
        whole_module(walk, module)
    elif chain[0] in vars(module):
        value = vars(module)[chain[0]]
        if isinstance(value, types.ModuleType):
            _through(walk, value, chain[1:])
        else:
            walk.later(owner.shown_module(module.__name__), chain[0], type(walk).visit, value)


def whole_module(walk: Gathering, module: types.ModuleType) -> None:
    """A module that is used as a whole, in ways that cannot be told: all that it holds."""
    if not owner.is_users_module(module.__name__):
        walk.meet_package(module)
        return
    for name, value in sorted(vars(module).items()):
        if not name.startswith("__") and not isinstance(value, types.ModuleType):
            walk.later(owner.shown_module(module.__name__), name, type(walk).visit, value)


def _imports(walk: Gathering, value: types.FunctionType, uses: Uses) -> None:
    """Modules that a function imports when it runs: the user's are imported now, as they will be then."""
    names = all_names(value.__code__)
    for name, level in uses.imports:
        package = str(value.__globals__.get("__package__") or "")
        try:
            full = importlib.util.resolve_name(f"{'.' * level}{name}", package)
            top = full.partition(".")[0]
            if top not in sys.modules and (specification := importlib.util.find_spec(top)) is not None:
                file = str(specification.origin)
                if top in sys.stdlib_module_names or owner.is_installed_file(file):
                    walk.packages.add(top)
                    continue
            module = importlib.import_module(full)
        except Exception:
            continue
        for attribute in names & vars(module).keys():
            _through(walk, module, (attribute,))
        if not owner.is_users_module(full):
            walk.meet_package(module)
