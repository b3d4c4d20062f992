"""What a run is a function of, in words and digests: a resume compares them and names what differs."""

from __future__ import annotations

import dataclasses
import dis
import functools
import hashlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.random as jr
import numpy as np

from lockstep.parts import is_key

LARGEST_SHOWN = 8
MOST_ENTRIES = 2000  # after which only what comes first is compared
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
# Functions of these are told by their names; the versions of the packages are recorded beside.
LIBRARIES = frozenset({"lockstep", "jax", "jaxlib", "numpy", "scipy", "functools", "operator", "math", "builtins"})
SIMPLE = (bool, int, float, complex, str, bytes, type(None), np.generic)


def describe(value: Any, name: str) -> dict[str, str]:
    """Everything that ``value`` is made of, by path: numbers, digests of arrays, and of the code of functions.

    >>> describe({"scale": 2.0, "steps": (1,)}, "it")
    {'it': 'dict', "it['scale']": '2.0', "it['steps']": 'tuple', "it['steps'][0]": '1'}
    """
    found: dict[str, str] = {}
    _describe(value, name, found, ())
    return found


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What differs between two configurations, in words."""
    lines = []
    for name in [*there, *(key for key in here if key not in there)]:
        first, second = there.get(name), here.get(name)
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            lines += differences(first, second)
        elif first != second and not _is_other_python(first, second):
            lines.append(f"{name}: {_shown(first)} there, {_shown(second)} here")
    return lines


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else str(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _is_other_python(first: Any, second: Any) -> bool:
    """Whether two functions differ only in being compiled by different Pythons, which have different byte codes."""
    if not (isinstance(first, str) and isinstance(second, str) and " with code " in first and " with code " in second):
        return False
    (name, code), (other, other_code) = first.split(" with code "), second.split(" with code ")
    return name == other and code.split(":")[0] != other_code.split(":")[0]


def _describe(value: Any, path: str, found: dict[str, str], around: tuple[Any, ...]) -> None:
    if len(found) >= MOST_ENTRIES:
        return
    inner: Iterator[tuple[str, Any]] = iter(())
    if is_key(value):
        found[path] = f"random key {_digest(np.asarray(jr.key_data(value)).tobytes())}"
    elif isinstance(value, (jax.Array, np.ndarray)):
        found[path] = _array(np.asarray(value))
    elif isinstance(value, (float, np.floating)):
        found[path] = repr(float(value))
    elif isinstance(value, SIMPLE):
        found[path] = repr(value.item() if isinstance(value, np.generic) else value)
    elif isinstance(value, (type, types.ModuleType)):
        found[path] = _name(value)
    elif any(value is outer for outer in around):
        found[path] = "itself"
    else:
        found[path], inner = _node(value, path)
    for name, child in inner:
        _describe(child, name, found, (*around, value))


def _node(value: Any, path: str) -> tuple[str, Iterator[tuple[str, Any]]]:
    """The text of a value that holds others, and these."""
    if isinstance(value, functools.partial) and not (value.args or value.keywords):
        return _node(value.func, path)
    if isinstance(value, functools.partial):
        data = [*((str(i), v) for i, v in enumerate(value.args)), *value.keywords.items()]
        return "function with data", iter([(f"{path}.func", value.func), *((f"{path}({key})", v) for key, v in data)])
    if isinstance(value, types.MethodType):
        return "method", iter([(f"{path}.func", value.__func__), (f"{path}.self", value.__self__)])
    if isinstance(value, types.FunctionType):
        return _function(value, path)
    if isinstance(wrapped := getattr(value, "__wrapped__", None), types.FunctionType):
        return f"{_name(type(value))} of a function", iter([(f"{path}.wrapped", wrapped)])
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return _kind(type(value)), ((f"{path}.{name}", getattr(value, name, None)) for name in names)
    if isinstance(value, Mapping):
        return type(value).__name__, ((f"{path}[{key!r}]", value[key]) for key in sorted(value, key=repr))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, ((f"{path}[{i}]", item) for i, item in enumerate(value))
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__} {sorted(map(repr, value))}", iter(())
    if isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
        return _name(value), iter(())
    # An object of any other kind: what it was made of, not what it keeps for itself or has met with.
    held = {
        name: inner
        for name, inner in getattr(value, "__dict__", {}).items()
        if not (name.startswith("_") or inner is None or isinstance(inner, BaseException))
    }
    return _kind(type(value)), ((f"{path}.{name}", held[name]) for name in sorted(held))


def _function(function: types.FunctionType, path: str) -> tuple[str, Iterator[tuple[str, Any]]]:
    """A function: its code, and what the code uses of its closure and of the globals of its module."""
    if _package(function.__module__) in LIBRARIES and function.__closure__ is None:
        return _name(function), iter(())
    held = {f"{path}.default{i}": value for i, value in enumerate(function.__defaults__ or ())}
    held |= {f"{path}.{name}": value for name, value in (function.__kwdefaults__ or {}).items()}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held[f"{path}.{name}"] = cell.cell_contents
        except ValueError:  # an empty cell
            continue
    for name in _global_names(function.__code__):
        value = function.__globals__.get(name)
        is_own = isinstance(value, types.FunctionType) and value.__module__ == function.__module__
        if value is not None and (is_own or isinstance(value, (*SIMPLE, np.ndarray, jax.Array))):
            held[f"{path}.{name}"] = value
    return f"{_name(function)} with code {_code(function.__code__, function.__doc__)}", iter(held.items())


def _global_names(code: types.CodeType) -> list[str]:
    """The names that code may look up outside of itself, but does not assign (a counter is no setting)."""
    assigned = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    inner = [name for const in code.co_consts if isinstance(const, types.CodeType) for name in _global_names(const)]
    return [name for name in dict.fromkeys([*code.co_names, *inner]) if name not in assigned]


def _code(code: types.CodeType, documentation: str | None = None) -> str:
    return f"{PYTHON}:{_digest(_code_bytes(code, documentation))}"


def _code_bytes(code: types.CodeType, documentation: str | None = None) -> bytes:
    """What code does, whatever its file, its lines and its docstring."""

    def constant(value: Any) -> bytes:
        if isinstance(value, types.CodeType):
            return _code_bytes(value)
        return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value).encode()

    # Without a docstring its place holds None.
    is_documented = documentation is not None and code.co_consts[:1] == (documentation,)
    constants = [constant(const) for const in ((None, *code.co_consts[1:]) if is_documented else code.co_consts)]
    return b"\0".join([code.co_code, *(name.encode() for name in code.co_names), *constants])


def _kind(kind: type) -> str:
    """A class; one of the user's own with the digest of its methods."""
    if _package(kind.__module__) in LIBRARIES:
        return kind.__name__
    methods = [v for _, v in sorted(vars(kind).items()) if isinstance(v, types.FunctionType)]
    # What `dataclass` writes is no code of the user's.
    codes = [_code_bytes(m.__code__, m.__doc__) for m in methods if m.__code__.co_filename != "<string>"]
    return f"{_name(kind)} with code {PYTHON}:{_digest(b'/'.join(codes))}"


def _array(array: np.ndarray) -> str:
    array = array.astype(float) if array.dtype.kind == "f" else array
    if array.size <= LARGEST_SHOWN:
        return f"{array.tolist()}"
    return f"{array.dtype.name}{list(array.shape)} {_digest(np.ascontiguousarray(array).tobytes())}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _name(value: Any) -> str:
    return getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]
