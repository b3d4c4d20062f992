"""What the code of a model changes by itself as it runs (a memo, a counter): it is no setting."""

from __future__ import annotations

import collections
from typing import Any

Found = dict[str, str]


class Changes:
    """The places that code changes, gathered on a walk; places of a closure are known when all code was seen."""

    def __init__(self) -> None:
        self.places: set[str] = set()
        self.attributes_of_arguments: set[str] = set()  # of any object, by name
        self._closed_over: set[tuple[int, str]] = set()
        self._cells: dict[int, list[str]] = collections.defaultdict(list)
        self._attributes: dict[str, list[str]] = collections.defaultdict(list)  # of the user's objects
        self._kept: list[Any] = []  # whose identity is used

    def meet_cell(self, cell: Any, path: str, changed: set[str]) -> None:
        """A cell of a closure, where it is, and what the function changes of it."""
        self._kept.append(cell)
        self._cells[id(cell)].append(path)
        self._closed_over |= {(id(cell), suffix) for suffix in changed}

    def meet_attribute(self, name: str, path: str) -> None:
        """An attribute of an object of the user's."""
        self._attributes[name].append(path)

    def settle(self) -> None:
        """Find the places of all that was changed, once everything was met."""
        for name in self.attributes_of_arguments:
            self.places |= set(self._attributes[name])
        for cell, suffix in self._closed_over:
            self.places |= {f"{path}{suffix}" for path in self._cells[cell]}

    def leave_out(self, found: Found) -> None:
        """Leave out of a description what lies at such a place, or inside of one."""
        for path in [path for path in found if self._holds(path)] if self.places else ():
            del found[path]

    def _holds(self, path: str) -> bool:
        return any(path == place or (path.startswith(place) and path[len(place)] in ".[(<") for place in self.places)
