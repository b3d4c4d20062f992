"""How the programs of the tests are compiled: quickly, unless ``LOCKSTEP_TEST_COMPILATION`` is ``users``.

Most tests run a program once on a few numbers: XLA works longer on making it fast than it then runs. Without LLVM's
optimizations and without the emitters of fusions, which only make programs fast, an update in a loop compiles in an
eighth of the time and a single operation in half; one run that was measured then took three times as long. Numbers are
not the same bits: of 5,000 arguments in double precision, elementary functions differed by up to 6e-16 of their value,
an expression of several by 2e-14, and `gammaln` by 8e-12. No test may depend on that. Constants are not folded, which
may take seconds for a program that runs once, and a program computes on one thread: the session has a worker for each
processor, and threads that wait for others beside them cost as much as those that work. Without optimizations it
depends on the size of a program whether a product and a sum become one operation, which rounds once: the oldest
instructions that will do have no such operation, and the noise of an update is the same bits in every program, as it
is in those of users.

Both are read once, when JAX is imported, so a session has one way: tests and studies with the marker ``optimized`` run
in sessions of their own, compiled as the programs of users are (see the Makefile). Programs that a
test starts inherit the way of the session.

What one process of a session has compiled, the others load: the first makes a directory for that (`share`), which is
empty when the session begins and gone when it is over. Loading takes a fifth of the time of compiling.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

VARIABLE = "LOCKSTEP_TEST_COMPILATION"
WAYS = ("quick", "users")
FLAGS = (
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_cpu_multi_thread_eigen=false",
    "--xla_disable_hlo_passes=constant_folding",
    "--xla_cpu_max_isa=AVX",
)
DIRECTORY = "JAX_COMPILATION_CACHE_DIR"
# However quickly it was compiled and however small it is.
WHATEVER = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


def choose() -> None:
    """Write the settings into the environment; JAX must not have been imported yet."""
    way = os.environ.get(VARIABLE, WAYS[0])
    if way not in WAYS:
        raise ValueError(f"{VARIABLE} is {way!r}: give one of {WAYS}")
    if way == "quick":
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
        given = os.environ.get("XLA_FLAGS", "").split()
        os.environ["XLA_FLAGS"] = " ".join([*given, *(flag for flag in FLAGS if flag not in given)])


def share() -> Path | None:
    """Name a new directory for compiled programs, unless one has been named, as it has in workers: then `None`."""
    if os.environ.get(DIRECTORY):
        return None
    os.environ.update({DIRECTORY: tempfile.mkdtemp(prefix="lockstep-tests-"), **WHATEVER})
    return Path(os.environ[DIRECTORY])


def forget(directory: Path | None) -> None:
    """Remove the directory that `share` made."""
    if directory is not None:
        shutil.rmtree(directory, ignore_errors=True)
