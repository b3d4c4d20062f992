"""Lockstep: MCMC when the acceptance ratio can only be estimated.

The public names are those of ``__init__.pyi``. They load when they are first used, so that the command line answers at
once.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from lockstep.core.collector import old_objects_set_aside
from lockstep.core.small_loops import compile_in_one_piece
from lockstep.core.wrong_sums import keep_away

keep_away()
compile_in_one_piece()


def _homes() -> dict[str, str]:
    """Where each public name lives, read from the stub."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOMES = _homes()
_OF_MODULES = (__name__, f"{__name__}.core")  # what is public of these are modules

__all__ = sorted(name for name in _HOMES if not name.startswith("_"))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lockstep' has no attribute {name!r}")
    home = _HOMES[name]
    if home in _OF_MODULES:
        return import_module(f"{home}.{name}")
    with old_objects_set_aside():
        globals()[name] = value = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
