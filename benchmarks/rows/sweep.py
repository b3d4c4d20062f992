"""A sweep of tasks of about a second on two processes, against the same sweep on one; both pools are warm."""

import multiprocessing
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed

TASKS = 6


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def make(scale: float) -> ls.MetropolisHastings:
    return ls.standard(log_density, ls.RandomWalk(scale))


def swept(workers: int) -> Builder:
    def build(updates: int) -> Task:
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
        folder = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
        grid = {"scale": np.linspace(0.5, 2.0, TASKS).tolist()}

        def run():
            shutil.rmtree(folder, ignore_errors=True)
            draws = updates // TASKS // 1000
            ls.sweep(make, grid, np.zeros(4), draws, 1, thin=1000, directory=folder, executor=pool, progress=False)

        return timed(f"{workers} process{'es' * (workers > 1)}", updates, run)

    return build


ROWS = [
    Row(
        "sweep",
        f"sweep of {TASKS} tasks of a second, in directories",
        swept(2),
        (swept(1),),
        1.7,
        updates=6 * 8_000_000,
        repeats=4,
    )
]
