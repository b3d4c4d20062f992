"""Calls of users' functions that were made before they were asked for, and what came of them.

A call is known by its function and its arguments, to the last bit; a generator among them by its state. So it does not
matter who foresaw a call, or why: what was not foreseen, or not so, is called when it is needed, and nothing changes
but the time that it takes.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.kernel import Kernel
from lockstep.core.types import Array
from lockstep.host.black_box import BlackBox, replaced
from lockstep.host.boxes import boxes, map_boxes
from lockstep.host.callee import Callee

Around = Callable[[bytes, list[Any], Callable[[], Any]], Any]  # a call by its name, its generators, and how to make it


class Made(NamedTuple):
    """A call that was made: its name, its value or what it raised, and the states in which it left its generators."""

    name: bytes
    value: Any
    error: Any
    states: list[Any]


def making(kernel: Kernel, made: list[Made], packed: Callable[[Exception], Any]) -> Any:
    """The kernel with black boxes that note each of their calls in ``made``; errors as ``packed`` makes them."""

    def note(name: bytes, generators: list[Any], call: Callable[[], Any]) -> Any:
        try:
            value = call()
        except Exception as error:
            made.append(Made(name, None, packed(error), _states(generators)))
            raise
        made.append(Made(name, value, None, _states(generators)))
        return value

    return _around(kernel, note)


def recalling(kernel: Kernel, known: dict[bytes, Made], unpacked: Callable[[Any], Exception]) -> Any:
    """The kernel with black boxes that do not make a call which is ``known``, but give, or raise, what came of it."""

    def recall(name: bytes, generators: list[Any], call: Callable[[], Any]) -> Any:
        if (made := known.get(name)) is None:
            return call()
        for generator, state in zip(generators, made.states, strict=True):
            generator.bit_generator.state = state
        if made.error is not None:
            raise unpacked(made.error)
        return made.value

    return _around(kernel, recall)


def _around(kernel: Kernel, around: Around) -> Any:
    """The kernel with something around each call of its black boxes."""
    callees = list(dict.fromkeys(box.callee for box in boxes(kernel)))
    changed = {callee: _called(callee, number, around) for number, callee in enumerate(callees)}

    def change(box: BlackBox) -> BlackBox:
        return replaced(box, callee=changed[box.callee])

    return map_boxes(change, kernel)


def _called(callee: Callee, number: int, around: Around) -> Callee:
    function = callee.function

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        leaves = jax.tree.leaves((arguments, keywords))
        generators = [leaf for leaf in leaves if isinstance(leaf, np.random.Generator)]
        return around(_name(number, leaves), generators, lambda: function(*arguments, **keywords))

    return Callee(call)


def _name(number: int, leaves: Sequence[Any]) -> bytes:
    """A call by the number of its function and all that it is given."""
    digest = hashlib.blake2b(str(number).encode(), digest_size=16)
    for leaf in leaves:
        for piece in _pieces(leaf):
            digest.update(piece)
    return digest.digest()


def _pieces(leaf: Array) -> list[bytes]:
    if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind != "O":
        return [f"{leaf.dtype.str}{leaf.shape}".encode(), leaf.tobytes()]
    if isinstance(leaf, np.random.Generator):
        return [repr(jax.tree.map(_plain, leaf.bit_generator.state)).encode()]
    return [pickle.dumps(leaf)]


def _plain(value: object) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _states(generators: list[Any]) -> list[Any]:
    return [generator.bit_generator.state for generator in generators]
