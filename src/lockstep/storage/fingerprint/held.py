"""What an object holds: its attributes, and what its package would save of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lockstep.storage.fingerprint import owner


def own(value: object) -> dict[str, Any]:
    """The attributes of an object by itself, those in slots left out."""
    try:
        return vars(value)
    except TypeError:  # it has none
        return {}


def public(value: object) -> dict[str, Any]:
    """The attributes that are meant to be seen, sorted."""
    held = own(value)
    return {name: held[name] for name in sorted(held) if not (name.startswith("_") or held[name] is None)}


def everything(value: object) -> dict[str, Any]:
    """All attributes of an object, those in slots included, sorted."""
    held = dict(own(value))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{kind.__name__.lstrip('_')}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
            if name not in ("__dict__", "__weakref__"):
                try:
                    held[slot] = getattr(value, name)
                except AttributeError:
                    continue
    return dict(sorted(held.items()))


def saved(reduced: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """What pickling an object would save of it: arguments of what makes it, its state, items and entries."""
    make, arguments, *rest = reduced
    for index, argument in enumerate(one for one in arguments if not isinstance(one, type)):
        yield f"<{index}>", argument
    if owner.is_followed(make):
        yield ".made by", make
    for part in rest[:1]:
        for one in part if isinstance(part, tuple) and len(part) == 2 else (part,):
            if isinstance(one, dict) and all(isinstance(name, str) for name in one):
                yield from ((f".{name}", one[name]) for name in sorted(one))
            else:
                yield ".state", one
    for name, part in zip(("items", "entries"), rest[1:3], strict=False):
        if part is not None:
            yield f".{name}", list(part)
