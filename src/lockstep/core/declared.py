"""What the bases of all parts declare.

A base declares all that other parts may ask of one of its kind: the methods that it must have, which are abstract, and
whatever it may have, with the default and its meaning. Nothing else is looked for anywhere. A class of a user's own may
inherit from a base, or have its methods alone: then it is adopted where it is handed over (`lockstep.core.adopt`).
"""

from __future__ import annotations

import functools
from abc import ABC
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from lockstep.core.types import Position

T = TypeVar("T")

if TYPE_CHECKING:
    declared = property
else:

    class declared:
        """An attribute that a base declares, with its default: a property that a field or an attribute may replace.

        (A `property` would refuse to be replaced by a field of a subclass.)
        """

        def __init__(self, default: Callable[[Any], Any]) -> None:
            self.default = default
            functools.update_wrapper(self, default)  # it may be abstract

        def __get__(self, owner: Any, kind: type | None = None) -> Any:
            return self if owner is None else self.default(owner)


def passing_on(field: str, names: str) -> Callable[[type[T]], type[T]]:
    """Have a part say of these attributes and methods what the part in one of its fields says of them."""

    def told(name: str) -> property:
        return property(lambda self: getattr(getattr(self, field), name))

    def passing(kind: type[T]) -> type[T]:
        for name in names.split():
            setattr(kind, name, told(name))
        return kind

    return passing


class Part(ABC):  # noqa: B024
    """What all parts of a kernel may say of themselves."""

    @declared
    def name(self) -> str:
        """What to call it in messages."""
        return type(self).__name__

    @declared
    def computes_on_numpy(self) -> bool:
        """Whether it computes with NumPy arrays as well as with JAX's; else an interpreted kernel has it compiled."""
        return False

    @declared
    def hosted(self) -> Callable[[dict[Any, Any]], Any] | None:
        """``hosted(functions)``: what stands for it in an interpreted kernel; None: itself, or itself compiled.

        It is made in the scope in which it is called. ``functions`` holds those that are made once for all places.
        """
        return None

    @declared
    def fit(self) -> Callable[..., tuple[Any, Position]] | None:
        """``fit(position, progress)``: what takes its place in a run, and where that begins; None: nothing to fit."""
        return None

    @declared
    def is_fitted(self) -> bool:
        """Whether there is nothing left to fit."""
        return self.fit is None

    @declared
    def reparametrized(self) -> Callable[..., Any] | None:
        """``reparametrized(likelihood, prior)``: the same unfitted part in other coordinates; None: it has no meaning.

        ``likelihood(function)`` makes a function of positions of one of values, and ``prior(function)`` adds a prior.
        """
        return None

    @declared
    def shown(self) -> Any:
        """How its positions are shown, a `Shown` of `lockstep.core.shown`; None: as they are."""
        return None


class Accountable(Part):
    """A part on which it depends whether a kernel is exact: the conditions, and what it says where they are broken."""

    @declared
    def exact_when(self) -> str | None:
        """The conditions under which a kernel with it is exact; None: it is approximate."""
        return None

    @declared
    def error(self) -> str | None:
        """The order of its error, if it is approximate and that is known."""
        return None

    @declared
    def when_stuck(self) -> str | None:
        """What helps chains that stick."""
        return None

    @declared
    def can_be_violated(self) -> bool:
        """Whether it can find its own promise broken."""
        return False

    @declared
    def when_violated(self) -> str:
        """What to say of updates at which its promise was broken; {count} and {share} tell how many."""
        return f"{{count}} updates ({{share}}) broke a promise of {self.name}"
