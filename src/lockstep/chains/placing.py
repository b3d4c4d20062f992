"""Starts that users give as values of named parameters, or leave to the prior, as positions on which chains walk."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from lockstep.chains.starts import Starts
from lockstep.core.kernel import Kernel
from lockstep.core.parts import part, static
from lockstep.core.shown import Shown
from lockstep.core.types import Key, Position
from lockstep.coupling.common_noise import Pair
from lockstep.host.functions import Function


@part
class Placing:
    """A law of values as one of positions."""

    shown: Any
    draw: Any
    is_left_out: bool = static(default=False)  # the user gave no start: where a fit finds a better one, it counts

    def __call__(self, key: Key) -> Position:
        return legs_placed(self.shown, self.draw(key))


@part
class Walked:
    """A law of positions as chains walk, whatever is shown of them."""

    draw: Any

    def __call__(self, key: Key) -> Position:
        return self.draw(key)


def placed(kernel: Kernel, initial: Any) -> Any:
    """Where chains walk from, for what a user gave as ``initial``; None: the kernel says, or it is refused."""
    shown: Shown | None = kernel.shown
    is_left_out = initial is None
    if is_left_out:
        initial = law_of(kernel)
    if shown is None or shown.unconstrained is None or isinstance(initial, (Placing, Walked)):
        return initial
    if isinstance(initial, Starts):
        return initial if initial.is_walked else Starts(_each_placed(shown, initial.positions))
    if isinstance(initial, type) or not callable(initial):
        return legs_placed(shown, initial)
    return Placing(shown, Function(initial, "initial"), is_left_out)


def law_of(kernel: Kernel) -> Any:
    """The law of the values at which chains begin, if the user did not say."""
    if kernel.shown is None or kernel.shown.draw is None:
        raise ValueError(
            "initial is None; give a position (only kernels of ls.Parameters draw one from their priors themselves)"
        )
    kernel.shown.require_law()
    return kernel.shown.draw


def legs_placed(shown: Any, values: object) -> Any:
    """The position with some values; of a pair, both."""
    if isinstance(values, Pair):
        return Pair(*(shown.unconstrained(leg) for leg in values))
    return shown.unconstrained(values)


def _each_placed(shown: Any, values: object) -> Any:
    """The same with a leading axis over chains."""
    count = len(jax.tree.leaves(values)[0])
    chains = [legs_placed(shown, jax.tree.map(lambda leaf: leaf[i], values)) for i in range(count)]  # noqa: B023
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *chains)
