"""Filters that stop where their estimate is certain to be too low: early rejection for state-space models.

An increment of the log likelihood estimate is the logarithm of an average of weights, and does not exceed the bound
that a model gives for each of them. So the estimate so far, plus the bounds of all observations that are to come, is an
upper bound of what it will be.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.trees import namespace
from lockstep.core.types import Array, Position, Tree
from lockstep.state_space.filter import Cloud, Filter, FilterNoise, kept
from lockstep.state_space.functions import one_number

SLACK = 1e-9  # of a bound: what rounding may add to an increment


def run_until(
    made: Filter, noise: FilterNoise, theta: Position, least: Array, is_kept: bool = False
) -> tuple[Cloud, tuple[Any, Any]]:
    """Run a filter as long as its log likelihood estimate may become ``least``: the last cloud, and the history.

    The estimate of a filter that stops is minus infinity, and of one that exceeds a bound of its model NaN.
    """
    xp, count = namespace(noise.resampling), made.series.count
    positions, bounds = made.positions(noise), bounds_of(made, theta, xp)
    to_come = xp.append(xp.cumsum(bounds[:0:-1])[::-1], 0.0)  # after each observation

    def held(cloud: Cloud, index: Array) -> Cloud:
        is_exceeded = cloud.increment > bounds[index]
        return cloud._replace(log_likelihood=xp.where(is_exceeded, np.nan, cloud.log_likelihood)[()])

    def is_open(carry: Tree) -> Any:
        index, cloud, *_ = carry
        return (index < count) & ~(cloud.log_likelihood + to_come[index - 1] < least)

    def advanced(carry: Tree) -> Any:
        index, cloud, history, lineage = carry
        cloud, history = made.advance(cloud, positions[index], noise.states, theta, index, history)
        return index + 1, held(cloud, index), history, kept(lineage, cloud.ancestors, index)

    cloud, history = made.begin(noise.states, theta, xp, is_kept)
    lineage = kept(xp.zeros((count, made.particles), np.int32), cloud.ancestors, 0) if is_kept else ()
    if xp is np:
        carry: Any = 1, held(cloud, 0), history, lineage
        while is_open(carry):
            carry = advanced(carry)
    else:
        carry = jax.lax.while_loop(is_open, advanced, (jnp.asarray(1), held(cloud, 0), history, lineage))
    index, cloud, history, lineage = carry
    reached = xp.where(index < count, -np.inf, cloud.log_likelihood)[()]
    return cloud._replace(log_likelihood=reached), (history, lineage)


def bounds_of(made: Filter, theta: Position, xp: Any) -> Array:
    """What the increment at each observation does not exceed, rounding included."""
    series, function = made.series, made.model.log_bound.function

    def of(index: Array) -> Any:
        time = series.time(index)
        found = one_number(function(theta, series.observation(index), *series.at(time)), "log_bound", time)
        most = made.unless_missing(found, index)
        return most + SLACK * (1 + abs(most))

    count = series.count
    return np.array([of(index) for index in range(count)]) if xp is np else jax.vmap(of)(jnp.arange(count))
