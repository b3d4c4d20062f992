"""Lines to workers: each process of a pool on this machine waits at the end of a pipe for its next job.

A pool hands every job, and the model with it, through two queues and three threads. By a line the model is sent once,
and a job arrives at once: what comes back is taken by one thread, and the next job is sent by whoever has it.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from lockstep.workers.pool import Work, Workers
from lockstep.workers.raised import packed, unpacked

READY, END = b"", b""  # the first word of a worker, and the last one to it
DONE, RAISED = b"d", b"r"  # what an answer begins with


class Sending(Protocol):
    """A way to workers that do one kind of work on one model."""

    def send(self, job: bytes) -> Future[bytes]:
        """Have a worker do its work on a job."""

    def close(self) -> None:
        """Send nothing more."""


def sending(pool: Workers, work: Work, model: bytes) -> Sending:
    """The quickest way to the workers of a pool."""
    return (Lines if isinstance(pool.executor, ProcessPoolExecutor) else Submissions)(pool, work, model)


class Submissions:
    """Whatever the executor does to reach its workers; each job has the model with it."""

    def __init__(self, pool: Workers, work: Work, model: bytes) -> None:
        self.pool, self.work, self.model = pool, work, model

    def send(self, job: bytes) -> Future[bytes]:
        return self.pool.submit(self.work, (self.model, job))

    def close(self) -> None:
        pass


class Lines:
    """A line to each worker; when a pool breaks, lines to those of the one that takes its place."""

    def __init__(self, pool: Workers, work: Work, model: bytes) -> None:
        self.pool, self.work, self.model = pool, work, model
        self.executor: Any = None  # to whose workers they lead
        self.lines: set[Connection[Any, Any]] = set()  # all of them; of others that are busy the end is to come
        self.idle: list[Connection[Any, Any]] = []
        self.busy: dict[Connection[Any, Any], Future[bytes]] = {}
        self.waiting: deque[tuple[bytes, Future[bytes]]] = deque()
        self.lock, self.is_open = threading.RLock(), True

    def send(self, job: bytes) -> Future[bytes]:
        answer = Future[bytes]()
        with self.lock:
            if self.executor is not self.pool.executor or not self.lines:
                self._open()
            self.waiting.append((job, answer))
            self._fill()
        return answer

    def close(self) -> None:
        with self.lock:
            self.is_open = False
            self.waiting.clear()
            for line in [*self.idle, *self.busy]:
                _say(line, END)

    def _open(self) -> None:
        ends = dict(Pipe() for _ in range(self.pool.size))
        self.lines, self.idle = set(ends), []
        for here, there in ends.items():
            serving = self.pool.submit(serve, (self.model, (self.work, there)))
            serving.add_done_callback(functools.partial(self._served, here, there))
        self.executor = self.pool.executor  # which submitting may have replaced
        threading.Thread(target=self._listen, args=(ends,), name="lockstep-lines", daemon=True).start()

    def _fill(self) -> None:
        while self.idle and self.waiting:
            line, (job, answer) = self.idle.pop(), self.waiting.popleft()
            self.busy[line] = answer
            _say(line, job)

    def _listen(self, ends: dict[Connection[Any, Any], Connection[Any, Any]]) -> None:
        """Take what comes over some lines until the last of them ends."""
        while ends:
            ready = set(wait(list(ends)))
            for line in [line for line in ends if line in ready]:
                try:
                    answer = line.recv_bytes()
                except (EOFError, OSError):
                    ends.pop(line).close()
                    line.close()
                    # A pool may find out only when it has something to do again.
                    self._lost(line, BrokenProcessPool("a worker ended while it was waited for"))
                    continue
                ends[line].close()  # the worker has it, and when that is gone the line ends
                self._arrived(line, answer)

    def _arrived(self, line: Connection[Any, Any], answer: bytes) -> None:
        with self.lock:
            asked = self.busy.pop(line, None)
            if self.is_open and line in self.lines:
                self.idle.append(line)
                self._fill()
            elif asked is None:
                _say(line, END)  # it comes too late
        if asked is None:
            return
        if answer.startswith(DONE):
            asked.set_result(answer[len(DONE) :])
        else:
            asked.set_exception(unpacked(answer[len(RAISED) :]))

    def _served(self, here: Connection[Any, Any], there: Connection[Any, Any], served: Future[bytes]) -> None:
        """A worker listens no longer, or never has.

        A pool that breaks may tell of it under a lock of its own, for which others wait that have ours.
        """
        there.close()
        if not served.cancelled() and (error := served.exception()) is not None:
            threading.Thread(target=self._lost, args=(here, error), daemon=True).start()

    def _lost(self, line: Connection[Any, Any], error: BaseException) -> None:
        """With a worker is lost what it was asked for, and what waits, since the pool is broken; told once or twice."""
        with self.lock:
            lost = [answer for answer in [self.busy.pop(line, None)] if answer is not None]
            if line in self.lines:
                self.lines.remove(line)
                self.idle = [other for other in self.idle if other is not line]
                lost += [answer for _, answer in self.waiting]
                self.waiting.clear()
        for answer in lost:
            answer.set_exception(error)


def serve(job: tuple[bytes, Any]) -> bytes:
    """In a worker: do the work on each job that comes over the line, until that ends."""
    model, (work, line) = job
    with line:
        line.send_bytes(READY)
        while True:
            try:
                asked = line.recv_bytes()
            except EOFError:
                return b""
            if asked == END:
                return b""
            try:
                answer = DONE + work((model, asked))
            except Exception as error:
                answer = RAISED + packed(error)
            line.send_bytes(answer)


def _say(line: Connection[Any, Any], words: bytes) -> None:
    """Send; of a worker that is gone the pool tells."""
    with suppress(OSError):
        line.send_bytes(words)
