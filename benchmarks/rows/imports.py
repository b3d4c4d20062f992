"""The time until `ls.sample` is there, in a fresh interpreter, against that of importing JAX."""

import subprocess
import sys

from benchmarks.harness import Builder, Row, Task

PROGRAM = """
import time
began = time.perf_counter()
{statement}
print(time.perf_counter() - began)
"""


def fresh(name: str, statement: str) -> Builder:
    """The seconds of a statement, without those of the interpreter's own start."""
    command = [sys.executable, "-c", PROGRAM.format(statement=statement)]

    def measure() -> float:
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return lambda updates: Task(name, 1, measure)


ROWS = [
    Row(
        "import-jax",
        "import lockstep as ls; ls.sample",
        fresh("lockstep", "import lockstep as ls; ls.sample"),
        (fresh("import jax", "import jax"),),
        1 / 1.3,
        updates=1,
        unit="import",
    )
]
