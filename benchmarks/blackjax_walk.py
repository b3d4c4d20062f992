"""BlackJAX's random walk in double precision, compiled and timed. Nothing here imports Lockstep."""

import functools
import time

import blackjax
import jax
import jax.numpy as jnp
import jax.random as jr
from blackjax.mcmc.random_walk import normal

DIMENSION = 2


def log_density(position):
    return -0.5 * jnp.sum(position**2)


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


@functools.cache
def compiled(way, chains: int, steps: int):
    with jax.enable_x64(True):
        algorithm = blackjax.additive_step_random_walk(log_density, normal(jnp.ones(DIMENSION)))
        positions = jnp.zeros((chains, DIMENSION))
    return jax.jit(lambda key: way(algorithm, key, positions, steps))


def seconds(way, chains: int, steps: int) -> float:
    """How long a run takes, until all positions and acceptance flags are there."""
    run = compiled(way, chains, steps)
    with jax.enable_x64(True):
        began = time.perf_counter()
        jax.block_until_ready(run(jr.key(0)))
        return time.perf_counter() - began
