"""A sweep of tasks of about a second on two processes, against the same sweep on one; both pools are warm."""

import multiprocessing
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.rows.durable import log_posterior
from benchmarks.walk import DIMENSION, log_density

TASKS = 6


def regression(scale: float) -> ls.MetropolisHastings:
    return ls.standard(log_posterior, ls.RandomWalk(scale))


def walk(scale: float) -> ls.MetropolisHastings:
    """Half of its work is random numbers, for which one process already uses a second core."""
    return ls.standard(log_density, ls.RandomWalk(scale))


def swept(make, dimension: int, workers: int) -> Builder:
    def build(updates: int) -> Task:
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
        folder = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
        grid = {"scale": np.linspace(0.5, 2.0, TASKS).tolist()}

        def run():
            shutil.rmtree(folder, ignore_errors=True)
            draws = updates // TASKS // 1000
            start = np.zeros(dimension)
            ls.sweep(make, grid, start, draws, 1, thin=1000, directory=folder, executor=pool, progress=False)

        return timed(f"{workers} process{'es' * (workers > 1)}", updates, run)

    return build


def row(name: str, what: str, make, dimension: int, updates: int, at_least: float | None) -> Row:
    ours, peer = (swept(make, dimension, workers) for workers in (2, 1))
    what = f"sweep of {TASKS} tasks of a second: {what}"
    return Row(name, what, ours, (peer,), at_least, updates=TASKS * updates, repeats=4)


ROWS = [
    row("sweep", "logistic regression, 200 data", regression, 4, 200_000, 1.7),
    row("sweep-cheapest", "random walk, mostly random numbers", walk, DIMENSION, 8_000_000, None),
]
