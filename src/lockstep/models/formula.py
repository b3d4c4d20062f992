"""Terms by name, such as ``"edges"``, ``"gwesp(0.5)"`` or ``"nodematch(club, by_category=True)"``."""

from __future__ import annotations

import re
from typing import Any

from lockstep.models import terms
from lockstep.models.families import Term

NAMES = {name: getattr(terms, name) for name in terms.__all__ if name != "Term"}


def as_term(term: Any, is_directed: bool) -> Term:
    """A term, from itself or from its name."""
    if isinstance(term, str):
        term = _parsed(term)
    if not isinstance(term, Term):
        raise TypeError(f"terms of ERGM: {term!r} is no term; give names such as 'edges' or ls.models.terms.gwesp(0.5)")
    name = term.name.split("(")[0]
    if name in (terms.ONLY_UNDIRECTED if is_directed else terms.ONLY_DIRECTED):
        kind = "undirected" if is_directed else "directed"
        raise ValueError(f"terms of ERGM: {term.name} is for {kind} graphs")
    return term


def _parsed(text: str) -> Term:
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if not found or found.group(1) not in NAMES:
        raise ValueError(f"terms of ERGM: {text!r} is none of them; there are {', '.join(NAMES)}")
    name, inside = found.groups()
    given = [argument.strip() for argument in inside.split(",")] if inside and inside.strip() else []
    plain = [_value(argument) for argument in given if "=" not in argument]
    named = dict(argument.split("=", 1) for argument in given if "=" in argument)
    try:
        return NAMES[name](*plain, **{key.strip(): _value(value.strip()) for key, value in named.items()})
    except TypeError as error:
        needs = "a number or an attribute, such as gwesp(0.5)" if not given else "other arguments"
        raise ValueError(f"terms of ERGM: {text!r} needs {needs} ({error})") from None


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text) if re.fullmatch(r"\d+", text) else float(text)
    except ValueError:
        return text.strip("'\"")
