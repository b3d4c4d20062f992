"""A sweep and a run on MPI: ``mpiexec -n 3 python -m mpi4py.futures mpi_program.py RESULT DIRECTORY``."""

import sys

import numpy as np
from durable_models import GRID, START, SWEEP, make, sample, single
from mpi4py.futures import MPIPoolExecutor

import lockstep as ls

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        run = sample(single(), executor=executor)
        runs = ls.sweep(make, GRID, START, executor=executor, directory=sys.argv[2], **SWEEP)
        np.savez(sys.argv[1], run.positions, *(one.positions for one in runs), workers=executor.num_workers)
