"""Draws of the hidden process and of its observations."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.parts import show
from lockstep.core.precision import canonical, double_precision
from lockstep.core.trees import is_key
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.host.draws import draw_bulk
from lockstep.state_space.filter import Filter
from lockstep.state_space.functions import require_states
from lockstep.state_space.series import Series, series, taken


class Simulated(NamedTuple):
    """States, a row for each time from 0, and data, a row for each observation; arrays of NumPy."""

    states: Any
    data: Any


def simulated(model: Any, key: Key, theta: Position, times: Array, inputs: Tree) -> Simulated:
    """One draw of the process from its initial law, observed at some times."""
    if not is_key(key):
        raise TypeError(f"key is {show(key)}; it must be a random key, such as jax.random.key(1)")
    times = np.arange(times) if isinstance(times, (int, np.integer)) and times > 0 else times
    with double_precision():
        plan = series(np.zeros(np.shape(times)), times, inputs)
        theta = canonical(theta, "theta")
        if model.is_boxed or (model.observe is not None and model.observe.is_boxed):
            found = on_host(model, key, theta, plan)
        else:
            found = _simulated(model, key, theta, canonical(plan, "series"))
        states, data = jax.tree.map(np.asarray, found)
    return Simulated(states, data)


@jax.jit
def _simulated(model: Any, key: Key, theta: Position, plan: Series) -> Any:
    key_states, key_data = random.split(key)
    made = Filter(model, plan, 1)
    noise = draw_bulk(model.draw, key_states, 1, (plan.length + 1,))
    first = made.settled(require_states(model.initial(taken(noise, 0), theta), "initial", 1, 0), noise, theta)

    def body(states: Tree, time: Array) -> Any:
        moved = model.transition(taken(noise, time), states, theta, *plan.at(time))
        moved = require_states(moved, "transition", 1, time, states)
        return moved, moved

    _, rest = jax.lax.scan(body, first, jnp.arange(1, plan.length + 1))
    states = jax.tree.map(lambda one, more: jnp.concatenate([one[None], more])[:, 0], first, rest)
    if model.observe is None:
        return states, None

    def observe(key: Any, time: Array) -> Any:
        one = jax.tree.map(lambda leaf: leaf[time][None], states)
        return jax.tree.map(lambda leaf: leaf[0], model.observe(key[None], one, theta, *plan.at(time)))

    keys = random.split(key_data, plan.count)
    return states, jax.lax.map(lambda both: observe(*both), (keys, plan.times))


def on_host(model: Any, key: Any, theta: Position, plan: Series) -> Any:
    """The same with black boxes, which draw from a generator."""
    generator = np.random.default_rng(np.asarray(jr.key_data(key)))
    theta = jax.tree.map(lambda leaf: np.asarray(leaf)[()], theta)
    noise = None if model.draw is None else draw_bulk(model.draw, key, 1, (plan.length + 1,))

    def row(time: int) -> Any:
        return generator if noise is None else jax.tree.map(lambda leaf: np.asarray(leaf[time]), noise)

    found = [require_states(model.initial(row(0), theta, *((1,) if model.initial.is_boxed else ())), "initial", 1, 0)]
    for time in range(1, plan.length + 1):
        moved = model.transition(row(time), found[-1], theta, *plan.at(time))
        found.append(require_states(moved, "transition", 1, time))
    data = None
    if model.observe is not None:
        rows = [model.observe(generator, found[int(time)], theta, *plan.at(int(time))) for time in plan.times]
        data = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf)[0] for leaf in leaves]), *rows)
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf)[0] for leaf in leaves]), *found), data
