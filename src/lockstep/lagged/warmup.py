"""A warm-up that is as long as lagged pairs of chains say."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lockstep.chains.task import Task
from lockstep.lagged.convergence import convergence
from lockstep.storage.directory import WARMUP
from lockstep.workers.pool import Workforce

COUPLED = "coupled"
WARMUP_STREAM = 21  # of seeds: the pairs are others than the chains of the run


def is_coupled(warmup: Any, adapt: Any) -> bool:
    """Whether a warm-up is to be as long as pairs say; refused for a kernel that is still to change."""
    if not isinstance(warmup, str):
        return False
    if warmup != COUPLED:
        raise ValueError(f'warmup is {warmup!r}; it must be a whole number, at least 0, or "coupled"')
    if adapt:
        raise ValueError(
            'warmup is "coupled", which measures one kernel, and adapt is True, which changes it on the way; adapt in '
            "a run of its own, and give `run.kernel` to this one"
        )
    return True


def with_coupled_warmup(task: Task, initial: Any, executor: Workforce, progress: bool | None) -> Task:
    """The task with a warm-up after which its chains are within 0.01 of equilibrium, by `ls.convergence`."""
    if task.began is not None:
        raise ValueError(
            f'warmup is "coupled", but {task.began}; give initial as a function of a random key, by which pairs begin '
            f"as well"
        )
    seed = int(np.random.SeedSequence([task.seed, WARMUP_STREAM]).generate_state(1)[0])
    directory = None if task.directory is None else task.directory / WARMUP
    found = convergence(task.kernel, initial, seed=seed, executor=executor, directory=directory, progress=progress)
    return dataclasses.replace(task, warmup=found.updates_until())
