"""Tables of cases of which some run in the suite and all with the studies.

A fault of one case is nearly always a fault of its kind: what is told of every kernel, in every way, is told in the
suite of one kernel of each kind, or of each kernel in some of the ways.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def chosen(cases: Iterable[Any], here: Collection[str], optimized: Collection[str] = ()) -> list[Any]:
    """Parameters of a test: cases, or their names, of which these run in the suite, some compiled as users do."""
    named = {case if isinstance(case, str) else case.name: case for case in cases}
    assert set(here) | set(optimized) <= set(named), (set(here) | set(optimized)) - set(named)
    marks = {name: pytest.mark.study for name in named}
    marks |= dict.fromkeys(optimized, pytest.mark.optimized) | dict.fromkeys(here, ())
    return [pytest.param(case, id=name, marks=marks[name]) for name, case in named.items()]


def in_turn(names: Iterable[str], turn: int, of: int = 3) -> list[Any]:
    """Parameters of a test: every third case runs in the suite, beginning with another in every turn."""
    return [
        pytest.param(name, id=name, marks=() if (number + turn) % of == 0 else pytest.mark.study)
        for number, name in enumerate(names)
    ]
