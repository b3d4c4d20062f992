"""Random numbers in bulk, against those of JAX in the same precision."""

import jax
import jax.random as jr

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed


def drawn(name: str, draw) -> Builder:
    """Numbers of as many keys as a block has cells, 64 of each."""

    def build(numbers: int) -> Task:
        each = 64
        with jax.enable_x64(True):
            keys = jr.split(jr.key(0), numbers // each)
            compiled = jax.jit(jax.vmap(lambda key: draw(key, (each,))))

        def run():
            with jax.enable_x64(True):
                return compiled(keys)

        return timed(name, numbers, run)

    return build


def row(name: str, ours, theirs) -> Row:
    return Row(
        f"noise-{name}",
        f"{name} numbers",
        drawn("lockstep", ours),
        (drawn(f"jax.random.{name}", theirs),),
        2.0,
        updates=2**20,
        unit="number",
    )


ROWS = [
    row("normal", ls.random.normal, jr.normal),
    row("exponential", ls.random.exponential, jr.exponential),
]
