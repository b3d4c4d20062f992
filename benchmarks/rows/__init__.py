"""The rows, one file a topic: every module here has a list ``ROWS``."""

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.harness import Row


def all_rows() -> list[Row]:
    """The rows of all files, in the order of their names."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return [row for module in modules for row in module.ROWS]
