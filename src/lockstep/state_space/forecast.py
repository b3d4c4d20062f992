"""Forecasts: the process simulated on from the ends of paths, each with the parameters of its own draw."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import shapes, whole
from lockstep.core.parts import part, static
from lockstep.core.precision import canonical, double_precision
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.host.draws import draw_bulk
from lockstep.state_space.series import taken
from lockstep.state_space.simulate import Simulated


@part
class Forecaster:
    """Simulates on from paths that end at time ``end``."""

    model: Any
    end: int = static()
    has_inputs: bool = static(default=False)

    def __call__(self, positions: Position, paths: Any, steps: Any, inputs: Tree = None, seed: int = 0) -> Simulated:
        """States and data of that many times after the end, with leading axes (chains, draws, steps)."""
        steps = whole(steps, "steps", 1)
        if self.has_inputs and inputs is None:
            raise TypeError(
                f"inputs is missing: the model has inputs at all times; give run.forecast({steps}, inputs=...) "
                f"arrays with {steps} rows, one for each time after the data"
            )
        for leaf in jax.tree.leaves(inputs):
            if not np.ndim(leaf) or len(leaf) != steps:
                raise ValueError(
                    f"inputs is {shapes(inputs)}; it must have {steps} rows, one for each time after the data"
                )
        last = jax.tree.map(lambda leaf: leaf[:, :, -1].reshape(-1, *leaf.shape[3:]), paths)
        shape = jax.tree.leaves(paths)[0].shape[:2]
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), positions)
        with double_precision():
            key = random.fold_in(random.seeded(whole(seed, "seed", 0)), self.end)
            if self.model.is_boxed or (self.model.observe is not None and self.model.observe.is_boxed):
                found = self._on_host(key, flat, last, steps, inputs)
            else:
                keys = random.split(key, len(jax.tree.leaves(flat)[0]))
                given = canonical((self, flat, last, inputs), "forecast")
                found = _forecast(*given, keys, steps=steps)
            found = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*shape, *leaf.shape[1:]), found)
        return Simulated(*found)

    def one(self, theta: Position, state: Tree, inputs: Tree, key: Key, steps: int) -> Any:
        """States and data after the end of one path."""
        key_states, key_data = random.split(key)
        noise = draw_bulk(self.model.draw, key_states, 1, (steps,))

        def body(states: Tree, index: Array) -> Any:
            at = self._at(index, inputs)
            moved = self.model.transition(taken(noise, index), states, theta, *at)
            if self.model.observe is None:
                return moved, (moved, None)
            key = random.fold_in(key_data, index)[None]
            return moved, (moved, self.model.observe(key, moved, theta, *at))

        first = jax.tree.map(lambda leaf: leaf[None], state)
        found = jax.lax.scan(body, first, jnp.arange(steps))[1]
        return jax.tree.map(lambda leaf: leaf[:, 0], found)

    def _at(self, index: Array, inputs: Tree) -> tuple[Any, ...]:
        time = self.end + 1 + index
        return (time,) if inputs is None else (time, taken(inputs, index))

    def _on_host(self, key: Key, positions: Position, last: Any, steps: int, inputs: Tree) -> Any:
        """Black boxes: a call for each draw and time, since parameters differ from draw to draw."""
        generator = np.random.default_rng(np.asarray(jr.key_data(key)))
        found = []
        for draw in range(len(jax.tree.leaves(positions)[0])):
            theta, states = taken(positions, draw), jax.tree.map(lambda leaf: leaf[draw][None], last)  # noqa: B023
            noise = (
                None if self.model.draw is None else draw_bulk(self.model.draw, random.fold_in(key, draw), 1, (steps,))
            )
            rows = []
            for index in range(steps):
                row = generator if noise is None else jax.tree.map(lambda leaf: np.asarray(leaf[index]), noise)  # noqa: B023
                states = self.model.transition(row, states, theta, *self._at(index, inputs))
                data = None
                if self.model.observe is not None:
                    data = self.model.observe(generator, states, theta, *self._at(index, inputs))
                rows.append(jax.tree.map(lambda leaf: np.asarray(leaf)[0], (states, data)))
            found.append(jax.tree.map(lambda *leaves: np.stack(leaves), *rows))
        return jax.tree.map(lambda *leaves: np.stack(leaves), *found)


def forecaster_of(made: Any) -> Forecaster:
    """What simulates on from the paths of a filter."""
    return Forecaster(made.model, made.series.length, made.series.inputs is not None)


@functools.partial(jax.jit, static_argnames="steps")
def _forecast(forecaster: Forecaster, positions: Position, last: Any, inputs: Tree, keys: Key, steps: int) -> Any:
    return jax.vmap(lambda theta, state, key: forecaster.one(theta, state, inputs, key, steps))(positions, last, keys)
