"""A few candidates on which a ratio looks at what it takes on trust, when a run starts."""

from __future__ import annotations

from typing import Any

import jax

from lockstep.core.types import Key, Position

PROBES = 8


def some_candidates(key: Key, proposal: Any, position: Position) -> Position:
    """Candidates from one position, with a leading axis."""
    noise = proposal.noise(key, position, (PROBES,))
    return jax.vmap(lambda one: proposal(one, position)[0])(noise)
