"""A series of observations: when they were made, which are missing, and the inputs of the model."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import MOST, shapes
from lockstep.core.parts import part, static
from lockstep.core.trees import is_concrete, is_key
from lockstep.core.types import Array, Tree


@part
class Series:
    """Data with a leading axis over the observations, and the time of each.

    The state of time t is made by transition t from that of time t-1, and that of time 0 is the initial one. ``first``
    is the time of the first observation, and ``length`` that of the last: how many transitions there are.
    """

    data: Any
    times: Array
    is_missing: Array
    inputs: Any = None
    first: int = static(default=0)
    length: int = static(default=0)
    is_every_step: bool = static(default=True)  # the observations are those of times 0, 1, 2, ...
    has_missing: bool = static(default=False)
    is_first_missing: bool = static(default=False)

    def __repr__(self) -> str:
        gone = int(np.sum(self.is_missing)) if is_concrete(self.is_missing) else 0
        return f"{self.count} observations" + (f", {gone} missing" if gone else "")

    @property
    def count(self) -> int:
        """How many observations there are."""
        return int(self.times.shape[0])

    def observation(self, index: Array) -> Any:
        """One observation."""
        return taken(self.data, index)

    def time(self, index: Array) -> Any:
        """The time of an observation."""
        return taken(self.times, index)

    def missing(self, index: Array) -> Any:
        """Whether an observation is missing."""
        return taken(self.is_missing, index)

    def at(self, time: Array) -> tuple[Any, ...]:
        """What the functions of the model get at a time: the time, and the input if there are inputs."""
        if self.inputs is None:
            return (time,)
        return time, taken(self.inputs, time)


def taken(tree: Tree, index: Array) -> Any:
    """One row of every leaf."""
    if isinstance(index, jax.core.Tracer):
        return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(jnp.asarray(leaf), index, keepdims=False), tree)
    return jax.tree.map(lambda leaf: leaf[index], tree)


def series(data: Tree, times: Array = None, inputs: Tree = None) -> Series:
    """Data of a user with the times of its observations and the inputs of the model, checked."""
    data, inputs = _plain(data, "data"), _plain(inputs, "inputs")
    leaves = jax.tree.leaves(data)
    if not leaves or not is_concrete(data) or any(np.asarray(leaf).dtype.kind not in "fiub" for leaf in leaves):
        raise TypeError(f"data is {shapes(data)}; it must be real numbers with a leading axis over the observations")
    data = jax.tree.map(np.asarray, data)
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(data)}
    if len(lengths) > 1 or lengths == {()}:
        raise ValueError(f"data is {shapes(data)}; every array must have a leading axis over the observations")
    (count,) = next(iter(lengths))
    if not count:
        raise ValueError("data is empty; give at least one observation")
    given = times
    times = np.arange(count) if times is None else _array(_plain(times, "times"), "times")
    if times.shape != (count,):
        raise ValueError(f"times has shape {times.shape}, but data has {count} observations; give one time for each")
    if times.dtype.kind not in "iu":
        raise TypeError(
            f"times is {given!r}; it must be whole numbers: the number of transitions from the initial state to each "
            f"observation"
        )
    if times[0] < 0 or np.any(np.diff(times) < 1) or times[-1] > MOST:
        raise ValueError(f"times is {times.tolist()}; it must be increasing whole numbers from 0 or later")
    length = int(times[-1])
    if inputs is not None:
        inputs = jax.tree.map(np.asarray, inputs)
        for leaf in jax.tree.leaves(inputs):
            if not leaf.ndim or len(leaf) != length + 1:
                raise ValueError(
                    f"inputs is {shapes(inputs)}, but the data end at time {length}; the first axis of each array must "
                    f"have length {length + 1}, one row for each time from 0 to {length}"
                )
    is_missing = _missing(data, count)
    is_every = bool(times[0] == 0 and length == count - 1)
    return Series(
        data, times, is_missing, inputs, int(times[0]), length, is_every, bool(is_missing.any()), bool(is_missing[0])
    )


def _plain(value: object, name: str) -> Any:
    """Numbers as they are, a list of them as an array."""
    if any(is_key(leaf) for leaf in jax.tree.leaves(value)):
        raise TypeError(f"{name} is {shapes(value)}; it must be numbers, not a random key")
    return _array(value, name) if type(value) is list else value


def _array(value: object, name: str) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} is {value!r}; its rows must have one length") from None


def _missing(data: Tree, count: int) -> np.ndarray:
    """Which observations have no number at all."""
    found = [np.isnan(leaf).reshape(count, -1).all(axis=1) for leaf in jax.tree.leaves(data) if leaf.dtype.kind == "f"]
    is_all = len(found) == len(jax.tree.leaves(data))
    return np.all(found, axis=0) if is_all else np.zeros(count, bool)
