"""The one call out of compiled code: all chains at once, in double precision, errors as they were raised."""

from __future__ import annotations

import functools
import itertools
import logging
import math
import os
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.buffer_callback import buffer_callback

from lockstep.core.trees import is_concrete
from lockstep.core.types import Array
from lockstep.host.generator import own_generator

LEAST = 4  # of a batch that are worth a thread
METHODS = {True: "broadcast_all", False: "sequential"}  # of JAX, for mapped programs
MOST_RAISED = 256  # errors that nobody has fetched


def on_host(
    function: Callable[..., Any], like: object, *arguments: Any, is_batched: bool = True, is_threaded: bool = False
) -> Any:
    """Call ``function`` with NumPy arrays; within a mapped program, once for the whole batch.

    A call keeps nothing behind: its error travels with it, so that a call that failed has no result, whatever other
    threads are doing with the same function.

    Parameters
    ----------
    function
        Takes arrays with one leading axis over the batch, and returns arrays with it.
    like
        Shapes and dtypes of the results of one call, without the batch.
    arguments
        Arrays. They arrive as they are, in double precision, too.
    is_batched
        False: a mapped program calls the function for one element of the batch after the other, and its arrays have no
        axis over the batch.
    is_threaded
        Whether parts of a batch may run in threads: for functions that release the interpreter's lock. Results do not
        depend on it.
    """
    arrays = [jnp.asarray(argument) for argument in arguments]
    ranks = [array.ndim for array in arrays]

    def host(*given: np.ndarray) -> Any:
        batch = given[0].shape[: given[0].ndim - ranks[0]]
        if is_batched:
            given = tuple(
                array.reshape((math.prod(batch), *array.shape[array.ndim - rank :]))
                for array, rank in zip(given, ranks, strict=True)
            )
        try:
            with own_generator():
                results = _in_threads(function, given) if is_threaded else function(*given)
        except BaseException as error:
            raise _marked(error) from error
        return jax.tree.map(
            lambda one, result: np.asarray(result, one.dtype).reshape((*batch, *one.shape)), like, results
        )

    if is_concrete(arrays):
        with raised_here():
            found = host(*map(np.asarray, arrays))
        return jax.tree.map(jnp.asarray, found)
    way = _by_buffers if jax.default_backend() == "cpu" else _by_words
    return way(host, like, [_not_differentiated(array) for array in arrays], METHODS[is_batched])


def _by_buffers(host: Callable[..., Any], like: object, arrays: list[Any], method: str) -> Any:
    """Called with copies of what the program computed, made here and now.

    `jax.pure_callback` would have them copied by a thread of JAX's pool and wait for it: without end, if the program
    itself runs there and the pool has no other thread, as on one processor.
    """

    def call(_: Any, results: Any, *buffers: Any) -> None:
        found = host(*(np.asarray(buffer).copy() for buffer in buffers))
        for result, value in zip(jax.tree.leaves(results), jax.tree.leaves(found), strict=True):
            np.asarray(result)[...] = value

    return buffer_callback(call, like, vmap_method=method)(*arrays)


def _by_words(host: Callable[..., Any], like: object, arrays: list[Any], method: str) -> Any:
    """The same from other devices than processors."""
    dtypes = [array.dtype for array in arrays]

    def call(*words: Any) -> Any:
        found = host(*(_from_words(word, dtype) for word, dtype in zip(words, dtypes, strict=True)))
        return jax.tree.map(_to_words, found)

    sent = jax.tree.map(lambda one: jax.eval_shape(_to_words, one), like)
    words = jax.pure_callback(call, sent, *map(_to_words, arrays), vmap_method=method)
    return jax.tree.map(lambda one, word: _from_words(word, one.dtype), like, words)


def _to_words(array: Array) -> Any:
    """Numbers of 64 bits as two of 32: the threads of callbacks do not know of double precision."""
    if array.dtype.itemsize != 8:
        return array
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape((*array.shape, 1)).view(np.uint32)
    return jax.lax.bitcast_convert_type(array, np.uint32)


def _from_words(words: Array, dtype: Any) -> Any:
    if dtype.itemsize != 8:
        return np.asarray(words) if is_concrete(words) else words
    if is_concrete(words):
        return np.ascontiguousarray(words).view(dtype)[..., 0]
    return jax.lax.bitcast_convert_type(words, dtype)


@jax.custom_jvp
def _not_differentiated(array: Array) -> Any:
    """An argument of a callback, through which no derivative goes: it would be zero without a word."""
    return array


@_not_differentiated.defjvp
def _refuse(primals: Any, tangents: Any) -> Any:
    raise TypeError("a black box has no derivative in compiled code; write this function with jax.numpy")


def _in_threads(function: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> Any:
    """Call a function on parts of a batch at the same time."""
    count = min(os.cpu_count() or 1, len(arrays[0]) // LEAST)
    if count < 2:
        return function(*arrays)
    parts = zip(*(np.array_split(array, count) for array in arrays), strict=True)
    results = list(_pool().map(lambda part: function(*part), parts))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *results)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="lockstep-host")


class HostError(RuntimeError):
    """An error on its way out of a compiled program, which lets through nothing of it but a text with a number."""


_raised: dict[int, BaseException] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()


def _marked(error: BaseException) -> HostError:
    with _lock:
        number = next(_numbers)
        _raised[number] = error
        while len(_raised) > MOST_RAISED:
            del _raised[next(iter(_raised))]
    return HostError(f"{error} [host error {number}]")


@contextmanager
def raised_here() -> Iterator[None]:
    """Let an error of a function on the host leave a compiled program as it was raised.

    The scope must wait for what the program computes (`jax.block_until_ready`).
    """
    try:
        yield
    except Exception as error:  # a HostError, or whatever JAX has made of it: a JaxRuntimeError or a ValueError
        found = re.findall(r"\[host error (\d+)\]", str(error))
        originals = [original for number in found if (original := _raised.pop(int(number), None)) is not None]
        if not originals:
            raise
        raise originals[0] from None


class _IsNotOurs(logging.Filter):
    """JAX logs the traceback of every error in a callback; those that arrive as they were raised need no second one."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], HostError)


logging.getLogger("jax._src.callback").addFilter(_IsNotOurs())
