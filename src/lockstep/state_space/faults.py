"""Which function of a model returned no number, and at which step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import is_floating, namespace
from lockstep.core.types import Array, Position, Tree
from lockstep.state_space.filter import Cloud, Filter
from lockstep.state_space.stopping import bounds_of

SHOULD = "a log density must be a number, or minus infinity outside the support"


def seen(cloud: Cloud) -> tuple[Array, Array]:
    """What is to be seen of a cloud: the increment of the log likelihood, and whether no state is NaN."""
    xp, is_right = namespace(cloud.weights), np.True_
    for leaf in jax.tree.leaves(cloud.states):
        if is_floating(leaf):
            is_right = is_right & ~xp.any(xp.isnan(leaf))
    return cloud.increment, xp.asarray(is_right)


@jax.jit
def looked(made: Filter, noise: Tree, theta: Position) -> Any:
    """What is to be seen of all clouds of a filter."""
    return made(noise, theta, seen)[1]


def fault(made: Filter, increments: np.ndarray, are_right: np.ndarray) -> str | None:
    """The function that first returned no number for a particle, and the step; None if all returned numbers."""
    bad = np.flatnonzero(~(increments < np.inf))
    if not bad.size:
        return None
    index, model = int(bad[0]), made.model
    where = _step(made, index)
    if not are_right[index]:
        is_start = index == 0 and made.series.first == 0
        names = ("initial", "propose_initial") if is_start else ("transition", "propose")
        maker = names[1] if getattr(model, names[1]) is not None else names[0]
        return f"{maker} returned a state that is NaN {where}"
    others = [name for name in ("propose", "look_ahead") if getattr(model, name) is not None]
    return f"{' or '.join(['log_observation', *others])} returned no number for a particle {where}"


def emptied(made: Filter, increments: np.ndarray) -> str | None:
    """At which step no particle had a weight; None if at none."""
    empty = np.flatnonzero(np.isneginf(increments))
    if not empty.size:
        return None
    return f"no particle had a weight {_step(made, int(empty[0]))}"


def exceeded(made: Filter, increments: np.ndarray, theta: Position) -> str | None:
    """At which step the estimate was above the bound that the model gives for it; None if at none, or without one."""
    if made.model.log_bound is None:
        return None
    bounds = np.asarray(bounds_of(made, theta, np if made.model.is_boxed else jnp))
    above = np.flatnonzero(increments > bounds)
    if not above.size:
        return None
    index = int(above[0])
    return (
        f"log_bound returned {bounds[index]:.6g} {_step(made, index)}, where the estimate added {increments[index]:.6g}"
    )


def _step(made: Filter, index: int) -> str:
    return f"at observation {index}, time {int(made.series.times[index])}"
