"""A hundred million updates: memory stays flat."""

import resource
import threading
import time

import numpy as np
import pytest
from durable_models import log_density

import lockstep as ls
from lockstep.storage.status import status

pytestmark = [pytest.mark.study, pytest.mark.optimized]  # which takes long: compiled as users' programs are

UPDATES, CHAINS, THIN = 10**8, 16, 1000


def resident():
    """Megabytes of this process now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def test_memory_stays_flat(tmp_path):
    kernel = ls.standard(log_density, ls.RandomWalk(1.0))
    seen, stop = [], threading.Event()

    def watch():
        while not stop.wait(0.1):
            done = status(tmp_path).totals.updates if (tmp_path / "run.json").exists() else 0
            seen.append((done, resident()))

    thread = threading.Thread(target=watch)
    thread.start()
    began = time.monotonic()
    try:
        run = ls.sample(kernel, np.zeros(4), UPDATES // CHAINS // THIN, CHAINS, thin=THIN, directory=tmp_path)
    finally:
        stop.set()
        thread.join()
    seconds = time.monotonic() - began
    early = max(memory for done, memory in seen if done < 0.2 * UPDATES)
    peak = max(memory for _, memory in seen)
    print(
        f"{UPDATES:,} updates of {CHAINS} chains in {seconds:.0f} s, {run.draws:,} draws of each kept: "
        f"resident {early:.0f} MB in the first fifth, peak {peak:.0f} MB"
    )
    assert run.draws == UPDATES // CHAINS // THIN
    assert peak < early + 32
