"""Loops compiled by Numba, and the random numbers in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from lockstep.core.types import Array

try:
    import numba
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "this model simulates in code that is compiled by Numba, which is not installed; "
        'install it with: pip install "lockstep-mcmc[models]"'
    ) from error

F = TypeVar("F", bound=Callable[..., Any])


def njit(function: F) -> F:
    """Compile a loop; the machine code is kept on disk where the package may write."""
    try:
        return numba.njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # no place for a cache
        return numba.njit(function, nogil=True, error_model="numpy")


def owned(values: object, dtype: DTypeLike) -> np.ndarray:
    """A copy of an argument: Numba compiles a loop anew for arrays of another type or that may not be written to."""
    return np.array(values, dtype, order="C")


def inlined(function: F) -> F:
    """Compile a function into those that call it: across a call, compiled code counts who refers to an array."""
    return numba.njit(function, nogil=True, error_model="numpy", forceinline=True)


@njit
def stream(words: Array, number: int) -> Any:
    """The start of a stream of random numbers: a function of a key's words and of the stream's number."""
    state = np.uint64(number) * np.uint64(0xD1342543DE82EF95)
    for word in words:
        state = mixed((state ^ np.uint64(word)) + np.uint64(0x9E3779B97F4A7C15))
    return state


@inlined
def mixed(z: Array) -> Any:
    """The output function of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def uniform(start: Array, index: int) -> Any:
    """Number ``index`` of a stream, in [0, 1) with 53 bits: no matter in which order they are asked for."""
    z = mixed(start + np.uint64(index + 1) * np.uint64(0x9E3779B97F4A7C15))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
