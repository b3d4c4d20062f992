"""Black boxes as an interpreted kernel calls them: straight, with all that is known of them looked up once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.black_box import own, repeated
from lockstep.estimators.samples import Samples, all_samples, is_boxed, rows_of
from lockstep.functions import Function, Scalar, as_arrays, as_scalar, explain
from lockstep.randomness import RandomKey, outside
from lockstep.types import Key, Position, Shape

ARRAY, FLOAT = np.ndarray, np.float64
lock: Callable[[Any], None] = operator.methodcaller("setflags", False)  # (by name, `write=False` takes twice as long)


def is_direct(node: Any) -> bool:
    """Whether a part of a kernel is a black box with what wraps it, and can be called straight."""
    if isinstance(node, (Function, Scalar)):
        return is_boxed(node) and not node.function.is_callback
    return isinstance(node, Samples) and is_direct(node.sample)


def direct(node: Any, functions: dict[Any, Any]) -> Any:
    """What stands for such a part, in the scope in which it is made; equal ``functions`` are made once."""
    if isinstance(node, Samples):
        return DirectSamples(node)
    return functions.setdefault((node.function.callee, node.name, type(node)), direct_function(node))


def direct_function(part: Function | Scalar) -> Callable[..., Any]:
    """A user's function, with its errors explained and its result checked.

    A function of one array is not called again for the very array of its last call (arrays are read-only here): an
    exchange asks for the prior of a candidate before it simulates there, and again for its posterior.
    """
    box, name, run = part.function, part.name, outside()
    function, rng_name = box.callee.function, box.callee.rng_name
    checked: Any = as_scalar if isinstance(part, Scalar) else as_arrays
    last: Any = part  # the array of the last call
    value: Any = None  # and its result

    def of_arrays(*arguments: Any) -> Any:
        nonlocal last, value
        if arguments[0] is last:
            return value
        given = arguments
        for argument in arguments:
            if type(argument) is not ARRAY:
                given = tuple(map(own, arguments))
                break
            lock(argument)
        try:
            result = run(function, *given)
        except Exception as error:
            explain(error, box, name, arguments)
            raise
        result = FLOAT(result) if type(result) is float else checked(result, name)
        if len(arguments) == 1 and given is arguments:
            last, value = arguments[0], result
        return result

    def with_generator(*arguments: Any) -> Any:
        try:
            rng, *others = map(own, arguments)
            if isinstance(rng, np.random.Generator):
                result = run(function, *others, **{rng_name: rng})
            else:
                result = run(function, rng, *others)
        except Exception as error:
            explain(error, box, name, arguments)
            raise
        return checked(result, name)

    return of_arrays if rng_name is None else with_generator


class DirectSamples:
    """`Samples` from a black box: one generator for all samples of an update, or the noise of a ``draw``."""

    def __init__(self, part: Samples) -> None:
        self.part, self.count = part, part.count
        self.box = part.sample.function
        callee = self.box.callee
        self.function, self.rng_name = callee.function, callee.rng_name
        self.keywords: dict[str, Any] = {"count": self.count} if callee.takes_count else {}
        self.outside = outside()

    def noise(self, key: Key, shape: Shape = ()) -> Any:
        return self.part.noise(key, shape)

    def __call__(self, noise: Any, position: Position, candidate: Position) -> Any:
        if type(noise) is not RandomKey:
            return all_samples(self.part.sample, self.count, (noise, position, candidate))
        function, keywords = self.function, self.keywords
        rng = noise.generator()
        try:
            if type(position) is type(candidate) is ARRAY:
                lock(position)
                lock(candidate)
            else:
                position, candidate = own(position), own(candidate)
            arguments: tuple[Any, ...] = (rng, position, candidate)
            if self.rng_name is not None:
                arguments, keywords = arguments[1:], {**keywords, self.rng_name: rng}
            if self.box.is_vectorized:
                samples = self.outside(function, *arguments, **keywords)
            else:
                samples = self.outside(repeated, function, arguments, keywords, self.count)
        except Exception as error:
            explain(error, self.box, self.part.sample.name, (noise, position, candidate))
            raise
        return rows_of(samples, self.part.sample, self.count)
