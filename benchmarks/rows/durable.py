"""A run that is kept on disk as it goes, against the same run in memory; both keep all draws."""

import shutil
import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from benchmarks.walk import DIMENSION, log_density

CHAINS = 4


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    return rows, (rows @ np.ones(4) + rng.logistic(size=200) > 0).astype(float)


COVARIATES, LABELS = data()


def log_posterior(theta):
    """A logistic regression with 200 data: an update of a few microseconds."""
    score = jnp.asarray(COVARIATES) @ theta
    return jnp.sum(LABELS * score - jnp.logaddexp(0.0, score)) - 0.5 * jnp.sum(theta**2)


def regression() -> ls.MetropolisHastings:
    return ls.standard(log_posterior, ls.RandomWalk(0.3))


def walk() -> ls.MetropolisHastings:
    """The cheapest kernel there is: the disk takes as many bytes a second as it ever will."""
    return ls.standard(log_density, ls.RandomWalk(1.0))


def run_of(make, dimension: int, is_durable: bool) -> Builder:
    def build(updates: int) -> Task:
        kernel, draws = make(), updates // CHAINS
        folder = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))

        def run():
            shutil.rmtree(folder, ignore_errors=True)
            directory = folder if is_durable else None
            return ls.sample(kernel, np.zeros(dimension), draws, CHAINS, directory=directory, progress=False).positions

        return timed("in a directory" if is_durable else "in memory", updates, run)

    return build


def row(name: str, what: str, make, dimension: int, updates: int, at_least: float | None) -> Row:
    ours, peer = (run_of(make, dimension, is_durable) for is_durable in (True, False))
    return Row(name, what, ours, (peer,), at_least, updates=updates, repeats=7)


ROWS = [
    row("durable", "logistic regression, 200 data, all draws kept", regression, 4, 2**21, 1 / 1.05),
    row("durable-cheapest", "random walk, all draws kept: mostly writing", walk, DIMENSION, 2**22, None),
]
