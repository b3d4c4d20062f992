"""Random numbers in bulk, against those of JAX in the same precision.

What counts is the time of the processors: in a run the chains move on one of them while noise is drawn on the other.
JAX's numbers are drawn on all of them, ours on one; by the clock of the wall that is a row for information.
"""

import time

import jax
import jax.random as jr

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed


def drawn(name: str, draw, clock) -> Builder:
    """Numbers of as many keys as a block has cells, 64 of each."""

    def build(numbers: int) -> Task:
        each = 64
        with jax.enable_x64(True):
            keys = jr.split(jr.key(0), numbers // each)
            compiled = jax.jit(jax.vmap(lambda key: draw(key, (each,))))

        def run():
            with jax.enable_x64(True):
                return compiled(keys)

        return timed(name, numbers, run, clock)

    return build


def rows(name: str, ours, theirs) -> list[Row]:
    def row(suffix: str, what: str, clock, at_least: float | None) -> Row:
        return Row(
            f"noise-{name}{suffix}",
            f"{name} numbers{what}",
            drawn("lockstep", ours, clock),
            (drawn(f"jax.random.{name}", theirs, clock),),
            at_least,
            updates=2**20,
            unit="number",
        )

    return [
        row("", ", processor time", time.process_time, 2.0),
        row("-wall", ", by the wall", time.perf_counter, None),
    ]


ROWS = [
    *rows("normal", ls.random.normal, jr.normal),
    *rows("exponential", ls.random.exponential, jr.exponential),
]
