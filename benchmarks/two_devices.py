"""A process that has two devices. Nothing here imports what would compute before it has them, as BlackJAX does."""

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import jax


def take_two() -> None:
    jax.config.update("jax_num_cpu_devices", 2)


@functools.cache
def elsewhere() -> ProcessPoolExecutor:
    """One such process."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=take_two)
