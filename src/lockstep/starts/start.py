"""Where chains begin: at one position, at one for each of them, or by a law."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import is_array, shapes
from lockstep.core.declared import Part
from lockstep.core.parts import part, static
from lockstep.core.precision import canonical, on_device
from lockstep.core.trees import is_key, one_of
from lockstep.core.types import Key, Position
from lockstep.core.warnings import warn
from lockstep.coupling.pair import legs, of_each
from lockstep.host.functions import Function


class Start(Part):
    """What a user gave as ``initial``, or what stands for it in a run."""

    # Plain, for they may be fields: whether it speaks of positions as chains walk on, whatever is shown of them, and
    # whether the user gave no start, so that a better one that a fit finds counts.
    is_walked = False
    is_left_out = False

    @property
    def is_each(self) -> bool:
        """Whether it says where each chain begins, so that a fit puts none of them elsewhere."""
        return not self.is_left_out

    @abstractmethod
    def places(self, chains: int, key: Key, group: range) -> Position:
        """The positions of a group of all ``chains``, of a run that begins with this key; with a leading axis."""

    @abstractmethod
    def one(self, key: Key) -> Position:
        """Where the first chain of a run begins that begins with this key; of a pair, where both do."""

    @abstractmethod
    def placed(self, shown: Any, is_left_out: bool) -> Any:
        """The same as an ``initial`` of positions as chains walk on, if it speaks of what is shown of them."""


@part
class Starts(Start):
    """A start for each chain: positions with a leading axis over the chains."""

    positions: Position
    is_walked: bool = static(default=False)

    def places(self, chains: int, key: Key, group: range) -> Position:
        positions = _canonical(self.positions)
        for leaf in jax.tree.leaves(positions):
            if leaf.ndim == 0 or leaf.shape[0] != chains:
                raise ValueError(
                    f"initial: Starts holds {shapes(positions)}; the first axis of each array must be the {chains} "
                    f"chains"
                )
        return jax.tree.map(lambda leaf: leaf[group.start : group.stop], positions)

    def one(self, key: Key) -> Position:
        return one_of(self.positions, 0)

    def placed(self, shown: Any, is_left_out: bool) -> Starts:
        count = len(jax.tree.leaves(self.positions)[0])
        chains = [of_each(shown.unconstrained, one_of(self.positions, i)) for i in range(count)]
        return Starts(jax.tree.map(lambda *leaves: jnp.stack(leaves), *chains))


@part
class Fixed(Start):
    """One position for all chains, or two for all pairs of them."""

    position: Position

    @property
    def is_each(self) -> bool:
        return len(legs(self.position)) > 1

    def __call__(self, key: Key) -> Position:
        return self.position

    def places(self, chains: int, key: Key, group: range) -> Position:
        position = _canonical(self.position)
        return jax.tree.map(lambda leaf: on_device(np.broadcast_to(leaf, (len(group), *leaf.shape))), position)

    def one(self, key: Key) -> Position:
        return self.position

    def placed(self, shown: Any, is_left_out: bool) -> Position:
        return of_each(shown.unconstrained, self.position)


class Law(Start):
    """A law by which each chain begins: a function of a random key."""

    @abstractmethod
    def __call__(self, key: Key) -> Position:
        """A position."""

    def places(self, chains: int, key: Key, group: range) -> Position:
        return _canonical(jax.vmap(_repeatable(self.function))(start_keys(key, group)))

    def one(self, key: Key) -> Position:
        return self.function(start_keys(key, range(1))[0])

    def placed(self, shown: Any, is_left_out: bool) -> Placing:
        return Placing(shown, self.function, is_left_out)

    @property
    def function(self) -> Function:
        """The law as a function whose errors are explained."""
        return Function(self, "initial")


@part
class Drawn(Law):
    """The law of a user's function."""

    draw: Callable[[Key], Position]

    def __call__(self, key: Key) -> Position:
        return self.draw(key)

    @property
    def function(self) -> Function:
        return Function(self.draw, "initial")


@part
class Placing(Law):
    """A law of values as one of positions."""

    shown: Any
    draw: Callable[[Key], Position]
    is_left_out: bool = static(default=False)

    is_walked = True

    def __call__(self, key: Key) -> Position:
        return of_each(self.shown.unconstrained, self.draw(key))


@part
class Walked(Law):
    """A law of positions as chains walk on, whatever is shown of them."""

    draw: Callable[[Key], Position]

    is_walked = True

    def __call__(self, key: Key) -> Position:
        return self.draw(key)


def start_of(initial: Any) -> Start:
    """What an ``initial`` says of where chains begin."""
    if isinstance(initial, Start):
        return initial
    if isinstance(initial, type):
        raise TypeError(f"initial is the class {initial.__name__}; give a position, or an instance of it")
    return Drawn(initial) if callable(initial) else Fixed(initial)


def initial_positions(initial: Any, chains: int, key: Key, first: int = 0, count: int | None = None) -> Position:
    """Where chains begin, with a leading axis; of a group of them, where these do."""
    return start_of(initial).places(chains, key, range(first, first + (chains if count is None else count)))


def start_keys(key: Key, group: range) -> Key:
    """The keys of the positions at which chains of a group begin; those of what they remember there are others."""
    key_positions, _ = random.two_keys(key)
    return random.fold_in(key_positions, np.asarray(group))


def warn_of_many_starts(initial: Any, chains: object) -> None:
    """Warn of one position that looks like several: arrays whose first axis is as long as there are chains."""
    if start_of(initial).is_each:
        return
    if not isinstance(chains, (int, np.integer)) or chains == 1:  # what is no number is refused later
        return
    given = [np.shape(leaf) for leaf in jax.tree.leaves(initial) if is_array(leaf)]
    # Vectors are positions of as many components as there are chains far more often than a number for each chain.
    if given and all(shape[:1] == (chains,) for shape in given) and any(len(shape) > 1 for shape in given):
        warn(
            f"initial has {shapes(initial)}, and there are {chains} chains: it is taken as one position from which all "
            f"chains begin. If its rows are the starts of the chains, give ls.Starts(initial); if it is one position, "
            f"lambda key: initial says so"
        )


def _canonical(positions: Position) -> Position:
    found = canonical(positions, "initial")
    if any(is_key(leaf) for leaf in jax.tree.leaves(found)):
        raise TypeError("initial is a random key; give a position, or a function of a key that draws one")
    return found


def _repeatable(function: Function) -> Callable[[Key], Position]:
    """The function, refused if it draws from another generator: all chains would then start at one place."""

    def draw(key: Key) -> Position:
        position = function(key)
        if not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(position)):
            again = jax.tree.leaves(function(key))
            if not all(
                np.array_equal(a, b, equal_nan=True) for a, b in zip(jax.tree.leaves(position), again, strict=True)
            ):
                raise TypeError(
                    "initial returned different positions for one key: what it draws does not come from its key. Draw "
                    "it with jax.random"
                )
        return position

    return draw
