"""Coupling from the past for monotone kernels."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import whole
from lockstep.core.declared import Part
from lockstep.core.kernel import Kernel
from lockstep.core.precision import canonical
from lockstep.core.trees import is_alike, is_concrete
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.perfect.draw import PerfectDraw, precision_of, require, require_key, require_position


def propp_wilson(
    key: Key, kernel: Kernel, bottom: Position, top: Position, limit: int = 2**16, is_below: Any = None
) -> PerfectDraw:
    """An exact draw from the stationary law of a monotone kernel, by coupling from the past.

    The kernel's ``move`` is run from ``bottom`` and from ``top``, both with the noise of the steps -T, …, -1. Where the
    two have met at time 0, so has every state between them; otherwise T is doubled and the old noise *reused*. The
    noise of step -t is a function of ``key`` and t.

    *Exact when* the kernel is monotone: for every noise, ``a ≤ b`` implies ``move(a) ≤ move(b)``; and every state
    lies between ``bottom`` and ``top``. The order of the two paths is looked at in every step, which finds most
    kernels that are not monotone.

    Parameters
    ----------
    key
        A random key.
    kernel
        With ``noise(key, position, shape)``, ``init(position)`` and ``move(state, noise)``, as all kernels here. It may
        not remember a random estimate.
    bottom, top
        The lowest and the highest position.
    limit
        How many steps into the past to go at the most.
    is_below
        ``is_below(a, b)``: the order of positions. By default: every component of a is at most that of b.

    Returns
    -------
    PerfectDraw
        The ``value``, and the number of ``steps`` T.

    Raises
    ------
    PerfectSimulationError
        At the limit, and where the paths were not in order.

    Examples
    --------
    A heat bath of Ising spins is monotone where they attract each other:

    >>> import jax, jax.numpy as jnp, lockstep as ls
    >>> model = ls.models.Ising((4, 4))
    >>> up = jnp.ones((4, 4), jnp.int8)
    >>> draw = ls.perfect.propp_wilson(jax.random.key(1), model.heat_bath(0.2), bottom=-up, top=up)
    >>> draw.value.shape
    (4, 4)

    References
    ----------
    Propp and Wilson (1996), Random Structures and Algorithms 9.
    """
    kernel = adopted(kernel, Kernel, "kernel", "a kernel with noise, init and move")
    require_key(key)
    if kernel.is_memory_random and jax.tree.leaves(jax.eval_shape(kernel.init, bottom, key).memory):
        raise ValueError("kernel of propp_wilson remembers a random estimate; its position alone is no Markov chain")
    if not is_alike(bottom, top):
        raise ValueError("bottom and top of propp_wilson have different structures; both must be positions")
    limit = whole(limit, "limit of propp_wilson", 1)
    with precision_of(key, kernel, bottom, top) as is_own:
        if is_own:
            kernel, bottom, top = (
                canonical(part, name) for part, name in ((kernel, "kernel"), (bottom, "bottom"), (top, "top"))
            )
        for end, name in ((bottom, "bottom"), (top, "top")):
            require_position(end, name)
        if _kinds(bottom) != _kinds(top):
            raise ValueError("bottom and top of propp_wilson have different shapes or dtypes; both must be positions")
        order = below if is_below is None else _order(is_below, bottom, top)
        if is_concrete((order(bottom, top),)) and not np.all(order(bottom, top)):
            raise ValueError("bottom of propp_wilson is not below top; are they swapped?")
        value, steps, is_met, is_ordered = _coupled(key, kernel, (bottom, top), limit, order)
        value = require(
            is_ordered,
            "the paths from bottom and top were not in order: the kernel is not monotone, so that coupling from the "
            "past is no exact draw",
            value,
        )
        value = require(
            is_met,
            f"coupling from the past had not met after {limit:,} steps, the limit; a draw now would be biased: raise "
            f"the limit, or take a kernel that mixes faster",
            value,
        )
    return PerfectDraw(value, steps)


def _kinds(position: Position) -> list[Any]:
    return [(np.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves(position)]


def _order(is_below: Any, bottom: Position, top: Position) -> Any:
    """An order of a user's own: a function of two positions."""
    if isinstance(is_below, (type, Part)) or not callable(is_below):
        raise TypeError(f"is_below is {is_below!r}; it must be a function of two positions")
    try:
        inspect.signature(is_below).bind(bottom, top)
    except TypeError as error:
        raise TypeError(f"is_below is {is_below!r}; it must take two positions ({error})") from None
    return is_below


def below(first: Position, second: Position) -> Array:
    """Whether every component of one position is at most that of another."""
    parts = jax.tree.map(lambda a, b: jnp.all(a <= b), first, second)
    return jnp.all(jnp.stack(jax.tree.leaves(parts)))


@functools.partial(jax.jit, static_argnames="order")
def _coupled(key: Key, kernel: Kernel, ends: tuple[Position, Position], limit: Array, order: Any) -> Any:
    states = tuple(kernel.init(end) for end in ends)

    def step(t: Array, carry: Tree) -> Any:
        """The step at time -t of both paths."""
        states, is_ordered = carry
        noise = noise_at(key, kernel, ends[0], t)
        states = tuple(kernel.move(state, noise)[0] for state in states)
        return states, is_ordered & order(states[0].position, states[1].position)

    def attempt(length: Array) -> Any:
        """The steps -length, ..., -1: where they end, whether they met, and whether they were in order throughout."""
        (low, high), is_ordered = jax.lax.fori_loop(
            0, length, lambda i, carry: step(length - i, carry), (states, jnp.array(True))
        )
        return length, low.position, _is_equal(low.position, high.position), is_ordered

    def is_open(carry: Tree) -> Array:
        length, _, is_met, is_ordered = carry
        return ~is_met & is_ordered & (2 * length <= limit)

    length, value, is_met, is_ordered = jax.lax.while_loop(
        is_open, lambda carry: attempt(2 * carry[0]), attempt(jnp.array(1, np.int32))
    )
    return value, length, is_met | ~is_ordered, is_ordered


def noise_at(key: Key, kernel: Kernel, position: Position, t: Array) -> Any:
    """The noise of the step at time -t: a function of the key and of t alone, so that it can be had again."""
    return kernel.noise(random.fold_in(key, t), position)


def _is_equal(first: Position, second: Position) -> Array:
    parts = jax.tree.map(lambda a, b: jnp.all(a == b), first, second)
    return jnp.all(jnp.stack(jax.tree.leaves(parts)))
