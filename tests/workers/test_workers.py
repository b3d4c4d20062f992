"""Workers and locks: what becomes of them when processes fail, fork or are killed, and how errors arrive."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import lockstep as ls
from lockstep.chains import executors
from lockstep.storage.errors import LockedError, StorageError
from lockstep.storage.locks import Lock, is_locked
from lockstep.workers.raised import WorkerError, packed, unpacked


class TwoArgumentsError(Exception):
    """Keeps other arguments than its constructor takes."""

    def __init__(self, code, where):
        super().__init__(f"code {code} at {where}")
        self.code, self.where = code, where


class HoldingError(Exception):
    """Holds what cannot be sent."""

    def __init__(self, text):
        super().__init__(text)
        self.lock, self.text = threading.Lock(), text


class LosingError(Exception):
    """Its text is made of what cannot be sent."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def __str__(self):
        return f"held by {self.lock is not None}"


def raised(error):
    try:
        raise error
    except Exception as caught:
        return unpacked(packed(caught))


def test_errors_arrive_as_they_were_raised():
    error = raised(TwoArgumentsError(7, "home"))
    assert type(error) is TwoArgumentsError and str(error) == "code 7 at home"
    assert (error.code, error.where) == (7, "home")
    assert "raise error" in error.__notes__[0] and "In a worker" in error.__notes__[0]
    error = raised(HoldingError("held"))
    assert type(error) is HoldingError and error.text == "held" and not hasattr(error, "lock")
    error = raised(FileNotFoundError(errno.ENOENT, "no such file", "data.csv"))
    assert type(error) is FileNotFoundError and error.errno == errno.ENOENT and "no such file" in str(error)
    error = raised(LosingError())
    assert type(error) is WorkerError and "LosingError: held by True" in str(error)
    error = raised(ValueError("text", threading.Lock()))
    assert type(error) is WorkerError and "ValueError: ('text'" in str(error) and "raise error" in error.__notes__[0]
    noted = ZeroDivisionError("x")
    noted.add_note("in update 3")
    assert raised(noted).__notes__[0] == "in update 3"


CALLS = []


def failing(theta):
    CALLS.append(theta)
    if len(CALLS) == 10:
        raise TwoArgumentsError(7, "home")
    time.sleep(0.002)
    return -0.5 * float(np.sum(theta**2))


@pytest.mark.parametrize("is_durable", [False, True])
def test_what_waits_is_cancelled_after_an_error(is_durable, tmp_path):
    CALLS.clear()
    kernel = ls.standard(ls.blackbox(failing), ls.RandomWalk(1.0))
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(TwoArgumentsError) as caught:
            place = {"directory": tmp_path} if is_durable else {}
            ls.sample(kernel, np.zeros(2), draws=300, chains=16, executor=executor, progress=False, **place)
        assert caught.value.code == 7 and caught.value.run is None
    # The pool's one thread may have begun a second task before the first was seen to fail; all others never begin.
    assert len(CALLS) < 3 * 310


class Client:
    """As much of a Dask client as is asked."""

    def __init__(self, workers):
        self.workers = workers

    def scheduler_info(self):
        return {"workers": dict.fromkeys(range(self.workers))}


class ClientExecutor:
    def __init__(self, workers):
        self._client = Client(workers)


def test_a_cluster_without_workers_is_told(monkeypatch, recwarn):
    monkeypatch.setattr(executors, "SECONDS_WITHOUT_WORKERS", 0.05)
    busy, idle, empty = (executors.Cluster(ClientExecutor(count)) for count in (1, 0, 0))
    other = executors.Cluster(ThreadPoolExecutor(1))
    idle.look(True)
    empty.look(False)
    assert not recwarn
    time.sleep(0.06)
    for cluster in (busy, idle, other):
        cluster.look(False)
    assert not recwarn
    with pytest.warns(ls.LockstepWarning, match="no worker for"):
        empty.look(False)
    empty.look(False)  # once


PARENT = """
import os, sys, time
from lockstep.workers.pool import spawn_pool, without_main
pool = spawn_pool(1)
with without_main():
    print(pool.submit(os.getpid).result(), flush=True)
time.sleep(120)
"""


def is_alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_workers_end_when_their_parent_was_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    try:
        worker = int(parent.stdout.readline())
        assert is_alive(worker)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    until = time.monotonic() + 20
    while is_alive(worker) and time.monotonic() < until:
        time.sleep(0.1)
    is_left = is_alive(worker)
    if is_left:
        os.kill(worker, signal.SIGKILL)
    assert not is_left


FORKING = """
import os, sys, time
from pathlib import Path
from lockstep.storage.locks import Lock
with Lock(Path(sys.argv[1])):
    child = os.fork()
    if not child:
        time.sleep(60)
    print(child, flush=True)
    time.sleep(60)
"""


def test_a_forked_child_does_not_keep_the_lock(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", FORKING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    try:
        with pytest.raises(LockedError), Lock(tmp_path):
            pass
        parent.kill()
        parent.wait()
        with Lock(tmp_path):
            assert is_locked(tmp_path)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StorageError, match=r"No locks available.*another one, such as a local disk"), Lock(tmp_path):
        pass
    assert not is_locked(tmp_path)
