"""The processes that do the work: a user's executor, or a pool of our own, which is replaced when it breaks."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import types
from collections.abc import Callable, Iterator, Set
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from lockstep.core.arguments import whole
from lockstep.core.foreign import attribute, processors
from lockstep.workers.process import begin_worker

MOST_LOSSES = 5  # in a row, without a job that was finished
Work: TypeAlias = Callable[[tuple[bytes, Any]], bytes]  # on a model and the rest of a job


@runtime_checkable
class Submitting(Protocol):
    """Whatever does the work of an executor, whether it inherits from one or not."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None: ...


Workforce: TypeAlias = Submitting | int | None  # what users give as executor; a number is one of processes


class Workers:
    """An executor that is replaced when it breaks."""

    def __init__(self, executor: Submitting, is_own: bool) -> None:
        self.executor, self.is_own = executor, is_own
        self.size = _size(executor)

    def submit(self, work: Work, job: tuple[bytes, Any]) -> Future[bytes]:
        """Have a worker do its work on a job."""
        try:
            return self._submit(work, job)
        except BrokenExecutor as error:
            self.renew(error)
            return self._submit(work, job)

    def _submit(self, work: Work, job: tuple[bytes, Any]) -> Future[bytes]:
        if not self.is_own:
            return self.executor.submit(work, job)
        with without_main():
            return self.executor.submit(work, job)

    def renew(self, error: BaseException) -> None:
        """After the loss of a worker: another pool, if this one cannot go on."""
        if isinstance(error, BrokenExecutor):
            # From Python 3.12 on a pool that breaks tells of it under its own lock, which shutting it down waits for.
            threading.Thread(target=self.executor.shutdown, args=(False,), daemon=True).start()
            self.executor, self.is_own = spawn_pool(self.size), True

    def ask_to_stop(self, files: Set[Path]) -> None:
        """Have workers stop that look for these files, at the end of their block; without any our own end at once."""
        for file in files:
            file.touch()
        if self.is_own and not files:
            self.end()

    def end(self) -> None:
        """End the processes of our own pool, whatever they are doing."""
        if isinstance(self.executor, ProcessPoolExecutor):
            for process in list((self.executor._processes or {}).values()):
                process.terminate()


def is_lost(error: Exception) -> bool:
    """Whether an error says that a worker is gone, not that its task failed; Dask has its own errors for that."""
    lost = ("KilledWorker", "CommClosedError", "FutureCancelledError", "NoValidWorkerError", "FutureLostError")
    return isinstance(error, (BrokenExecutor, CancelledError)) or type(error).__name__ in lost


def lost_too_often(last: Exception) -> RuntimeError:
    """What to raise when no work is ever finished."""
    return RuntimeError(
        f"workers were lost {MOST_LOSSES + 1} times without one task being finished (are they out of memory, or does "
        f"the model end its process?); the last loss: {last!r}"
    )


@contextmanager
def workers(executor: Workforce) -> Iterator[Workers]:
    """The workers of an executor, or of a pool of that many processes."""
    if isinstance(executor, ProcessPoolExecutor):
        # A process in which JAX has started must not fork: the child can deadlock.
        context = executor._mp_context
        is_forking = context is not None and context.get_start_method(allow_none=True) in ("fork", None)
        pool = Workers(spawn_pool(_size(executor)) if is_forking else executor, is_forking)
    elif isinstance(executor, int) and not isinstance(executor, bool):
        pool = Workers(spawn_pool(whole(executor, "executor", 1)), True)
    elif isinstance(executor, type) or not isinstance(executor, Submitting):
        raise TypeError(
            f"executor is {executor!r}; give a concurrent.futures.Executor, such as dask's client.get_executor(), or a "
            f"number of processes"
        )
    else:
        pool = Workers(executor, False)
    try:
        yield pool
    except BaseException:
        if pool.is_own:
            pool.end()
        raise
    finally:
        if pool.is_own:
            pool.executor.shutdown(wait=True, cancel_futures=True)


def _size(executor: Workforce) -> int:
    """How many tasks an executor does at once; as many as there are processors if it does not say."""
    return attribute(executor, "_max_workers") or processors()


def spawn_pool(size: int) -> ProcessPoolExecutor:
    """Processes that start afresh, and end with the process that started them."""
    return ProcessPoolExecutor(size, multiprocessing.get_context("spawn"), begin_worker)


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
