"""The arguments of a run, checked, and its kernel fitted and adapted."""

from __future__ import annotations

import dataclasses
from os import PathLike
from typing import Any

from lockstep.chains.adapt import DEFAULT_WARMUP, adapted
from lockstep.chains.task import Task
from lockstep.chains.until import require_criterion
from lockstep.core import random
from lockstep.core.adopt import adopted as adopted_part
from lockstep.core.arguments import MOST_SEED, flag, path_of, whole
from lockstep.core.kernel import Kernel
from lockstep.core.precision import double_precision
from lockstep.core.trees import one_of
from lockstep.engine.devices import require_devices
from lockstep.host.callback import raised_here
from lockstep.parameters.names import named, require_fit
from lockstep.starts.fit import fitted_once
from lockstep.starts.placing import placed
from lockstep.starts.start import initial_positions
from lockstep.storage.comparison import require_choice
from lockstep.workers.engine import require_ahead

MOST_STEPS = 2**38  # of a chain: cells of noise are numbered with 32 bits
MOST_CHAINS = 2**24


def make_task(
    kernel: Kernel,
    initial: Any,
    draws: int,
    chains: int,
    seed: int,
    warmup: int,
    thin: int = 1,
    directory: str | PathLike[str] | None = None,
    adapt: bool = False,
    progress: bool | None = False,
    changed: str = "refuse",
    on_error: str = "raise",
    until: Any = None,
    ahead: int | str = 1,
    names: Any = None,
    devices: Any = None,
) -> Task:
    """The arguments of a run, checked, with its kernel fitted and adapted."""
    changed = require_choice(changed)
    kernel = adopted_part(kernel, Kernel, "kernel", "a kernel such as ls.standard(log_density, proposal)")
    draws, chains = whole(draws, "draws", 1, MOST_STEPS), whole(chains, "chains", 1, MOST_CHAINS)
    warmup, thin = whole(warmup, "warmup", 0, MOST_STEPS), whole(thin, "thin", 1, MOST_STEPS)
    if warmup + draws * thin > MOST_STEPS:
        raise ValueError(
            f"draws is {draws:,}, which with thin={thin:,} and warmup={warmup:,} takes more updates of a chain than "
            f"there is noise for, {MOST_STEPS:,}; take fewer"
        )
    seed = whole(seed, "seed", 0, most=MOST_SEED)
    if not isinstance(on_error, str) or on_error not in ("raise", "reject"):
        raise ValueError(f'on_error is {on_error!r}; it must be "raise" or "reject"')
    criterion = None if until is None else require_criterion(until, "until")
    ahead, devices = require_ahead(ahead), require_devices(devices)
    flag(progress, "progress", is_none_allowed=True)
    path = None if directory is None else path_of(directory, "directory")
    with double_precision(), raised_here():
        initial = placed(kernel, initial)
        kernel, initial, began = fitted_once(kernel, initial, chains, seed, path, changed, progress)
        shown = named(names, kernel)
        if shown is not None:
            key_start, _ = random.two_keys(random.seeded(seed))
            require_fit(shown, one_of(initial_positions(initial, chains, key_start, 0, 1), 0))
        task = Task(
            *(kernel, initial, draws, chains, seed, warmup, thin, path),
            changed=changed,
            on_error=on_error,
            began=began,
            until=criterion,
            ahead=ahead,
            devices=devices,
            names=shown,
        )
        if not flag(adapt, "adapt"):
            return task
        return adapted(dataclasses.replace(task, warmup=0, adaptation=warmup or DEFAULT_WARMUP), progress)
