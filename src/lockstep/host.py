"""Calls out of compiled programs: one call on the host for all chains, and errors that arrive as they were raised."""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.parts import is_concrete

_raised: dict[int, Exception] = {}
_numbers = itertools.count(1)
_lock = threading.Lock()


def on_host(function: Callable[..., Any], like: Any, dimensions: tuple[int, ...], *arguments: Any) -> Any:
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
    """

    def host(*arrays: Any) -> Any:
        arrays = tuple(np.asarray(array) for array in arrays)
        batch = arrays[0].shape[: arrays[0].ndim - dimensions[0]]
        flat = (
            array.reshape((math.prod(batch), *array.shape[array.ndim - count :]))
            for array, count in zip(arrays, dimensions, strict=True)
        )
        try:
            results = function(*flat)
        except Exception as error:
            raise _marked(error) from error
        return jax.tree.map(
            lambda result, one: np.asarray(result, one.dtype).reshape((*batch, *one.shape)), results, like
        )

    if is_concrete(arguments):
        with raised_here():
            return jax.tree.map(jnp.asarray, host(*arguments))
    return jax.pure_callback(host, like, *arguments, vmap_method="broadcast_all")


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
