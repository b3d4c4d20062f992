"""Estimates without bias on a Dask cluster: pairs of chains as tasks, a worker killed in the middle, the same numbers.

python pairs.py                        a LocalCluster with two workers, one of which is killed
python pairs.py --dask tcp://scheduler:8786
"""

import argparse
import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls


def log_density(theta):
    return jnp.logaddexp(-0.5 * jnp.sum((theta - 2) ** 2), -0.5 * jnp.sum((theta + 2) ** 2))


def start(key):
    return 8 + jr.normal(key, (2,))


KERNEL = ls.standard(log_density, ls.RandomWalk(2.5))
PAIRS = dict(function=None, pairs=512, lag=100, start=100, end=2000, seed=1, progress=False)


def kill_one(client, path):
    """End a worker as a machine that breaks down would, as soon as some pairs are being computed."""
    while not any(path.glob("pairs-*")):
        time.sleep(0.1)
    address, pid = next(iter(client.run(os.getpid).items()))
    print(f"the worker at {address} is killed")
    os.kill(pid, signal.SIGKILL)


def main():
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dask", metavar="ADDRESS")
    options = parser.parse_args()
    place = options.dask or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with tempfile.TemporaryDirectory() as folder, Client(place) as client:
        path = Path(folder) / "pairs"
        if options.dask is None:
            threading.Thread(target=kill_one, args=(client, path), daemon=True).start()
        found = ls.unbiased(KERNEL, start, executor=client.get_executor(), directory=path, **PAIRS)
    print(found)
    here = ls.unbiased(KERNEL, start, **PAIRS)
    print("the same numbers in this process:", np.array_equal(found.values, here.values))


if __name__ == "__main__":
    main()
