"""Follow everything that a model is made of: its numbers, its data, its code, and what that code uses.

Functions, classes and globals of the user's modules are described once, under their own names, so that a difference
reads ``helpers.SCALE: 1.0 there, 5.0 here``; all else by the path that leads to it. Packages are told by their
versions. What nobody can look into is listed as such; what the code itself changes as it runs (a memo, a counter) is no
setting.
"""

from __future__ import annotations

import collections
import enum
import functools
import importlib
import importlib.util
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax
import jax.random as jr
import numpy as np

from lockstep.core.trees import is_key, is_named
from lockstep.host.black_box import BlackBox
from lockstep.storage import fingerprint_owner as owner
from lockstep.storage.fingerprint_code import Place, Uses, all_names, code_text, digest, uses_of, words

LARGEST_SHOWN = 8  # entries of an array
MOST_ITEMS = 64  # of a container, after which it is digested as a whole
MOST_ENTRIES = 2000  # of a description, after which the others are digested
MOST_NODES = 1_000_000  # after which nothing more is looked at
SIMPLE = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic)
BUILT_IN = (types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType, np.ufunc)
OPAQUE = "cannot be compared: "
BUILDING = words("__init__ __post_init__ __new__ __setstate__ __init_subclass__ __set_name__ __setattr__")
# Packages and modules whose objects save their data, and nothing that changes by itself.
TOLD_IN_FULL = words("builtins collections datetime decimal fractions jax numpy pandas pathlib types uuid xarray")
Found = dict[str, str]


class Walk:
    """A walk through a model, from any number of roots; `code`, `packages` and `opaque` gather what it meets."""

    def __init__(self) -> None:
        self.packages: set[str] = set()
        self.opaque: dict[str, str] = {}
        self.internals: Found = {}  # of objects of packages, which may hold caches and memory that was never set
        self._code: dict[str, Found] = {}  # by names
        self._modules: dict[str, str] = {}  # of these names
        self._pending: collections.deque[tuple[str, Any, Any]] = collections.deque()
        self._roots: list[Found] = []
        self._functions: dict[str, types.CodeType] = {}
        self._cells: dict[int, list[str]] = collections.defaultdict(list)
        self._attributes: dict[str, list[str]] = collections.defaultdict(list)  # of the user's objects
        self._changed: set[str] = set()
        self._changed_cells: set[tuple[int, str]] = set()
        self._changed_of_arguments: set[str] = set()
        self._kept: list[Any] = []  # whose identity is used
        self._nodes = 0

    def describe(self, value: Any, name: str) -> Found:
        """Describe a root; complete when the walk is `finished`."""
        found: Found = {}
        self._roots.append(found)
        self._visit(value, name, found, ())
        return found

    def finished(self) -> dict[str, Found]:
        """Follow the code that was met; return its description by modules and names, and settle all others."""
        while self._pending:
            name, follow, value = self._pending.popleft()
            follow(value, name, self._code[name])
        for name in self._changed_of_arguments:
            self._changed |= set(self._attributes[name])
        for cell, suffix in self._changed_cells:
            self._changed |= {f"{path}{suffix}" for path in self._cells[cell]}
        code: dict[str, Found] = collections.defaultdict(dict)
        for key, entries in sorted(self._code.items()):
            code[self._modules[key]] |= entries
        for found in (*self._roots, self.internals, *code.values()):
            _leave_out(found, self._changed)
        self.opaque = {path: what for path, what in self.opaque.items() if not _is_below(path, self._changed)}
        for found in (*self._roots, self.internals, *code.values()):
            _shorten(found)
        return {module: dict(sorted(code[module].items())) for module in sorted(code)}

    # --- values

    def _visit(self, value: Any, path: str, found: Found, around: tuple[Any, ...]) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            self._say_opaque(path, f"more than {MOST_NODES:,} objects", found)
            return
        text = _plain_text(value)
        if text is not None:
            found[path] = text
        elif any(value is outer for outer in around):
            found[path] = "itself"
        else:
            try:
                self._node(value, path, found, (*around, value))
            except Exception:  # of an object that does not let itself be looked at; a run must not fail by that
                self._say_opaque(path, f"a {type(value).__name__}", found)

    def _inside(self, items: Iterable[tuple[str, Any]], found: Found, around: tuple[Any, ...]) -> None:
        for path, value in items:
            self._visit(value, path, found, around)

    def _node(self, value: Any, path: str, found: Found, around: tuple[Any, ...]) -> None:
        """Describe a value that holds others."""
        if isinstance(value, np.ma.MaskedArray):
            found[path] = "masked array"
            items = [(f"{path}.data", value.data), (f"{path}.mask", np.ma.getmaskarray(value))]
            self._inside([*items, (f"{path}.fill_value", value.fill_value)], found, around)
        elif isinstance(value, np.ndarray):  # of objects
            found[path] = f"objects{list(value.shape)}"
            self._items(list(value.ravel()), path, found, around)
        elif isinstance(value, BlackBox):
            found[path] = f"black box {value.is_vectorized} {value.is_batched}"
            self._visit(value.callee.function, f"{path}.function", found, around)
        elif isinstance(value, functools.partial):
            self._partial(value, path, found, around)
        elif isinstance(value, types.MethodType):
            found[path] = "method"
            self._inside([(f"{path}.func", value.__func__), (f"{path}.self", value.__self__)], found, around)
        elif isinstance(value, types.FunctionType):
            self._function(value, path, found, around)
        elif isinstance(value, types.ModuleType):
            found[path] = owner.shown_module(value.__name__)
            self._module(value)
        elif isinstance(value, type):
            self._class(value, path, found, around)
        elif isinstance(value, BUILT_IN) or type(value).__module__.startswith("_cython"):
            found[path] = _name(value)
            holder = getattr(value, "__self__", None)
            if holder is None or isinstance(holder, types.ModuleType):
                self._package(value)
            else:
                self._visit(holder, f"{path}.self", found, around)
        elif isinstance(value, (staticmethod, classmethod)):
            found[path] = type(value).__name__
            self._visit(value.__func__, f"{path}.func", found, around)
        elif isinstance(value, property):
            found[path] = "property"
            accessors = (("get", value.fget), ("set", value.fset), ("delete", value.fdel))
            self._inside([(f"{path}.{name}", function) for name, function in accessors if function], found, around)
        elif callable(wrapped := getattr(value, "__wrapped__", None)) and not owner.is_users_class(type(value)):
            # Compiled, cached, or given a derivative: the function, and others that were given with it.
            found[path] = f"{_name(type(value))} of a function"
            self._package(type(value))
            others = [(f"{path}.{name}", inner) for name, inner in _public(value).items() if _is_users_function(inner)]
            self._inside(others, found, around)
            self._visit(wrapped, f"{path}.wrapped", found, around)
        elif isinstance(value, enum.Enum):
            found[path] = f"{type(value).__qualname__}.{value.name}"
            self._inside([(f"{path}.value", value.value), (f"{path}.class", type(value))], found, around)
        elif isinstance(value, (dict, types.MappingProxyType)) and not owner.is_users_class(type(value)):
            found[path] = type(value).__name__
            pairs = [(self._key(key), inner) for key, inner in _pairs(value)]
            is_ordered = isinstance(value, collections.OrderedDict)
            self._items(dict(pairs if is_ordered else sorted(pairs, key=lambda pair: pair[0])), path, found, around)
        elif isinstance(value, (list, tuple, collections.deque)):
            self._sequence(value, path, found, around)
        elif isinstance(value, (set, frozenset)):
            found[path] = f"{type(value).__name__} {digest(repr(sorted(map(self._key, value))).encode())}"
        else:
            self._object(value, path, found, around)

    def _partial(self, value: Any, path: str, found: Found, around: tuple[Any, ...]) -> None:
        if not (value.args or value.keywords):
            self._visit(value.func, path, found, around)
            return
        data = [*((str(i), v) for i, v in enumerate(value.args)), *value.keywords.items()]
        found[path] = "function with data"
        self._inside([(f"{path}.func", value.func), *((f"{path}({key})", v) for key, v in data)], found, around)

    def _sequence(self, value: Any, path: str, found: Found, around: tuple[Any, ...]) -> None:
        kind, names = type(value), value._fields if is_named(value) else None
        found[path] = kind.__name__
        if owner.is_users_class(kind):
            self._visit(kind, f"{path}.class", found, around)
            if kept := _own(value):
                self._inside([(f"{path}.{name}", kept[name]) for name in sorted(kept)], found, around)
        if names is not None and len(names) == len(value):
            self._inside([(f"{path}.{name}", item) for name, item in zip(names, value, strict=True)], found, around)
        else:
            self._items(value, path, found, around)

    def _items(self, value: Any, path: str, found: Found, around: tuple[Any, ...]) -> None:
        """The entries of a container: each by itself, or all together if there are many."""
        if len(value) <= MOST_ITEMS:
            pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
            self._inside([(f"{path}[{key}]", item) for key, item in pairs], found, around)
            return
        found[path] = f"{found[path]} of {len(value):,}, {self._digest(value, path, around)}"

    def _digest(self, value: Any, path: str, around: tuple[Any, ...]) -> str:
        items = list(value.values()) if isinstance(value, Mapping) else list(value)
        keys = repr(list(value)) if isinstance(value, Mapping) else ""
        kinds = set(map(type, items))
        if kinds == {float}:
            return digest(keys.encode() + np.array(items).tobytes())
        if kinds <= {int, float, bool, str, bytes, type(None)}:
            return digest((keys + repr(items)).encode())
        inner: Found = {}
        self._inside([(f"{path}[{i}]", item) for i, item in enumerate(items)], inner, around)
        return digest((keys + repr(list(inner.values()))).encode())

    def _key(self, key: Any) -> str:
        """A key of a mapping, or an entry of a set, as text that another process gives it too."""
        if isinstance(key, SIMPLE) or (isinstance(key, tuple) and all(isinstance(one, SIMPLE) for one in key)):
            return repr(key)
        inner: Found = {}
        self._visit(key, "key", inner, ())
        return next(iter(inner.values())) if len(inner) == 1 else digest(repr(inner).encode())

    def _object(self, value: Any, path: str, found: Found, around: tuple[Any, ...]) -> None:
        """An object of any other kind: what it holds."""
        kind = type(value)
        if kind.__module__.partition(".")[0] == "lockstep":
            # A part of ours: what it was made of, not what it keeps for itself or has met with.
            names = getattr(kind, "__dataclass_fields__", None)
            held = {name: getattr(value, name, None) for name in names} if names else _public(value)
            found[path] = kind.__name__
            self._inside([(f"{path}.{name}", held[name]) for name in held], found, around)
        elif owner.is_users_class(kind):
            found[path] = kind.__qualname__
            self._visit(kind, f"{path}.class", found, around)
            held, changed = _held(value), self._changed_attributes(kind)
            self._changed |= {f"{path}.{name}" for name in changed}
            for name in held:
                self._attributes[name].append(f"{path}.{name}")
            self._inside([(f"{path}.{name}", held[name]) for name in sorted(held)], found, around)
            if isinstance(value, Mapping):
                self._items({self._key(key): inner for key, inner in _pairs(value)}, path, found, around)
            elif not held:
                self._state(value, path, found, around)
        else:
            self._package(value)
            found[path] = kind.__name__
            is_told = kind.__module__.partition(".")[0] in TOLD_IN_FULL
            self._state(value, path, found if is_told else self.internals, around)

    def _state(self, value: Any, path: str, found: Found, around: tuple[Any, ...]) -> None:
        """An object of a package's: what the package itself would save of it."""
        if isinstance(value, (weakref.ref, np.random.Generator, np.random.RandomState, np.random.BitGenerator)):
            self._say_opaque(path, f"a {type(value).__name__}", found)
            return
        try:
            state = value.__reduce_ex__(4)
        except Exception:
            self._say_opaque(path, f"a {type(value).__name__}", found)
            return
        if isinstance(state, str):
            found[path] = f"{type(value).__name__} {state}"
            return
        make, arguments, *rest = state
        arguments = [one for one in arguments if not isinstance(one, type)]
        items = [(f"{path}<{i}>", one) for i, one in enumerate(arguments)]
        if _is_users_function(make):
            items.append((f"{path}.made by", make))
        for part in rest[:1]:
            parts = part if isinstance(part, tuple) and len(part) == 2 else (part,)
            for one in parts:
                named = isinstance(one, dict) and all(isinstance(name, str) for name in one)
                items += [(f"{path}.{name}", one[name]) for name in sorted(one)] if named else [(f"{path}.state", one)]
        for name, part in zip(("items", "entries"), rest[1:3], strict=False):
            if part is not None:
                items.append((f"{path}.{name}", list(part)))
        self._inside([(name, one) for name, one in items if one is not None], found, around)

    def _say_opaque(self, path: str, what: str, found: Found) -> None:
        found[path] = f"{OPAQUE}{what}"
        self.opaque[path] = what

    def _package(self, value: Any) -> None:
        if package := owner.package_of(value):
            self.packages.add(package)

    # --- code

    def _function(self, function: types.FunctionType, path: str, found: Found, around: tuple[Any, ...]) -> None:
        """A function of the user's is followed; of a package's only what data it holds."""
        name = function.__qualname__
        if not owner.is_users_function(function):
            self._package(function)
            found[path] = name
            self._inside(self._closure(function, path, set()), found, around)
            return
        module = owner.shown_module(owner.module_name(function))
        key = f"{module}.{name}()"
        is_plain = function.__closure__ is None and "<" not in name
        if is_plain and self._functions.setdefault(key, function.__code__) is function.__code__:
            found[path] = name
            self._later(module, f"{name}()", self._follow, function)
            return
        self._follow(function, path, found, around)

    def _later(self, module: str, name: str, follow: Any, value: Any) -> None:
        """Describe a function, a class or a global once, under its own name."""
        key = f"{module}.{name}"
        if key not in self._code:
            self._code[key], self._modules[key] = {}, module
            self._pending.append((key, follow, value))

    def _follow(
        self, function: types.FunctionType, path: str, found: Found, around: tuple[Any, ...] | None = None
    ) -> None:
        """A function: its code, and what the code uses of its defaults, its closure and its module."""
        around = (function,) if around is None else around
        uses = uses_of(function.__code__)
        found[path] = f"{function.__qualname__} with code {code_text(function)}"
        if uses.reads:
            self.opaque[path] = f"what it reads with {', '.join(sorted(uses.reads))}"
        self._inside(self._defaults(function, path, uses.changes), found, around)
        self._inside(self._closure(function, path, uses.changes), found, around)
        kept = {name: value for name, value in vars(function).items() if name != "__wrapped__"}
        self._inside([(f"{path}.{name}", kept[name]) for name in sorted(kept)], found, around)
        module = owner.shown_module(owner.module_name(function))
        for place in uses.changes:
            if place.scope == "global":
                self._changed |= {f"{module}.{place.name}{call}{place.suffix}" for call in ("", "()")}
            elif place.scope == "argument" and place.attributes and not _is_method(function):
                self._changed_of_arguments.add(place.attributes[0])
        for name, chains in uses.globals.items():
            if name in function.__globals__:
                self._global(function.__globals__[name], module, name, chains)
        self._imports(function, uses)

    def _defaults(self, function: types.FunctionType, path: str, changes: set[Place]) -> list[tuple[str, Any]]:
        """The defaults of a function, by the names of its arguments."""
        code, defaults = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        held = dict(zip(names, defaults, strict=True)) | (function.__kwdefaults__ or {})
        self._changed |= {f"{path}({p.name}){p.suffix}" for p in changes if p.scope == "argument" and p.name in held}
        return [(f"{path}({name})", value) for name, value in held.items()]

    def _closure(self, function: types.FunctionType, path: str, changes: set[Place]) -> Iterator[tuple[str, Any]]:
        """What a function closes over, by names."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._kept.append(cell)
            self._cells[id(cell)].append(f"{path}.{name}")
            self._changed_cells |= {(id(cell), p.suffix) for p in changes if p.scope == "free" and p.name == name}
            try:
                yield f"{path}.{name}", cell.cell_contents
            except ValueError:  # an empty cell
                continue

    def _global(self, value: Any, module: str, name: str, chains: set[tuple[str, ...]]) -> None:
        """A global that code uses; of a module, what the code takes from it."""
        if not isinstance(value, types.ModuleType):
            self._later(module, name, self._value, value)
            return
        for chain in chains:
            self._through(value, chain)

    def _through(self, module: types.ModuleType, chain: tuple[str, ...]) -> None:
        """What code takes from a module by a chain of attributes."""
        if not owner.is_users_module(module.__name__):
            self._package(module)
            return
        if not chain:
            self._module(module)
            return
        if chain[0] in vars(module):
            value = vars(module)[chain[0]]
            if isinstance(value, types.ModuleType):
                self._through(value, chain[1:])
            else:
                self._later(owner.shown_module(module.__name__), chain[0], self._value, value)

    def _value(self, value: Any, name: str, found: Found) -> None:
        self._visit(value, name, found, ())

    def _module(self, module: types.ModuleType) -> None:
        """A module that is used as a whole, in ways that cannot be told: all that it holds."""
        if not owner.is_users_module(module.__name__):
            self._package(module)
            return
        for name, value in sorted(vars(module).items()):
            if not name.startswith("__") and not isinstance(value, types.ModuleType):
                self._later(owner.shown_module(module.__name__), name, self._value, value)

    def _imports(self, function: types.FunctionType, uses: Uses) -> None:
        """Modules that a function imports when it runs: the user's are imported now, as they will be then."""
        names = all_names(function.__code__)
        for name, level in uses.imports:
            package = str(function.__globals__.get("__package__") or "")
            try:
                full = importlib.util.resolve_name(f"{'.' * level}{name}", package)
                top = full.partition(".")[0]
                if top not in sys.modules and (specification := importlib.util.find_spec(top)) is not None:
                    file = str(specification.origin)
                    if top in sys.stdlib_module_names or owner.is_installed_file(file):
                        self.packages.add(top)
                        continue
                module = importlib.import_module(full)
            except Exception:
                continue
            for attribute in names & vars(module).keys():
                self._through(module, (attribute,))
            if not owner.is_users_module(full):
                self._package(module)

    def _class(self, kind: type, path: str, found: Found, around: tuple[Any, ...]) -> None:
        """A class of the user's: methods, attributes and bases."""
        found[path] = kind.__qualname__
        if not owner.is_users_class(kind):
            self._package(kind)
            return
        module = owner.shown_module(kind.__module__)
        if "<" in kind.__qualname__ or path == f"{module}.{kind.__qualname__}":
            self._members(kind, path, found, around)
        else:
            self._later(module, kind.__qualname__, self._members, kind)

    def _members(self, kind: type, path: str, found: Found, around: tuple[Any, ...] = ()) -> None:
        bases = [base for base in kind.__bases__ if base is not object]
        found[path] = f"class {kind.__qualname__}({', '.join(base.__qualname__ for base in bases)})"
        around = (*around, kind)
        self._inside([(f"{path}.base {base.__qualname__}", base) for base in bases], found, around)
        is_enum = issubclass(kind, enum.Enum)
        for name, value in sorted(vars(kind).items()):
            is_made = isinstance(value, types.FunctionType) and value.__code__.co_filename == "<string>"
            is_slot = isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType))
            is_slot = is_slot or type(value).__name__ == "_tuplegetter"
            is_method = isinstance(value, (types.FunctionType, staticmethod, classmethod, property))
            is_registry = name == "_abc_impl"  # of what Python finds to be subclasses
            if is_made or is_slot or is_registry or (name.startswith("__") and name.endswith("__") and not is_method):
                continue
            if is_enum and name.startswith("_"):
                continue
            if isinstance(value, enum.Enum) and is_enum:
                self._visit(value.value, f"{path}.{name}", found, around)
            else:
                self._visit(value, f"{path}.{name}", found, around)

    def _changed_attributes(self, kind: type) -> set[str]:
        """Attributes that the methods of a class change when they are called, other than those that make the object."""
        changed = set()
        for owner_class in kind.__mro__:
            if not owner.is_users_class(owner_class):
                continue
            for name, value in vars(owner_class).items():
                function = value.fget if isinstance(value, property) else getattr(value, "func", value)
                if isinstance(value, functools.cached_property):
                    changed.add(name)
                if not isinstance(function, types.FunctionType) or name in BUILDING:
                    continue
                first = function.__code__.co_varnames[:1]
                changed |= {
                    p.attributes[0]
                    for p in uses_of(function.__code__).changes
                    if p.scope == "argument" and (p.name,) == first and p.attributes
                }
        return changed


def _plain_text(value: Any) -> str | None:
    """The text of a value that holds no others; None if it does."""
    if isinstance(value, jax.Array) and is_key(value):
        return f"random key {digest(np.asarray(jr.key_data(value)).tobytes())}"
    if isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)):
        array = np.asarray(value)
        return None if array.dtype.hasobject else _array_text(array)
    if isinstance(value, (float, np.floating)) and not isinstance(value, np.longdouble):
        return repr(float(value))
    if type(value) in SIMPLE or isinstance(value, np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, (np.dtype, range, slice, jax.ShapeDtypeStruct)):
        return repr(value)
    if isinstance(value, jax.tree_util.PyTreeDef):
        return "structure"
    if value is NotImplemented or isinstance(value, types.GenericAlias):
        return repr(value)
    return None


def _array_text(array: np.ndarray) -> str:
    if array.size <= LARGEST_SHOWN:
        kind = "" if array.dtype in (np.dtype(float), np.dtype(np.int64), np.dtype(bool)) else f" {array.dtype}"
        return f"{array.tolist()}{kind}"
    return f"{array.dtype.name}{list(array.shape)} {digest(np.ascontiguousarray(array).tobytes())}"


def _is_method(function: types.FunctionType) -> bool:
    return "." in function.__qualname__.rpartition("<locals>.")[2]


def _is_users_function(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and owner.is_users_function(value)


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items())


def _own(value: Any) -> dict[str, Any]:
    return vars(value) if hasattr(value, "__dict__") else {}


def _public(value: Any) -> dict[str, Any]:
    held = _own(value)
    return {name: held[name] for name in sorted(held) if not (name.startswith("_") or held[name] is None)}


def _held(value: Any) -> dict[str, Any]:
    """All attributes of an object, those in slots included."""
    held = dict(_own(value))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{kind.__name__.lstrip('_')}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
            if name not in ("__dict__", "__weakref__"):
                try:
                    held[slot] = getattr(value, name)
                except AttributeError:
                    continue
    return held


def _is_below(path: str, places: set[str]) -> bool:
    """Whether a path is one of some places, or lies inside of one."""
    return any(path == place or (path.startswith(place) and path[len(place)] in ".[(<") for place in places)


def _leave_out(found: Found, changed: set[str]) -> None:
    """Leave out what the code itself changes, which is no setting."""
    for path in [path for path in found if _is_below(path, changed)] if changed else ():
        del found[path]


def _shorten(found: Found) -> Found:
    """Digest what comes after the first entries."""
    rest = list(found)[MOST_ENTRIES:]
    if rest:
        text = digest(repr([(path, found.pop(path)) for path in rest]).encode())
        found[f"{len(rest):,} more"] = text
    return found


def _name(value: Any) -> str:
    return str(getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__)))
