"""Pieces of HTML that all reports share."""

from __future__ import annotations

import html
from collections.abc import Iterable
from importlib import resources


def base_style() -> str:
    """The style sheet of every report."""
    return resource("base.css")


def resource(name: str) -> str:
    """The text of a file of this package."""
    return resources.files("lockstep.results.report").joinpath(name).read_text(encoding="utf-8")


def items(texts: Iterable[str]) -> str:
    """The items of a list."""
    return "\n".join(f"<li>{html.escape(text)}</li>" for text in texts)


def definitions(facts: dict[str, str]) -> str:
    """Names and what they stand for."""
    return "\n".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in facts.items())
