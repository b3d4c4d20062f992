"""Functions of one particle applied to all of them, and black boxes that take all of them at once."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core.arguments import is_array, shapes
from lockstep.core.parts import part, static
from lockstep.core.trees import is_alike
from lockstep.core.types import Array, Tree
from lockstep.host.boxes import is_box
from lockstep.host.functions import Function


@part
class Swarm:
    """A user's function applied to all particles: mapped over a leading axis of some of its arguments.

    A black box is called once, with all particles in the leading axis of the same arguments, and of its result.
    """

    function: Any
    name: str = static()
    mapped: tuple[bool, ...] = static()
    is_boxed: bool = static(default=False)

    def __call__(self, *arguments: Any) -> Any:
        axes = tuple(0 if is_mapped else None for is_mapped in self.mapped)
        axes += (None,) * (len(arguments) - len(axes))
        try:
            return self.function(*arguments) if self.is_boxed else jax.vmap(self.function, in_axes=axes)(*arguments)
        except TypeError as error:
            if len(arguments) == len(self.mapped) + 2:  # the time, and an input
                error.add_note("With inputs= every function that takes t takes the input of that time after it.")
            raise

    def __repr__(self) -> str:
        return repr(self.function)


def swarm(function: Any, name: str, *mapped: bool) -> Swarm:
    """A user's function, to be applied to all particles at once; ``mapped`` says which arguments are theirs."""
    if isinstance(function, Swarm):
        return function
    if is_box(function) and function.is_callback:
        raise TypeError(
            f"{name} is a black box with batched=True; leave that out: it is called for all particles of one filter"
        )
    return Swarm(Function(function, name), name, mapped, is_box(function))


def numbers(values: Any, name: str, particles: int, time: Array) -> Array:
    """Values that are one real number for each particle, or an error that says what they are instead."""
    if not is_array(values):
        raise TypeError(f"{name} returned {shapes(values)}{_at(time)}; it must return one real number for a particle")
    dtype = jnp.result_type(values)
    if dtype == np.bool_ or np.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            f"{name} returned {dtype} for a particle{_at(time)}; it must return one real number (a log density is "
            f"jnp.where(condition, 0.0, -jnp.inf), not the condition)"
        )
    if np.shape(values) != (particles,):
        shape = np.shape(values)
        if isinstance(values, jax.Array):
            what, should = f"an array of shape {shape[1:]} for one particle", "sum over the components with jnp.sum"
        else:
            what, should = f"an array of shape {shape}", f"one number for each of the {particles} particles"
        raise ValueError(f"{name} returned {what}{_at(time)}; it must return one number a particle ({should})")
    return values


def one_number(value: Any, name: str, time: Array) -> Array:
    """A value that is one real number for all particles, or an error that says what it is instead."""
    if not is_array(value) or np.shape(value) or jnp.result_type(value).kind not in "fiu":
        raise TypeError(f"{name} returned {shapes(value)}{_at(time)}; it must return one real number")
    return value


def require_states(states: Tree, name: str, particles: int, time: Array, like: object = None) -> Any:
    """States of all particles, or an error that says what they are instead."""
    leaves = jax.tree.leaves(states)
    if not leaves or any(not np.ndim(leaf) or np.shape(leaf)[0] != particles for leaf in leaves):
        raise ValueError(
            f"{name} returned {shapes(states)}{_at(time)}; the first axis of each array must have length {particles}, "
            f"one row a particle"
        )
    if like is not None:
        old = [(np.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves(like)]
        new = [(np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]
        if not is_alike(states, like) or old != new:
            raise ValueError(
                f"{name} returned {_kinds(states)} for a particle{_at(time)}, but the state before was {_kinds(like)}; "
                f"structure, shapes and dtypes of a state must stay the same"
            )
    return states


def _kinds(states: Tree) -> str:
    kinds = ", ".join(f"{jnp.result_type(leaf)}{list(np.shape(leaf)[1:])}" for leaf in jax.tree.leaves(states))
    is_one = jax.tree_util.all_leaves([states])
    return kinds if is_one else f"a {type(states).__name__} of {kinds}"


def _at(time: Array) -> str:
    """Where a value was returned; what compiled code returns has one shape at all times."""
    return " at every time" if isinstance(time, jax.core.Tracer) else f" at time {int(time)}"
