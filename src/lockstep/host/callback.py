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

from lockstep.core.trees import is_concrete
from lockstep.host.generator import own_generator

LEAST = 4  # of a batch that are worth a thread
MOST_RAISED = 256  # errors that nobody has fetched


def on_host(
    function: Callable[..., Any], like: Any, *arguments: Any, is_batched: bool = True, is_threaded: bool = False
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
    ranks, dtypes = [array.ndim for array in arrays], [array.dtype for array in arrays]

    def host(*words: Any) -> Any:
        given = [_from_words(word, dtype) for word, dtype in zip(words, dtypes, strict=True)]
        batch = given[0].shape[: given[0].ndim - ranks[0]]
        if is_batched:
            given = [
                array.reshape((math.prod(batch), *array.shape[array.ndim - rank :]))
                for array, rank in zip(given, ranks, strict=True)
            ]
        try:
            with own_generator():
                results = _in_threads(function, given) if is_threaded else function(*given)
        except BaseException as error:
            raise _marked(error) from error
        return jax.tree.map(
            lambda one, result: _to_words(np.asarray(result, one.dtype).reshape((*batch, *one.shape))), like, results
        )

    if is_concrete(arrays):
        with raised_here():
            words = host(*(_to_words(np.asarray(array)) for array in arrays))
        return jax.tree.map(lambda one, word: jnp.asarray(_from_words(word, one.dtype)), like, words)
    sent = jax.tree.map(lambda one: jax.eval_shape(_to_words, one), like)
    sending = [_to_words(_not_differentiated(array)) for array in arrays]
    words = jax.pure_callback(host, sent, *sending, vmap_method="broadcast_all" if is_batched else "sequential")
    return jax.tree.map(lambda one, word: _from_words(word, one.dtype), like, words)


def _to_words(array: Any) -> Any:
    """Numbers of 64 bits as two of 32: the threads of callbacks do not know of double precision."""
    if array.dtype.itemsize != 8:
        return array
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape((*array.shape, 1)).view(np.uint32)
    return jax.lax.bitcast_convert_type(array, np.uint32)


def _from_words(words: Any, dtype: Any) -> Any:
    if dtype.itemsize != 8:
        return np.asarray(words) if is_concrete(words) else words
    if is_concrete(words):
        return np.ascontiguousarray(words).view(dtype)[..., 0]
    return jax.lax.bitcast_convert_type(words, dtype)


@jax.custom_jvp
def _not_differentiated(array: Any) -> Any:
    """An argument of a callback, through which no derivative goes: it would be zero without a word."""
    return array


@_not_differentiated.defjvp
def _refuse(primals: Any, tangents: Any) -> Any:
    raise TypeError("a black box has no derivative in compiled code; write this function with jax.numpy")


def _in_threads(function: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
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
