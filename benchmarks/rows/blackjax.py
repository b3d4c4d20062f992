"""Random walk Metropolis against BlackJAX's, in double precision; both keep all positions and acceptance flags."""

import blackjax
import jax
import jax.numpy as jnp
import jax.random as jr
from blackjax.mcmc.random_walk import normal

from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.walk import DIMENSION, lockstep, log_density


def scanned(algorithm, keys, state):
    """A loop of BlackJAX's steps."""

    def one(state, key):
        state, info = algorithm.step(key, state)
        return state, (state.position, info.is_accepted)

    return jax.lax.scan(one, state, keys)[1]


def one_chain(algorithm, key, positions, steps):
    return scanned(algorithm, jr.split(key, steps), algorithm.init(positions[0]))


def vmap_of_scan(algorithm, key, positions, steps):
    def chain(key, position):
        return scanned(algorithm, jr.split(key, steps), algorithm.init(position))

    return jax.vmap(chain)(jr.split(key, len(positions)), positions)


def scan_of_vmap(algorithm, key, positions, steps):
    """All keys are made before the loop."""
    together = algorithm._replace(step=jax.vmap(algorithm.step))
    return scanned(together, jr.split(key, (steps, len(positions))), jax.vmap(algorithm.init)(positions))


def scan_of_vmap_split_within(algorithm, key, positions, steps):
    """The chains' keys are split off in the loop."""
    together = algorithm._replace(
        step=lambda key, states: jax.vmap(algorithm.step)(jr.split(key, len(positions)), states)
    )
    return scanned(together, jr.split(key, steps), jax.vmap(algorithm.init)(positions))


def walked(chains: int, way, share: int = 1) -> Builder:
    """A compiled run of BlackJAX; a ``share`` of the updates is enough where they are slow."""

    def build(updates: int) -> Task:
        steps = updates // chains // share
        with jax.enable_x64(True):
            algorithm = blackjax.additive_step_random_walk(log_density, normal(jnp.ones(DIMENSION)))
            positions = jnp.zeros((chains, DIMENSION))
        compiled = jax.jit(lambda key: way(algorithm, key, positions, steps))

        def run():
            with jax.enable_x64(True):
                return compiled(jr.key(0))

        return timed(f"BlackJAX, {way.__name__.replace('_', ' ')}", steps * chains, run)

    return build


def row(chains: int, at_least: float | None) -> Row:
    ways = (scan_of_vmap, scan_of_vmap_split_within, vmap_of_scan)
    return Row(
        f"walk-{chains}-blackjax",
        f"random walk, {chains:,} chains",
        lockstep(chains),
        tuple(walked(chains, way) for way in ways),
        at_least,
        updates=2**20 if chains < 64 else 2**21,
    )


# `run_inference_algorithm` compiles its loop anew at each call; the same loop, compiled once, is the faster peer.
ROWS = [
    Row("walk-1-blackjax", "random walk, 1 chain", lockstep(1), (walked(1, one_chain, share=4),), 40.0),
    row(4, None),
    row(64, 3.0),
    row(1024, 4.0),
]
