"""Whole paths of the hidden states, from the genealogy of a filter's particles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import namespace
from lockstep.core.types import Array, Tree
from lockstep.state_space.series import Series


def traced(series: Series, history: Tree, lineage: Array, last: Array) -> Any:
    """The path that ends in particle ``last`` of the last observation: a state for each time from 0.

    The particle of an observation has its ancestor among those of the observation before.
    """
    xp = namespace(lineage)
    if xp is np:
        found, chosen = [int(last)], int(last)
        for index in range(series.count - 1, 0, -1):
            chosen = int(lineage[index][chosen])
            found.append(chosen)
        particle_of: Array = np.array(found[::-1])
    else:

        def back(chosen: Array, index: Array) -> tuple[Array, Array]:
            return lineage[index][chosen], chosen

        first, rest = jax.lax.scan(back, last, jnp.arange(series.count - 1, 0, -1))
        particle_of = jnp.concatenate([first[None], rest[::-1]])
    # Between two observations a particle stays the one that it will be at the later.
    observation = xp.searchsorted(xp.asarray(series.times), xp.arange(series.length + 1))
    chosen = particle_of[observation]
    return jax.tree.map(lambda leaf: leaf[xp.arange(series.length + 1), chosen], history)
