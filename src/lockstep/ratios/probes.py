"""A few candidates on which a ratio looks at what it takes on trust, when a run starts."""

from __future__ import annotations

import jax

from lockstep.core.proposal import Proposal
from lockstep.core.types import Key, Position

PROBES = 8


def some_candidates(key: Key, proposal: Proposal, position: Position) -> Position:
    """Candidates from one position, with a leading axis."""
    noise = proposal.noise(key, position, (PROBES,))
    return jax.vmap(lambda one: proposal(one, position)[0])(noise)
