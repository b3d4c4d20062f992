"""One sweep, on a laptop, on a Dask cluster, or under MPI: separation times for some numbers of samples m.

python sweep.py                                          two processes of this machine
python sweep.py --dask tcp://scheduler:8786              a Dask cluster (or a LocalCluster, without an address)
mpirun -n 3 python -m mpi4py.futures sweep.py --mpi      a master and two workers under MPI
"""

import argparse
from contextlib import contextmanager

import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def one_sample(noise, position, candidate):
    return log_density(candidate) - log_density(position) + noise


def make(count):
    """An exact chain, and marks where the naive one would have decided otherwise."""
    walk = ls.RandomWalk(1.5)
    noisy = ls.estimators.mean(one_sample, count, draw=lambda key, m: jr.normal(key, (m,)))
    exact = ls.penalty(ls.estimators.known_variance(noisy, 1 / count), walk)
    return ls.Shadowed(exact, ls.naive(noisy, walk))


@contextmanager
def chosen_executor(options):
    if options.mpi:
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as executor:
            yield executor
    elif options.dask is not None:
        from dask.distributed import Client, LocalCluster

        place = options.dask or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with Client(place) as client:
            yield client.get_executor()
    else:
        yield options.processes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dask", nargs="?", const="", metavar="ADDRESS")
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--out", default="runs/sweep")
    options = parser.parse_args()
    with chosen_executor(options) as executor:
        found = ls.sweep(
            make,
            {"count": [4, 16, 64], "seed": [0, 1]},
            np.zeros(2),
            draws=options.draws,
            directory=options.out,
            executor=executor,
            progress=True,
        )
    for point, run in zip(found.points, found, strict=True):
        times = ls.separation.summary(run)
        print(
            f"m = {point['count']:3d}, seed {point['seed']}: separation time {times.rho_1:7.2f} ± {times.rho_1_se:.2f}"
        )


if __name__ == "__main__":
    main()
