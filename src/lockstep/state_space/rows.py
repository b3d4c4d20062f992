"""The noise of all particles at all times, drawn at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from lockstep.core import random
from lockstep.core.trees import is_concrete
from lockstep.core.types import Key
from lockstep.host.draws import draw_bulk

MOST = 2**17  # numbers that one call may make: more of them do not fit a cache, through which a generator passes often


def draw_rows(draw: Callable[..., Any], key: Key, rows: int, count: int) -> Any:
    """A row of noise for each time, with that of ``count`` particles each: from one call of ``draw``, or from several.

    Each of several calls makes some of the rows, with a key of its own, so that the time is linear in their number.
    """
    calls = min(-(-rows * count // MOST), rows)
    if calls <= 1:
        return draw_bulk(draw, key, count, (rows,))
    each = -(-rows // calls)
    keys = random.split(key, -(-rows // each))

    def draw_some(key: Key) -> Any:
        return draw_bulk(draw, key, count, (each,))

    if is_concrete(key):
        found = jax.tree.map(lambda *parts: jnp.stack(parts), *map(draw_some, keys))
    else:
        found = jax.lax.map(draw_some, keys)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:rows], found)
