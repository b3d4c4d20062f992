"""Ctrl-C and SIGTERM where one thing runs within another, and blocks that are short enough to be stopped."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.chains import drive as chains_module
from lockstep.engine import block as limits, pace
from lockstep.storage.status import status

CALLS = [0]
SIGNALS: dict[int, int] = {}


def log_density(theta):
    CALLS[0] += 1
    if CALLS[0] in SIGNALS:
        signal.raise_signal(SIGNALS.pop(CALLS[0]))
    return -0.5 * float(np.sum(theta**2))


def make(scale):
    return ls.standard(ls.blackbox(log_density), ls.RandomWalk(scale))


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Blocks of one step."""
    monkeypatch.setattr(pace, "SECONDS_PER_BLOCK", 0.0)
    SIGNALS.clear()


def signalled(number, after):
    SIGNALS[CALLS[0] + after] = number
    return CALLS[0]


GRID = {"scale": [0.5, 1.0, 1.5]}
SETTINGS = {"draws": 40, "chains": 1, "progress": False}


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [15, 60])  # in the first run, whose time decides about the others, and in the second
def test_a_sweep_in_this_process_stops(number, after, tmp_path):
    before = signalled(number, after)
    with pytest.raises(ls.Interrupted, match="Call again with the same arguments"):
        ls.sweep(make, GRID, np.zeros(2), directory=tmp_path, **SETTINGS)
    assert CALLS[0] - before <= after + 1
    assert [run.draws for run in ls.sweep(make, GRID, np.zeros(2), directory=tmp_path, **SETTINGS)] == [40] * 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("is_forked", [False, True])
def test_a_second_sigterm_ends_compiled_code_that_does_not_come_back(is_forked):
    """The work is done in C for minutes, and Python handles no signal meanwhile. Scopes before have had a signal."""
    program = (
        "import hashlib, os, signal, sys; signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "from lockstep.chains import interrupt; interrupt.GRACE = 0.05\n"
        "from lockstep.chains.interrupt import Stop\n"
        "for _ in range(3):\n"
        "    with Stop(is_announced=False) as stop: signal.raise_signal(signal.SIGTERM)\n"
        "    assert stop.is_wanted\n"
        f"if {is_forked} and (child := os.fork()):\n"
        "    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "with Stop(is_announced=False):\n"
        "    print('begun', flush=True); hashlib.pbkdf2_hmac('sha256', b'', b'', 2 * 10**9)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline() == b"begun\n"
            child.terminate()
            time.sleep(0.5)
            assert child.poll() is None  # the first waits for the end of a block
            child.terminate()
            assert child.wait(timeout=60) == 128 + signal.SIGTERM
        finally:
            child.kill()


@pytest.mark.skipif(os.name != "posix", reason="processes of POSIX")
def test_processes_that_a_function_forks_end_by_one_signal_and_tell_nobody():
    """As those of a pool in a black box do, which it terminates."""
    program = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "from lockstep.chains import interrupt; interrupt.GRACE = 0.05\n"
        "with interrupt.Stop(is_announced=False) as stop:\n"
        "    children = []\n"
        "    for _ in range(3):\n"
        "        children.append(os.fork())\n"
        "        if not children[-1]: time.sleep(60); os._exit(0)\n"
        "    time.sleep(0.3)\n"
        "    for child in children: os.kill(child, signal.SIGTERM)\n"
        "    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]\n"
        "    time.sleep(0.5)\n"
        "    print(codes, stop.is_wanted)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (0, "[-15, -15, -15] False\n")


def test_one_thread_watches_for_signals_of_all_runs():
    ls.sample(make(1.0), np.zeros(2), **SETTINGS)
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd")) if os.path.exists("/proc") else 0
    for _ in range(3):
        ls.sample(make(1.0), np.zeros(2), **SETTINGS)
    assert threading.active_count() == threads and signal.set_wakeup_fd(-1) == -1
    assert not files or len(os.listdir("/proc/self/fd")) <= files + 1


@pytest.mark.usefixtures("signals")
def test_a_sweep_in_memory_stops():
    before = signalled(signal.SIGINT, 15)
    with pytest.raises(ls.Interrupted) as caught:
        ls.sweep(make, GRID, np.zeros(2), **SETTINGS)
    assert CALLS[0] - before <= 16
    # What is not there is not promised.
    assert (caught.value.run is None) == ("the `run` of this exception" not in str(caught.value))


@pytest.mark.usefixtures("signals")
def test_groups_in_this_process_stop_at_once(tmp_path):
    settings = {**SETTINGS, "chains": 2}
    whole = ls.sample(make(1.0), np.zeros(2), **settings)
    with ThreadPoolExecutor(1) as executor:
        ls.sample(make(1.0), np.zeros(2), directory=tmp_path, executor=executor, **{**settings, "draws": 5})
    before = signalled(signal.SIGINT, 15)
    with pytest.raises(ls.Interrupted):
        ls.sample(make(1.0), np.zeros(2), directory=tmp_path, **settings)
    assert CALLS[0] - before <= 16
    assert np.array_equal(ls.sample(make(1.0), np.zeros(2), directory=tmp_path, **settings).positions, whole.positions)


def compiled(theta):
    return -0.5 * jnp.sum(theta**2)


def test_compiled_blocks_begin_with_one_step(monkeypatch):
    """An update may take minutes: only after a first one is known how many fit into a second. Draws do not change."""
    monkeypatch.setattr(limits, "MOST_CELLS", 1)
    monkeypatch.setattr(pace, "SECONDS_PER_BLOCK", 1.0)
    steps, advance = [], chains_module.advance

    def recorded(*arguments):
        steps.append(arguments[3].steps)
        return advance(*arguments)

    kernel = ls.standard(compiled, ls.RandomWalk(1.0))
    runs = []
    monkeypatch.setattr(chains_module, "advance", recorded)
    for first in (pace.FIRST_STEPS, 64):
        monkeypatch.setattr(pace, "FIRST_STEPS", first)
        runs.append(ls.sample(kernel, np.zeros(2), draws=150, chains=2))
    assert steps[:1] == [1] and sum(steps) == 300 and max(steps) > 1
    assert np.array_equal(runs[0].positions, runs[1].positions)
    assert jax.tree.all(jax.tree.map(np.array_equal, runs[0].info, runs[1].info))


def nearly_always_nan(theta):
    return jnp.where(jnp.any(jnp.abs(theta) > 0.05), jnp.nan, 0.0)


def test_one_bad_first_step_is_no_reason_to_give_up():
    """A whole cell of updates without one valid ratio is."""
    kernel = ls.standard(nearly_always_nan, ls.RandomWalk(0.2))
    with pytest.warns(ls.LockstepWarning, match="were NaN"):
        ls.sample(kernel, np.zeros(1), draws=64, chains=1, seed=3)
    with pytest.raises(FloatingPointError, match="every log ratio so far"):
        ls.sample(ls.standard(nearly_always_nan, ls.RandomWalk(1e3)), np.zeros(1), draws=200, chains=1, seed=3)


def slow(theta):
    time.sleep(0.004)
    return -0.5 * float(np.sum(theta**2))


def test_seconds_are_those_of_the_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(pace, "SECONDS_PER_BLOCK", 1.0)
    kernel = ls.standard(ls.blackbox(slow), ls.RandomWalk(1.0))
    settings = {"chains": 4, "progress": False}
    ls.sample(kernel, np.zeros(2), draws=2, **settings)  # compiled
    with ThreadPoolExecutor(4) as executor:
        for place in ({}, {"directory": tmp_path}):
            began = time.perf_counter()
            run = ls.sample(kernel, np.zeros(2), draws=60, executor=executor, **place, **settings)
            elapsed = time.perf_counter() - began
            assert 60 * 0.004 < run.seconds <= elapsed  # four at a time: their sum is far above
        found = status(tmp_path)
        assert sum(segments[-1].totals.seconds for segments in found.parts) > 1.5 * run.seconds
        assert ls.load(tmp_path).seconds == found.totals.seconds == run.seconds
        # A second call adds its own time, and not that between the two.
        time.sleep(0.3)
        began = time.perf_counter()
        longer = ls.sample(kernel, np.zeros(2), draws=120, executor=executor, directory=tmp_path, **settings)
        assert run.seconds < longer.seconds <= run.seconds + time.perf_counter() - began
