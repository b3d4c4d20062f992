"""The one way in which a user's function is called on the host."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lockstep.core.trees import FLAG, is_concrete, is_key
from lockstep.core.types import Tree
from lockstep.host.callee import Callee
from lockstep.host.generator import RandomKey, is_generator, is_words
from lockstep.host.limit import limited
from lockstep.host.scope import outside

ARRAY, FLOAT = np.ndarray, np.float64
lock: Callable[[Any], None] = operator.methodcaller("setflags", False)  # (by name, `write=False` takes twice as long)


def _as_it_is(result: Any) -> Any:
    return result


def _unexplained(error: Exception, arguments: tuple[Any, ...]) -> None:
    """A caller of whom nobody knows what the function is for."""


def calling(
    callee: Callee, checked: Callable[[Any], Any] = _as_it_is, explain: Callable[..., None] = _unexplained
) -> Callable[..., Any]:
    """What calls a function once for its value, in the scope in which it is made, with all that can be known before.

    ``checked`` looks at every result but one float, and ``explain(error, arguments)`` says more of an error. A
    function of one array or number is not called again for the very one of its last call (arrays are read-only here,
    and no function has another one's): an exchange asks for the prior of a candidate before it simulates there, and
    again for its posterior.
    """
    function, rng_name, run = called(callee), callee.rng_name, outside()
    last: Any = callee  # the array of the last call
    value: Any = None  # and its result
    is_looked_at, is_limited = False, callee.takes_limit
    named = rng_name or ""

    def of_arrays(*arguments: Any) -> Any:
        nonlocal last, value, is_looked_at
        if arguments[0] is last:
            return value
        given = arguments
        try:
            for argument in arguments:
                if type(argument) is not ARRAY:
                    given = tuple(map(own, arguments))
                    if not is_looked_at:
                        if is_generator(arguments[0]):
                            callee.require_generator_first(len(arguments))
                        is_looked_at = True
                    break
                lock(argument)
            result = run(function, *given)
        except Exception as error:
            explain(error, arguments)
            raise
        kind = type(result)
        if kind is not FLOAT:
            result = FLOAT(result) if kind is float else checked(result)
        # (Of flags there are but two: the same one may be another position.)
        if len(arguments) == 1 and given[0] is arguments[0] and type(given[0]) is not FLAG and not is_limited:
            last, value = arguments[0], result
        return result

    def with_generator(*arguments: Any) -> Any:
        try:
            rng, *others = map(own, arguments)
            if isinstance(rng, np.random.Generator):
                result = run(function, *others, **{named: rng})
            else:
                result = run(function, rng, *others)
        except Exception as error:
            explain(error, arguments)
            raise
        kind = type(result)
        if kind is FLOAT:
            return result
        return FLOAT(result) if kind is float else checked(result)

    return of_arrays if rng_name is None else with_generator


def called(callee: Callee) -> Callable[..., Any]:
    """The function itself, or with the limit below which it may stop."""
    return limited(callee.function) if callee.takes_limit else callee.function


def sampling(
    callee: Callee, count: int, is_vectorized: bool, explain: Callable[..., None] = _unexplained
) -> Callable[..., Any]:
    """What calls a function for ``count`` samples: once, or with one generator (or a row of noise) for each."""
    function, rng_name, run = called(callee), callee.rng_name, outside()
    keywords: dict[str, Any] = {"count": count} if callee.takes_count else {}
    is_looked_at = False

    def samples(noise: Tree, *others: Any) -> Any:
        nonlocal is_looked_at
        try:
            given: tuple[Any, ...] = others
            for argument in others:
                if type(argument) is not ARRAY:
                    given = tuple(map(own, others))
                    break
                lock(argument)
            is_of_words = type(noise) is RandomKey
            if not is_of_words and not is_key(noise):
                if is_vectorized:
                    return run(function, own(noise), *given, **keywords)
                rows = [jax.tree.map(lambda leaf, i=i: np.asarray(leaf)[i], noise) for i in range(count)]
                return [_kept(run(function, own(row), *given, **keywords)) for row in rows]
            rng = noise.generator() if is_of_words else own(noise)
            if rng_name is not None:
                named = {**keywords, rng_name: rng}
            else:
                if not is_looked_at:
                    callee.require_generator_first(1 + len(others))
                    is_looked_at = True
                given, named = (rng, *given), keywords
            if is_vectorized:
                return run(function, *given, **named)
            return run(repeated, function, given, named, count)
        except Exception as error:
            explain(error, (noise, *others))
            raise

    return samples


def repeated(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], count: int
) -> list[Any]:
    """That many results of a function, which may use its array again."""
    first = function(*arguments, **keywords)
    if type(first) is ARRAY:
        return [first.copy(), *(_kept(function(*arguments, **keywords)) for _ in range(count - 1))]
    return [first, *[function(*arguments, **keywords) for _ in range(count - 1)]]


def _kept(result: Any) -> Any:
    """A sample that does not change when the function uses its array again."""
    return result.copy() if type(result) is ARRAY else result


def own(argument: Any) -> Any:
    """An argument as a user's function gets it: read-only NumPy arrays, and a generator for a random key."""
    kind = type(argument)
    if kind is ARRAY:
        argument.setflags(write=False)
        return argument
    if kind is RandomKey:
        return argument.generator()
    if isinstance(argument, np.generic):
        return argument
    if not is_concrete(argument):
        raise TypeError(
            "a black box was called in code that is being compiled, or by a function that is no black box; wrap the "
            "outermost function, ls.blackbox(function). A draw, an initial position and the sample of ls.Independent "
            "must be JAX functions"
        )
    if isinstance(argument, jax.Array):
        return RandomKey.of(argument).generator() if is_key(argument) else own(np.array(argument)[()])
    if jax.tree_util.all_leaves([argument]):
        return argument
    return jax.tree.map(own, argument, is_leaf=is_words)
