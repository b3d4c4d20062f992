"""What a check found."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class Finding:
    """The result of a check; true if nothing is wrong.

    Attributes
    ----------
    is_ok
        Whether the check passed.
    sentence
        What is wrong, or what was checked, in plain words.
    residual
        The largest deviation that was seen (what of, the sentence says).
    worst
        Where it was seen.
    values
        Further numbers by name.
    """

    is_ok: bool
    sentence: str
    residual: float
    worst: Any = None
    values: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.is_ok

    def __repr__(self) -> str:
        return f"{'ok' if self.is_ok else 'WRONG'}: {self.sentence}"
