"""The windows of a warm-up, and what each of them teaches: where chains have been, and how often they accept."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from lockstep.core.types import Position, Tree
from lockstep.engine.bad_ratios import infos
from lockstep.engine.block import CELL, Output

FIRST_WINDOW = 64  # updates; windows grow, so that later ones say more
GROWTH = 1.1
LEARNING = 0.75  # share of the warm-up in which covariances are learned; the rest is for the scale alone
SLOPE = 0.45  # by which the acceptance falls when the scale of a well-tuned walk grows by a factor e
MOST_STEP, LEAST_STEP = 2.0, -8.0  # logarithms


def windows_of(warmup: int) -> list[tuple[int, int]]:
    """First step and length of each window; whole cells of noise, the last one takes what is left."""
    windows, start, length = [], 0, float(FIRST_WINDOW)
    while start < warmup:
        steps = max(CELL, int(length) // CELL * CELL)
        steps = warmup - start if start + 2 * steps > warmup else steps
        windows.append((start, steps))
        start, length = start + steps, GROWTH * length
    return windows


def lesson(output: Output, windows: list[tuple[int, int]], number: int, log_step: Any) -> tuple[Any, Any]:
    """The positions that are learnt from after a window, and the logarithm of the step, one a kernel.

    ``output`` holds all updates so far.
    """
    start, steps = windows[number]
    acceptance = _acceptance(output.info, start, start + steps)
    first, last = _seen(windows, number)
    seen = jax.tree.map(lambda leaf: leaf[:, first:last], output.positions)
    # ROBBINS–MONRO: the first windows move the scale freely, later ones less and less.
    excess = (acceptance - _target(seen)) / SLOPE
    return seen, np.clip(log_step + excess * (number + 1) ** -0.5, LEAST_STEP, MOST_STEP)


def _acceptance(info: Tree, start: int, end: int) -> np.ndarray:
    """The shares of a window that were accepted, one a kernel."""
    legs = [leg.is_accepted[:, start:end] for leg in infos(info)]
    return np.asarray(np.concatenate(legs).mean(axis=(0, 1)))


def _seen(windows: list[tuple[int, int]], number: int) -> tuple[int, int]:
    """First and last step of the updates whose positions are learnt from after a window.

    They are about the second half of those so far, and end with the last window that ends in the first three quarters.
    """
    ends = [sum(window) for window in windows]
    while number > 0 and ends[number] > LEARNING * ends[-1]:
        number -= 1
    half = int(np.searchsorted(ends[: number + 1], ends[number] / 2))
    return windows[half][0], ends[number]


def _target(positions: Position) -> float:
    """The acceptance that suits a random walk: 0.44 in one dimension, 0.234 in many."""
    dimension = sum(leaf[0, 0].size for leaf in jax.tree.leaves(positions))
    return 0.234 + 0.206 / dimension
