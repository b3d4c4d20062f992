"""Running jobs on any ``concurrent.futures.Executor``: jobs of lost workers are submitted again."""

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import pickle
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import cloudpickle

from lockstep.chains.interrupt import Stop
from lockstep.chains.outcome import Outcome
from lockstep.chains.raised import packed, unpacked
from lockstep.chains.session import run_chains
from lockstep.chains.task import Task
from lockstep.chains.workers import begin_worker
from lockstep.core.arguments import whole
from lockstep.core.precision import double_precision
from lockstep.core.warnings import warn
from lockstep.storage.errors import LockedError

MOST_LOSSES = 5  # in a row, without a job that was finished
PATIENCE = 30.0  # seconds for the lock of a worker that was thought lost
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_STOP = 5.0  # for tasks that run when another one has failed
SECONDS_WITHOUT_WORKERS = 60.0


def run_tasks(
    tasks: Sequence[Task], executor: Any, stop: Stop, watch: Callable[[], None]
) -> Iterator[tuple[int, Outcome]]:
    """Run tasks on an executor; yield the number and the outcome of each as it comes. Tasks may be stopped early."""
    running: dict[Future[bytes], int] = {}
    with workers(executor) as pool, _abandoned_after_errors(pool, running, tasks):
        jobs = [pack(task) for task in tasks]
        running |= {pool.submit(job): i for i, job in enumerate(jobs)}
        losses, locked_since, cluster = 0, dict[int, float](), Cluster(pool.executor)
        while running:
            done, _ = wait(running, timeout=SECONDS_BETWEEN_LOOKS, return_when="FIRST_COMPLETED")
            watch()
            cluster.look(bool(done))
            if stop.is_wanted:
                pool.ask_to_stop(tasks)
                for future in [future for future in running if future.cancel()]:
                    del running[future]
                done = {future for future in done if future in running}
            again: list[tuple[int, Exception]] = []
            for future in done:
                i = running.pop(future)
                try:
                    kind, value = cloudpickle.loads(future.result())
                except (BrokenExecutor, CancelledError) as error:
                    again.append((i, error))
                except Exception as error:
                    if not _is_lost(error):
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
                    running[pool.submit(jobs[i])] = i
            if again and not stop.is_wanted:
                losses += 1
                if losses > MOST_LOSSES:
                    raise RuntimeError(
                        f"workers were lost {losses} times without one task being finished (are they out of memory, or "
                        f"does the model end its process?); the last loss: {again[-1][1]!r}"
                    )
                pool.renew(again[-1][1])
                running |= {pool.submit(jobs[i]): i for i, _ in again}


@contextmanager
def _abandoned_after_errors(pool: Workers, running: dict[Future[bytes], int], tasks: Sequence[Task]) -> Iterator[None]:
    """After an error, tasks that wait are cancelled; those that run are asked to stop, and given a moment to do so."""
    try:
        yield
    except BaseException as error:
        left = [future for future in running if not future.cancel()]
        if left and isinstance(error, Exception):
            pool.ask_to_stop(tasks)
            is_heard = pool.is_own or any(task.stop_file is not None for task in tasks)
            wait(left, timeout=SECONDS_TO_STOP if is_heard else 0.0)
        raise


class Cluster:
    """Tells the user, once, that nobody is there to do the work: a cluster may have no workers yet, or never."""

    def __init__(self, executor: Any) -> None:
        self.client = getattr(executor, "_client", None) if type(executor).__name__ == "ClientExecutor" else None
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


def _is_lost(error: Exception) -> bool:
    """Whether an error says that a worker of Dask is gone, not that its task failed."""
    lost = ("KilledWorker", "CommClosedError", "FutureCancelledError", "NoValidWorkerError", "FutureLostError")
    return type(error).__name__ in lost


def pack(task: Task) -> tuple[bytes, bytes]:
    """A task as bytes: the model, of which workers keep the last ones, and the rest. Functions travel by value."""
    fields = {name: value for name, value in vars(task).items() if name not in ("kernel", "initial")}
    try:
        return _dumps((task.kernel, task.initial)), cloudpickle.dumps(fields)
    except Exception as error:
        raise TypeError(
            f"kernel or initial cannot be sent to a worker ({error}); make what they hold (open files, locks, "
            f"connections) inside of their functions"
        ) from error


def work(job: tuple[bytes, bytes]) -> bytes:
    """Run a task in a worker; what it leaves, or its error, as bytes."""
    try:
        with double_precision():
            kernel, initial = _model(job[0])
        task = Task(kernel, initial, **cloudpickle.loads(job[1]))
        outcome = run_chains(task, progress=False, is_collected=task.directory is None)
        if outcome.error is not None:
            raise outcome.error
        return cloudpickle.dumps(("outcome", outcome))
    except Exception as error:
        return cloudpickle.dumps(("error", packed(error)))


@functools.lru_cache(maxsize=8)
def _model(data: bytes) -> Any:
    """A kernel and its start; the same object for the same bytes, so that it compiles once in a worker."""
    return _Unpickler(io.BytesIO(data)).load()


def _dumps(model: Any) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream).dump(model)
    return stream.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Functions are pickled apart: a worker makes one object of equal ones, and kernels that share it one program."""

    def persistent_id(self, part: Any) -> bytes | None:
        return cloudpickle.dumps(part) if isinstance(part, types.FunctionType) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, function: bytes) -> Any:
        return _function(function)


@functools.lru_cache(maxsize=64)
def _function(data: bytes) -> Any:
    return cloudpickle.loads(data)


class Workers:
    """An executor that is replaced when it breaks."""

    def __init__(self, executor: Executor, is_own: bool) -> None:
        self.executor, self.is_own = executor, is_own
        self.size = getattr(executor, "_max_workers", None) or processors()

    def submit(self, job: tuple[bytes, bytes]) -> Future[bytes]:
        try:
            return self._submit(job)
        except BrokenExecutor as error:
            self.renew(error)
            return self._submit(job)

    def _submit(self, job: tuple[bytes, bytes]) -> Future[bytes]:
        if not self.is_own:
            return self.executor.submit(work, job)
        with without_main():
            return self.executor.submit(work, job)

    def renew(self, error: BaseException) -> None:
        """After the loss of a worker: another pool, if this one cannot go on."""
        if isinstance(error, BrokenExecutor):
            self.executor.shutdown(wait=False, cancel_futures=True)
            self.executor, self.is_own = spawn_pool(self.size), True

    def ask_to_stop(self, tasks: Sequence[Task]) -> None:
        """Have workers stop at the end of their block; our own without a directory end at once."""
        for file in {task.stop_file for task in tasks if task.stop_file is not None}:
            file.touch()
        if self.is_own and all(task.stop_file is None for task in tasks):
            self.end()

    def end(self) -> None:
        """End the processes of our own pool, whatever they are doing."""
        for process in list((getattr(self.executor, "_processes", None) or {}).values()):
            process.terminate()


@contextmanager
def workers(executor: Any) -> Iterator[Workers]:
    """The workers of an executor, or of a pool of that many processes."""
    if isinstance(executor, ProcessPoolExecutor):
        # A process in which JAX has started must not fork: the child can deadlock.
        context = getattr(executor, "_mp_context", None)
        is_forking = context is not None and context.get_start_method(allow_none=True) in ("fork", None)
        pool = Workers(
            spawn_pool(getattr(executor, "_max_workers", processors())) if is_forking else executor, is_forking
        )
    elif isinstance(executor, int) and not isinstance(executor, bool):
        pool = Workers(spawn_pool(whole(executor, "executor", 1)), True)
    elif callable(getattr(executor, "submit", None)) and callable(getattr(executor, "shutdown", None)):
        pool = Workers(executor, False)
    else:
        raise TypeError(
            f"executor is {executor!r}; give a concurrent.futures.Executor, such as dask's client.get_executor(), or a "
            f"number of processes"
        )
    try:
        yield pool
    except BaseException:
        if pool.is_own:
            pool.end()
        raise
    finally:
        if pool.is_own:
            pool.executor.shutdown(wait=True, cancel_futures=True)


def spawn_pool(size: int) -> ProcessPoolExecutor:
    """Processes that start afresh, and end with the process that started them."""
    return ProcessPoolExecutor(size, multiprocessing.get_context("spawn"), begin_worker)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def without_main() -> Iterator[None]:
    """Start processes that do not import the running program.

    They need not, since functions travel by value; and a script without ``if __name__ == "__main__"`` would otherwise
    start itself again in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
