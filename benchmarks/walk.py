"""The work that many rows share: a normal random walk of scale 1 on the standard normal in two dimensions."""

import numpy as np

import lockstep as ls
from benchmarks.blackjax_walk import DIMENSION, log_density
from benchmarks.harness import Builder, Task, timed


def sampled(kernel, chains: int, name: str = "lockstep") -> Builder:
    """All of a call of `ls.sample`; the compiled program is that of the warm-up."""

    def build(updates: int) -> Task:
        draws = updates // chains
        initial = np.zeros(DIMENSION)

        def run():
            result = ls.sample(kernel, initial, draws=draws, chains=chains, progress=False)
            return result.positions, result.info.is_accepted

        return timed(name, draws * chains, run)

    return build


def lockstep(chains: int) -> Builder:
    return sampled(ls.standard(log_density, ls.RandomWalk(1.0)), chains)
