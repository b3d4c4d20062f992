"""Proposals that learn their covariance and scale in the warm-up, and are frozen before the first draw."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.compose import Cycle
from lockstep.coupling import Pair
from lockstep.precision import canonical
from lockstep.sampling import driver
from lockstep.sampling.drivers import driver_of
from lockstep.sampling.problems import infos
from lockstep.sampling.progress import Progress
from lockstep.sampling.starts import Starts, initial_states
from lockstep.types import Key

DEFAULT_WARMUP = 1000
ADAPT_STREAM = 2**31  # of random numbers: beyond the chains'
FIRST_WINDOW = 64  # updates; windows grow, so that later ones say more
GROWTH = 1.1
LEARNING = 0.75  # share of the warm-up in which covariances are learned; the rest is for the scale alone
SLOPE = 0.45  # by which the acceptance falls when the scale of a well-tuned walk grows by a factor e
MOST_STEP, LEAST_STEP = 2.0, -8.0  # logarithms


def adapted(
    kernel: Any, initial: Any, chains: int, key: Key, warmup: int, progress: bool | None = None
) -> tuple[Any, Starts]:
    """The kernel with adapted proposals, and where its chains stand after ``warmup`` updates.

    Windows of updates are run one after the other with all chains. After each, every proposal that has a method
    ``adapted(positions, step)`` is replaced by what that returns: its covariance is that of the second half of all
    positions in the first three quarters of the warm-up, its scale follows the acceptance. A function of the
    key, the kernel and the initial positions alone: a run that is resumed repeats it bit for bit.
    """
    key_start, key_run = jr.split(key)
    _require_adaptable(kernel)
    state = initial_states(canonical(kernel, "kernel"), initial, chains, key_start)
    chain_keys = jax.vmap(lambda chain: jr.fold_in(key_run, chain))(jnp.arange(chains))
    past: list[Any] = []
    seen: Any = None
    log_step = np.zeros(())
    # Scales get their final shape at once, so that all windows share one compiled program.
    kernel = _replaced(kernel, jax.tree.map(lambda leaf: np.asarray(leaf)[:1, None], state.position), np.ones(()))
    with Progress(warmup * chains, "warm-up", progress) as shown:
        shown.say(driver_of(canonical(kernel, "kernel")).BEGINNING)
        for number, (start, steps) in enumerate(_windows(warmup)):
            state, positions, acceptance = _run(kernel, chain_keys, state, start, steps)
            past.append(positions)
            if number == 0 or start + steps <= LEARNING * warmup:
                seen = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *_second_half(past))
            # ROBBINS–MONRO: the first windows move the scale freely, later ones less and less.
            excess = (acceptance - _target(seen)) / SLOPE
            log_step = np.clip(log_step + excess * (number + 1) ** -0.5, LEAST_STEP, MOST_STEP)
            kernel = _replaced(kernel, seen, np.exp(log_step))
            shown.update((start + steps) * chains, f"acceptance {np.mean(acceptance):.2f}")
    return kernel, Starts(jax.tree.map(np.asarray, state.position))


def _target(positions: Any) -> float:
    """The acceptance that suits a random walk: 0.44 in one dimension, 0.234 in many."""
    dimension = sum(leaf[0, 0].size for leaf in jax.tree.leaves(positions))
    return 0.234 + 0.206 / dimension


def _windows(warmup: int) -> list[tuple[int, int]]:
    """First step and length of each window; whole cells of noise, the last one takes what is left."""
    windows, start, length = [], 0, float(FIRST_WINDOW)
    while start < warmup:
        steps = max(driver.CELL, int(length) // driver.CELL * driver.CELL)
        steps = warmup - start if start + 2 * steps > warmup else steps
        windows.append((start, steps))
        start, length = start + steps, GROWTH * length
    return windows


def _run(kernel: Any, chain_keys: Any, state: Any, start: int, steps: int) -> tuple[Any, Any, np.ndarray]:
    """One window: the states at its end, its positions (chains, steps, ...), and the shares accepted, one a kernel."""
    compiled = canonical(kernel, "kernel")
    driving = driver_of(compiled)
    cells = driving.cells_per_block(compiled, chain_keys, state, driver.CELL)
    found, accepted = [], []
    for first in range(start, start + steps, cells * driver.CELL):
        length = min(cells * driver.CELL, start + steps - first)
        state, output = driving.advance(
            compiled, chain_keys, state, driver.Block(first, length, 1, 0), cells=cells, is_thinned=False
        )
        output = jax.tree.map(lambda leaf: np.swapaxes(np.asarray(leaf)[:length], 0, 1), output)  # noqa: B023
        found.append(output.positions)
        accepted.append(np.concatenate([leg.is_accepted for leg in infos(output.info)]))
    share = np.concatenate(accepted, axis=1).mean(axis=(0, 1))
    return state, jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *found), share


def _second_half(past: list[Any]) -> list[Any]:
    lengths = np.cumsum([jax.tree.leaves(positions)[0].shape[1] for positions in past])
    return past[int(np.searchsorted(lengths, lengths[-1] / 2)) :]


def _is_adaptable(node: Any) -> bool:
    return callable(getattr(node, "adapted", None))


def _require_adaptable(kernel: Any) -> None:
    nodes = jax.tree.leaves(kernel, is_leaf=_is_adaptable)
    if not any(map(_is_adaptable, nodes)):
        raise ValueError(
            f"adapt is True, but no proposal of {kernel!r} can be adapted; use ls.RandomWalk, ls.UniformWalk or "
            f"ls.CrankNicolson, or leave adapt out"
        )


def _replaced(kernel: Any, positions: Any, step: np.ndarray) -> Any:
    """The kernel with each adaptable proposal replaced; in a `Cycle` each by the step of its own kernel."""
    if isinstance(kernel, Cycle) and np.ndim(step) == 1:
        return Cycle([_replaced(one, positions, own) for one, own in zip(kernel.kernels, step, strict=True)])
    if isinstance(positions, Pair):
        positions = positions.first

    def replace(node: Any) -> Any:
        return node.adapted(positions, float(np.mean(step))) if _is_adaptable(node) else node

    return jax.tree.map(replace, kernel, is_leaf=_is_adaptable)
