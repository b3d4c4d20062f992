"""A model in a Python file: what `lockstep run` samples."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

REMEDY = "define `kernel` and `initial`, or a function without arguments that returns the two"


def load_model(text: str) -> tuple[Any, Any]:
    """``(kernel, initial)`` of a file, or of the function that ``file.py:function`` names."""
    file, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    module = _load(Path(file))
    if name:
        function = vars(module).get(name)
        if not callable(function):
            raise ValueError(f"{file} has no function {name}; {REMEDY}")
        return _call(function, file)
    if {"kernel", "initial"} <= vars(module).keys():
        return module.kernel, module.initial
    functions = [
        value
        for key, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not key.startswith("_")
    ]
    makers = [function for function in functions if not _required(function)]
    if len(makers) != 1:
        found = f"functions without arguments: {', '.join(f.__name__ for f in makers) or 'none'}"
        raise ValueError(
            f"{file} does not define `kernel` and `initial` ({found}); {REMEDY}, or name it: {file}:function"
        )
    return _call(makers[0], file)


def _required(function: FunctionType) -> bool:
    return any(p.default is p.empty for p in inspect.signature(function).parameters.values())


def _call(function: Callable[..., Any], file: str) -> tuple[Any, Any]:
    found = function()
    if not isinstance(found, tuple) or len(found) != 2:
        raise ValueError(f"{function.__name__} of {file} returned {found!r}; it must return kernel, initial")
    return found


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file; give a Python file that defines `kernel` and `initial`")
    name = f"lockstep_model_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))  # its neighbours can be imported, as for a script
    specification.loader.exec_module(module)
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)  # workers do not know the file
    return module
