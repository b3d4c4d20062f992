"""What checks are given: points with a leading axis over them, and how many draws to make at each."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import MOST_SEED, is_number, shapes, whole
from lockstep.core.precision import canonical
from lockstep.core.trees import is_alike, is_key
from lockstep.core.types import Position


def points_of(values: object, name: str) -> Any:
    """Points with a leading axis over them, or an error that names them."""
    points = canonical(values, name)
    leaves = jax.tree.leaves(points)
    if not leaves or any(is_key(leaf) or np.ndim(leaf) == 0 or not len(leaf) for leaf in leaves):
        raise ValueError(
            f"{name} is {shapes(values)}; give points, with a leading axis over them, such as np.arange(3)"
        )
    if len({len(leaf) for leaf in leaves}) > 1:
        raise ValueError(f"{name} is {shapes(values)}; the leading axes must agree, as many points in each array")
    return points


def pairs_of(positions: Position, candidates: Position) -> tuple[Any, Any]:
    """Positions and as many candidates, alike in structure and shapes."""
    here, there = points_of(positions, "positions"), points_of(candidates, "candidates")
    is_same = is_alike(here, there) and all(
        np.shape(one) == np.shape(other)
        for one, other in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True)
    )
    if not is_same:
        raise ValueError(f"positions are {shapes(here)}, but candidates {shapes(there)}; give one candidate a position")
    return here, there


def draws_of(replicates: Any, seed: Any) -> tuple[int, int]:
    """How many draws to make, and their seed."""
    return whole(replicates, "replicates", 1), whole(seed, "seed", 0, MOST_SEED)


def tolerance_of(tolerance: Any) -> float:
    """The largest deviation that passes."""
    if not is_number(tolerance) or not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance!r}; it must be one number, at least 0")
    return float(tolerance)
