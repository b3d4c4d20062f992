"""Calls out of compiled programs: one call on the host for all chains, and errors that arrive as they were raised."""

from __future__ import annotations

import functools
import itertools
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

from lockstep.parts import is_concrete

_raised: dict[int, Exception] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()

LEAST = 4  # of a batch that are worth a thread


def on_host(
    function: Callable[..., Any], like: Any, dimensions: tuple[int, ...], *arguments: Any, is_threaded: bool = False
) -> Any:
    """Call ``function`` with NumPy arrays; within a mapped program, once for the whole batch.

    Parameters
    ----------
    function
        Takes arrays with one leading axis over the batch, and returns arrays with it.
    like
        Shapes and dtypes of the results of one call, without the batch.
    dimensions
        How many axes each argument has, without the batch.
    arguments
        Arrays.
    is_threaded
        Whether parts of a batch may run in threads: for functions that release the interpreter's lock. Results do not
        depend on it.
    """

    def host(*arrays: Any) -> Any:
        arrays = tuple(np.asarray(array) for array in arrays)
        batch = arrays[0].shape[: arrays[0].ndim - dimensions[0]]
        flat = tuple(
            array.reshape((math.prod(batch), *array.shape[array.ndim - count :]))
            for array, count in zip(arrays, dimensions, strict=True)
        )
        try:
            results = _in_threads(function, flat) if is_threaded else function(*flat)
        except Exception as error:
            raise _marked(error) from error
        return jax.tree.map(
            lambda result, one: np.asarray(result, one.dtype).reshape((*batch, *one.shape)), results, like
        )

    if is_concrete(arguments):
        with raised_here():
            return jax.tree.map(jnp.asarray, host(*arguments))
    return jax.pure_callback(host, like, *arguments, vmap_method="broadcast_all")


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
    """An error on its way out of a compiled program."""


def _marked(error: Exception) -> HostError:
    with _lock:
        number = next(_numbers)
        _raised[number] = error
    return HostError(f"{error} [host error {number}]")


@contextmanager
def raised_here() -> Iterator[None]:
    """Let an error of a function on the host leave a compiled program as it was raised."""
    try:
        yield
    except (HostError, jax.errors.JaxRuntimeError) as error:
        found = re.search(r"\[host error (\d+)\]", str(error))
        original = _raised.pop(int(found.group(1)), None) if found else None
        if original is None:
            raise
        raise original from None
