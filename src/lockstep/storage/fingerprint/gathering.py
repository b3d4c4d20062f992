"""What a walk through a model gathers, and where on its way it is."""

from __future__ import annotations

import collections
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lockstep.storage.fingerprint import owner
from lockstep.storage.fingerprint.changes import Changes, Found

OPAQUE = "cannot be compared: "


class Spot(NamedTuple):
    """Where a walk is: the path that led there, the description that is being written, and the values around."""

    path: str
    found: Found
    around: tuple[Any, ...] = ()

    def say(self, text: str) -> None:
        """Describe what is here."""
        self.found[self.path] = text

    def at(self, suffix: str) -> Spot:
        """The place of something that is held here."""
        return self._replace(path=f"{self.path}{suffix}")


class Gathering(ABC):
    """What is met on a walk: packages, what cannot be looked into, what changes, and code that is followed later."""

    def __init__(self) -> None:
        self.packages: set[str] = set()
        self.opaque: dict[str, str] = {}
        self.internals: Found = {}  # of objects of packages, which may hold caches and memory that was never set
        self.changes = Changes()
        self._code: dict[str, Found] = {}  # by names
        self._modules: dict[str, str] = {}  # of these names
        self._pending: collections.deque[tuple[Callable[[Gathering, Any, Spot], None], Any, Spot]] = collections.deque()
        self._codes: dict[str, Any] = {}

    @abstractmethod
    def visit(self, value: object, spot: Spot) -> None:
        """Describe a value, whatever it is."""

    def inside(self, items: Iterable[tuple[str, Any]], spot: Spot) -> None:
        """Describe what a value holds, by the suffixes of its path."""
        for suffix, value in items:
            self.visit(value, spot.at(suffix))

    def say_opaque(self, what: str, spot: Spot) -> None:
        """Note what nobody can look into."""
        spot.say(f"{OPAQUE}{what}")
        self.opaque[spot.path] = what

    def meet_package(self, value: object) -> None:
        """Note the package that something belongs to, if it is one's."""
        if package := owner.package_of(value):
            self.packages.add(package)

    def is_first(self, name: str, code: Any) -> bool:
        """Whether code is the only one that was met under its name."""
        return self._codes.setdefault(name, code) is code

    def later(self, module: str, name: str, follow: Callable[[Any, Any, Spot], None], value: object) -> None:
        """Describe a function, a class or a global once, under its own name."""
        key = f"{module}.{name}"
        if key not in self._code:
            self._code[key], self._modules[key] = {}, module
            self._pending.append((follow, value, Spot(key, self._code[key])))

    def follow_all(self) -> dict[str, Found]:
        """Follow the code that was met, and what that leads to; the description by modules."""
        while self._pending:
            follow, value, spot = self._pending.popleft()
            follow(self, value, spot)
        code: dict[str, Found] = collections.defaultdict(dict)
        for key, entries in sorted(self._code.items()):
            code[self._modules[key]] |= entries
        return code
