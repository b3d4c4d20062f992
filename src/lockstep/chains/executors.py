"""Running jobs on any ``concurrent.futures.Executor``: jobs of lost workers are submitted again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cloudpickle

from lockstep.chains.interrupt import Stop
from lockstep.chains.jobs import pack, work
from lockstep.chains.outcome import Outcome
from lockstep.chains.task import Task
from lockstep.core.warnings import warn
from lockstep.storage.errors import LockedError
from lockstep.workers.pool import MOST_LOSSES, Workers, Workforce, is_lost, lost_too_often, workers
from lockstep.workers.raised import unpacked

PATIENCE = 30.0  # seconds for the lock of a worker that was thought lost
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_STOP = 5.0  # for tasks that run when another one has failed
SECONDS_WITHOUT_WORKERS = 60.0


def run_tasks(
    tasks: Sequence[Task], executor: Workforce, stop: Stop, watch: Callable[[], None]
) -> Iterator[tuple[int, Outcome]]:
    """Run tasks on an executor; yield the number and the outcome of each as it comes. Tasks may be stopped early."""
    running: dict[Future[bytes], int] = {}
    stop_files = {task.stop_file for task in tasks if task.stop_file is not None}
    with workers(executor) as pool, _abandoned_after_errors(pool, running, stop_files):
        jobs = [pack(task) for task in tasks]
        running |= {pool.submit(work, job): i for i, job in enumerate(jobs)}
        losses, locked_since, cluster = 0, dict[int, float](), Cluster(pool.executor)
        while running:
            done, _ = wait(running, timeout=SECONDS_BETWEEN_LOOKS, return_when="FIRST_COMPLETED")
            watch()
            cluster.look(bool(done))
            if stop.is_wanted:
                pool.ask_to_stop(stop_files)
                for future in [future for future in running if future.cancel()]:
                    del running[future]
                done = {future for future in done if future in running}
            again: list[tuple[int, Exception]] = []
            for future in done:
                i = running.pop(future)
                try:
                    kind, value = cloudpickle.loads(future.result())
                except Exception as error:
                    if not is_lost(error):
                        raise
                    again.append((i, error))
                else:
                    if kind == "outcome":
                        losses = 0
                        yield i, value
                        continue
                    raised, now = unpacked(value), time.monotonic()
                    if not (isinstance(raised, LockedError) and now < PATIENCE + locked_since.setdefault(i, now)):
                        raise raised
                    time.sleep(SECONDS_BETWEEN_LOOKS)
                    running[pool.submit(work, jobs[i])] = i
            if again and not stop.is_wanted:
                losses += 1
                if losses > MOST_LOSSES:
                    raise lost_too_often(again[-1][1])
                pool.renew(again[-1][1])
                running |= {pool.submit(work, jobs[i]): i for i, _ in again}


@contextmanager
def _abandoned_after_errors(pool: Workers, running: dict[Future[bytes], int], stop_files: Set[Path]) -> Iterator[None]:
    """After an error, tasks that wait are cancelled; those that run are asked to stop, and given a moment to do so."""
    try:
        yield
    except BaseException as error:
        left = [future for future in running if not future.cancel()]
        if left and isinstance(error, Exception):
            pool.ask_to_stop(stop_files)
            wait(left, timeout=SECONDS_TO_STOP if pool.is_own or stop_files else 0.0)
        raise


class Cluster:
    """Tells the user, once, that nobody is there to do the work: a cluster may have no workers yet, or never."""

    def __init__(self, executor: Any) -> None:
        self.client = executor._client if type(executor).__name__ == "ClientExecutor" else None
        self.since = time.monotonic()

    def look(self, is_anything_done: bool) -> None:
        """Look at the workers of a Dask cluster, as long as nothing was done for a minute."""
        if is_anything_done:
            self.client = None
        if self.client is None or time.monotonic() - self.since < SECONDS_WITHOUT_WORKERS:
            return
        if not self.client.scheduler_info()["workers"]:
            warn(
                f"the Dask cluster has had no worker for {SECONDS_WITHOUT_WORKERS:.0f} s; the run waits for one. Start "
                f"workers (cluster.scale(...), dask worker), or press Ctrl-C"
            )
        self.client = None
