"""The samples of an estimator from a black box."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from lockstep.core.arguments import is_array, shapes
from lockstep.core.types import Key, Position, Shape, Tree
from lockstep.host.black_box import see_sample
from lockstep.host.call import sampling
from lockstep.host.functions import Checked, call_checked

FLOAT = np.dtype(np.float64)


class HostSamples:
    """`Samples` called straight: one generator for all samples of an update, or the noise of a ``draw``."""

    def __init__(self, part: Any) -> None:
        self.part, self.count, sample = part, part.count, part.sample
        self.samples = sampling(sample.box.callee, self.count, sample.box.is_vectorized, sample.explain)

    def noise(self, key: Key, shape: Shape = ()) -> Any:
        return self.part.noise(key, shape)

    def __call__(self, noise: Tree, position: Position, candidate: Position) -> Any:
        return rows_of(self.samples(noise, position, candidate), self.part.sample, self.count)


def all_samples(function: Checked, count: int, arguments: tuple[Any, ...]) -> Any:
    """All samples of an estimator from a black box, a row each."""
    box = function.function
    samples = call_checked(box, function.name, arguments, functools.partial(box.all_samples, count))
    return samples if isinstance(samples, jax.Array) else rows_of(samples, function, count)


def rows_of(samples: Tree, function: Checked, count: int) -> np.ndarray:
    """The samples that a black box returned as an array of floats, a row each, or an error that says what is wrong."""
    is_row = type(samples) is np.ndarray
    if is_row or (type(samples) is list and type(samples[0]) in (float, np.float64)):
        rows = samples if is_row else np.asarray(samples)
        if rows.dtype is FLOAT and rows.shape == (count,):
            return rows
    box, name = function.function, function.name
    if isinstance(samples, list) and not all(map(is_array, samples)):
        wrong = next(sample for sample in samples if not is_array(sample))
        raise TypeError(f"{name} returned {wrong!r}; it must return a number or an array of numbers")
    try:
        rows = np.asarray(samples)
    except ValueError:
        rows = np.asarray(None)
    if rows.dtype.kind not in "fiu":
        raise TypeError(f"{name} returned {shapes(samples)} of dtype {rows.dtype}; it must return real numbers")
    if function.is_scalar and rows.shape != (count,):
        what = f"all {count} samples, one number each" if box.is_vectorized else "one number"
        got = rows.shape if box.is_vectorized else rows.shape[1:]
        raise ValueError(f"{name} returned an array of shape {got}; it must return {what}")
    if rows.shape[:1] != (count,):
        remedy = "take a parameter called `count`, and return as many rows"
        raise ValueError(f"{name} returned an array of shape {rows.shape} as all {count} samples; {remedy}")
    see_sample(box, rows.shape[1:])
    return rows.astype(float, copy=False)
