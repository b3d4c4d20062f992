"""Whether a compiled update is so cheap that to skip it would cost as much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

MOST_NUMBERS = 2000  # that a cheap update computes, one by one


def is_cheap(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a function computes few numbers, without loops, branches and calls of the host; nothing is run."""
    like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.asarray(leaf).dtype), arguments)
    total = 0.0
    for numbers in _numbers(jax.make_jaxpr(function)(*like).jaxpr):
        total += numbers
        if total > MOST_NUMBERS:
            return False
    return True


def _numbers(program: Any) -> Iterator[float]:
    """How many numbers each step of a program computes; infinitely many where that depends on what happens."""
    for step in program.eqns:
        inner = [value for value in jax.tree.leaves(list(step.params.values())) if isinstance(value, PROGRAMS)]
        if step.primitive.name in ("while", "scan", "cond", "buffer_callback", "pure_callback", "io_callback"):
            yield float("inf")
        elif inner:
            for one in inner:
                yield from _numbers(one.jaxpr if isinstance(one, core.ClosedJaxpr) else one)
        else:
            # A product of matrices reads more than it writes.
            yield float(sum(np.prod(value.aval.shape) for value in (*step.invars, *step.outvars)))


PROGRAMS = (core.Jaxpr, core.ClosedJaxpr)
