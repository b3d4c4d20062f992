"""Processes in which XLA is as those have it who never import Lockstep, which adds options to the environment."""

import functools
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor


def forget_options() -> None:
    """Nothing has imported JAX here yet."""
    os.environ.pop("XLA_FLAGS", None)


@functools.cache
def elsewhere() -> ProcessPoolExecutor:
    """One such process."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=forget_options)
