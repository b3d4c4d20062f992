"""``ls.sample``: run chains of a kernel."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from lockstep.arguments import whole
from lockstep.kernel import require_protocol
from lockstep.precision import canonical, double_precision
from lockstep.sampling import driver
from lockstep.sampling.drivers import driver_of
from lockstep.sampling.problems import count_bad, infos, require_ratios, warn_of_ratios
from lockstep.sampling.progress import Progress
from lockstep.sampling.run import Run
from lockstep.sampling.starts import initial_states
from lockstep.types import Kernel

SECONDS_PER_BLOCK = 1.0
MOST_SEED = 2**63 - 1


def sample(
    kernel: Any,
    initial: Any,
    draws: int = 1000,
    chains: int = 4,
    seed: int = 0,
    warmup: int = 0,
    thin: int = 1,
    progress: bool | None = None,
) -> Run:
    """Run chains of a kernel and keep their draws.

    Everything is computed in double precision, in a scope of its own. The noise of a step depends on the seed, the
    chain and the step alone; a longer run begins with the draws of a shorter one.

    Parameters
    ----------
    kernel
        What `ls.standard`, `ls.penalty`, `ls.exchange`, … return, or any kernel with ``noise``, ``init`` and ``move``.
    initial
        A position for all chains, a function of a random key that draws one, or ``ls.Starts(positions)`` with a
        leading axis over the chains.
    draws
        How many positions of each chain to keep.
    chains
        How many chains to run.
    seed
        A whole number.
    warmup
        How many updates to take and forget before the first draw.
    thin
        How many updates to take for each draw.
    progress
        True: a progress bar, or plain lines where there is no terminal. False: nothing. None: a bar on a terminal.

    Returns
    -------
    Run
        With ``positions`` and ``info``, NumPy arrays of shape (chains, draws, ...).

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(1.0))
    >>> run = ls.sample(kernel, jnp.zeros(2), draws=500, chains=4, seed=1, warmup=100, thin=2)
    >>> run.positions.shape
    (4, 500, 2)
    """
    require_protocol(kernel, Kernel, "kernel", "a kernel such as ls.standard(log_density, proposal)")
    draws, chains = whole(draws, "draws", 1), whole(chains, "chains", 1)
    warmup, thin = whole(warmup, "warmup", 0), whole(thin, "thin", 1)
    seed = whole(seed, "seed", 0, most=MOST_SEED)
    started = time.perf_counter()
    with double_precision():
        compiled = canonical(kernel, "kernel")
        key_start, key_run = jr.split(jr.key(seed))
        chain_keys = jax.vmap(lambda chain: jr.fold_in(key_run, chain))(jnp.arange(chains))
        state = initial_states(compiled, initial, chains, key_start)
        with Progress((warmup + draws * thin) * chains, "sampling", progress) as shown:
            positions, info, bad_in_warmup = _drive(compiled, chain_keys, state, warmup, draws, thin, shown)
        warn_of_ratios(compiled, positions, info, thin, bad_in_warmup)
    return Run(positions, info, kernel, seed, warmup, thin, time.perf_counter() - started)


def _drive(
    kernel: Any, chain_keys: Any, state: Any, warmup: int, draws: int, thin: int, shown: Progress
) -> tuple[Any, Any, int]:
    """Blocks of about a second, one after the other: positions, info, and the number of bad ratios in the warm-up."""
    total, chains = warmup + draws * thin, len(chain_keys)
    driving = driver_of(kernel)
    cells = driving.cells_per_block(kernel, chain_keys, state, total)
    collector: Collector | None = None
    step, limit, accepted, ratios, bad_in_warmup = 0, driving.FEWEST_STEPS, 0, 0, 0
    while step < total:
        # A block ends at a whole cell, or where the warm-up or the run ends.
        end = warmup if step < warmup else total
        room = cells * driver.CELL - step % driver.CELL
        steps = min(end - step, room, limit)
        phase = (step - warmup) % thin if step >= warmup else 0
        compiled_before = driving.compilations()
        began = time.perf_counter()
        block = driver.Block(step, steps, thin, phase)
        state, output = driving.advance(kernel, chain_keys, state, block, cells=cells, is_thinned=thin > 1)
        seconds = time.perf_counter() - began
        used = slice(0, (phase + steps - 1) // thin + 1)
        output = jax.tree.map(lambda leaf: np.swapaxes(np.asarray(leaf)[used], 0, 1), output)  # noqa: B023
        if step == 0:
            require_ratios(kernel, state, output.info)
        if step < warmup:
            bad_in_warmup += count_bad(output.info, steps * chains)
        else:
            collector = collector or Collector(output, chains, draws)
            collector.add(output, (step - warmup) // thin, is_continued=phase > 0)
        step += steps
        accepted += sum(int(leg.is_accepted.sum()) for leg in infos(output.info))
        ratios += sum(steps * chains * int(np.prod(leg.is_accepted.shape[2:])) for leg in infos(output.info))
        shown.update(step * chains, f"acceptance {accepted / max(ratios, 1):.2f}")
        if driving.compilations() == compiled_before:
            limit = max(driving.FEWEST_STEPS, int(steps * SECONDS_PER_BLOCK / max(seconds, 1e-9)))
    assert collector is not None
    return *collector.output, bad_in_warmup


class Collector:
    """Arrays for all draws of a run, filled block by block."""

    def __init__(self, like: driver.Output, chains: int, draws: int) -> None:
        self.output = jax.tree.map(lambda leaf: np.zeros((chains, draws, *leaf.shape[2:]), leaf.dtype), like)

    def add(self, output: driver.Output, first: int, is_continued: bool) -> None:
        """Put a block's draws in their place; a draw that the last block began is completed."""
        past = jax.tree.map(lambda leaf: leaf[:, first].copy(), self.output.info)
        for target, leaf in zip(jax.tree.leaves(self.output), jax.tree.leaves(output), strict=True):
            target[:, first : first + leaf.shape[1]] = leaf
        if is_continued:
            now = jax.tree.map(lambda leaf: leaf[:, 0], output.info)
            both = driver.gather(past, now, np.bool_(False))
            for target, leaf in zip(jax.tree.leaves(self.output.info), jax.tree.leaves(both), strict=True):
                target[:, first] = leaf
