"""Whose code something is: the user's, which is followed, or a package's, which is told by name and version."""

from __future__ import annotations

import functools
import importlib.metadata
import site
import sys
import sysconfig
import types
from pathlib import Path

import lockstep
from lockstep.core.foreign import attribute

OWN = str(Path(lockstep.__file__).parent)
PARTS = ("/site-packages/", "/dist-packages/")
MODEL = "the model"  # a script, a notebook, or the file of the command line: one model, however it is started


@functools.cache
def _installed_roots() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple({f"{Path(path).resolve()}/" for path in paths if path})


@functools.cache
def is_installed_file(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package, or to this one."""
    path = Path(file).resolve().as_posix()
    return path.startswith((f"{OWN}/", *_installed_roots())) or any(part in path for part in PARTS)


def module_name(function: types.FunctionType) -> str:
    """The module in which a function was written, whatever a decorator says of it."""
    return str(function.__globals__.get("__name__") or function.__module__ or "")


def is_users_function(function: types.FunctionType) -> bool:
    """Whether a function is followed: by its file, or, where it was made from a text, by its module."""
    file = function.__code__.co_filename
    return is_users_module(module_name(function)) if file.startswith("<") else not is_installed_file(file)


def is_followed(value: object) -> bool:
    """Whether a value is a function of the user's."""
    return isinstance(value, types.FunctionType) and is_users_function(value)


def is_users_module(name: str) -> bool:
    """Whether a module is the user's; one that is not loaded here came by value, from a program of the user's."""
    top = name.partition(".")[0]
    if top in sys.builtin_module_names or (top in sys.stdlib_module_names and top != "__main__"):
        return False
    file = attribute(sys.modules.get(name), "__file__")
    if file is not None:
        return not is_installed_file(str(file))
    # A package without a file is a namespace; a module without one was typed in.
    places = list(attribute(sys.modules.get(name), "__path__", ()))
    return not any(is_installed_file(f"{place}/x") for place in places)


def is_users_class(kind: type) -> bool:
    """Whether a class is followed."""
    return is_users_module(str(kind.__module__))


def shown_module(name: str) -> str:
    """A module as descriptions call it."""
    return MODEL if name in ("", "__main__") or name.startswith("lockstep_model_") else name


def package_of(value: object) -> str:
    """The package to which something belongs that is not the user's; empty for what comes with Python."""
    if isinstance(value, types.FunctionType):
        module = module_name(value)
    elif isinstance(value, types.ModuleType):
        module = value.__name__
    else:
        module = str(attribute(value, "__module__") or type(value).__module__ or "")
    top = module.partition(".")[0]
    return "" if top in sys.stdlib_module_names or top in ("", "__main__", "lockstep") else top


@functools.cache
def package_version(package: str) -> str:
    """The version of an installed package, by the name under which it is imported."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pass
    if version := attribute(sys.modules.get(package), "__version__"):
        return str(version)
    names = importlib.metadata.packages_distributions().get(package, [])
    return importlib.metadata.version(names[0]) if names else "unknown"
