"""Follow everything that a model is made of: its numbers, its data, its code, and what that code uses.

Functions, classes and globals of the user's modules are described once, under their own names, so that a difference
reads ``helpers.SCALE: 1.0 there, 5.0 here``; all else by the path that leads to it. Packages are told by their
versions. What nobody can look into is listed as such; what the code itself changes as it runs (a memo, a counter) is no
setting.
"""

from __future__ import annotations

from lockstep.storage.fingerprint.changes import Found
from lockstep.storage.fingerprint.code import digest
from lockstep.storage.fingerprint.gathering import Gathering, Spot
from lockstep.storage.fingerprint.text import plain_text
from lockstep.storage.fingerprint.values import node

MOST_ENTRIES = 2000  # of a description, after which the others are digested
MOST_NODES = 1_000_000  # after which nothing more is looked at


class Walk(Gathering):
    """A walk through a model, from any number of roots; `packages`, `opaque` and `internals` gather what it meets."""

    def __init__(self) -> None:
        super().__init__()
        self._roots: list[Found] = []
        self._nodes = 0

    def describe(self, value: object, name: str) -> Found:
        """Describe a root; complete when the walk is `finished`."""
        found: Found = {}
        self._roots.append(found)
        self.visit(value, Spot(name, found))
        return found

    def finished(self) -> dict[str, Found]:
        """Follow the code that was met; return its description by modules and names, and settle all others."""
        code = self.follow_all()
        self.changes.settle()
        for found in (*self._roots, self.internals, *code.values(), self.opaque):
            self.changes.leave_out(found)
        for found in (*self._roots, self.internals, *code.values()):
            _shorten(found)
        return {module: dict(sorted(code[module].items())) for module in sorted(code)}

    def visit(self, value: object, spot: Spot) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            self.say_opaque(f"more than {MOST_NODES:,} objects", spot)
        elif (text := plain_text(value)) is not None:
            spot.say(text)
        elif any(value is outer for outer in spot.around):
            spot.say("itself")
        else:
            try:
                node(self, value, spot._replace(around=(*spot.around, value)))
            except Exception:  # of an object that does not let itself be looked at; a run must not fail by that
                self.say_opaque(f"a {type(value).__name__}", spot)


def _shorten(found: Found) -> None:
    """Digest what comes after the first entries."""
    if rest := list(found)[MOST_ENTRIES:]:
        found[f"{len(rest):,} more"] = digest(repr([(path, found.pop(path)) for path in rest]).encode())
