"""``ls.sweep``: one run for each point of a grid."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lockstep.chains.groups import STOP, run_all
from lockstep.chains.interrupt import Stop, stopped
from lockstep.chains.outcome import Outcome
from lockstep.chains.prepare import make_task
from lockstep.chains.task import Task
from lockstep.chains.until import Criterion
from lockstep.core.arguments import flag, path_of
from lockstep.core.foreign import processors
from lockstep.core.progress import Progress
from lockstep.core.types import Tree
from lockstep.engine.totals import Totals, together
from lockstep.results.run import Run
from lockstep.sampling.dataset import dataset_of
from lockstep.sampling.sample import finished
from lockstep.storage.archive import make_directory
from lockstep.storage.configuration import describe
from lockstep.storage.status import read_parts, status
from lockstep.workers.pool import Workforce

WORTH_A_POOL = 20.0  # seconds of work left on one process, from which starting others pays
PLAIN = re.compile(r"[A-Za-z0-9_.+-]{1,32}")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Sweep(Sequence[Run]):
    """The runs of a sweep, in the order of its grid.

    Attributes
    ----------
    points
        The settings of each run.
    runs
        The runs.
    """

    points: list[dict[str, Any]]
    runs: list[Run]

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: Any) -> Any:
        return self.runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def select(self, **settings: Any) -> Run:
        """The one run with these settings."""
        found = [
            run
            for point, run in zip(self.points, self.runs, strict=True)
            if all(name in point and _same(point[name], value) for name, value in settings.items())
        ]
        if len(found) != 1:
            raise KeyError(f"{len(found)} runs of the sweep have {settings}; give settings that only one has")
        return found[0]

    def to_dataset(self) -> Any:
        """The draws of all runs as one xarray Dataset, with an axis and a coordinate for each setting of the grid.

        The axes are those of the settings, then ``chain`` and ``draw`` and those of the component; ``acceptance``,
        ``seconds`` and ``draws`` have the settings alone. Runs that stopped earlier than others (``until``) end in NaN.
        Of coupled chains it holds the first. Values that are no numbers are named as their directories are.
        """
        return dataset_of(self.points, self.runs, _text)

    def __repr__(self) -> str:
        lines = [
            f"  {label(point)}: acceptance {run.acceptance:.2f}, {run.seconds:.1f} s"
            for point, run in zip(self.points, self.runs, strict=True)
        ]
        return "\n".join([f"Sweep of {len(self.runs)} runs", *lines])


def sweep(
    make: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]],
    initial: Any,
    draws: int = 1000,
    chains: int = 4,
    seed: int = 0,
    warmup: int = 0,
    thin: int = 1,
    directory: str | PathLike[str] | None = None,
    executor: Workforce = None,
    progress: bool | None = None,
    changed: str = "refuse",
    until: Criterion | None = None,
) -> Sweep:
    """Run a kernel for each point of a grid: numbers of samples, proposals, seeds, or whatever a kernel is made of.

    Each point is one run, the same as `ls.sample` would give, bit for bit, on whatever executor. With a directory each
    run has a directory of its own in it, named after its settings: the same call again goes on, and a larger grid
    computes only what is new. Tasks of workers that are lost are submitted again.

    Parameters
    ----------
    make
        A function of the names of the grid that returns a kernel.
    grid
        For each name, its values. The name ``seed`` is that of the run, and is not given to ``make``.
    initial, draws, chains, seed, warmup, thin, progress, changed, until
        As in `ls.sample`.
    directory
        Where to keep the runs.
    executor
        As in `ls.sample`. None: this process; and if the first run tells that the others would take it longer than 20
        seconds, a pool with a process for each processor.

    Returns
    -------
    Sweep
        A sequence of runs; ``select(...)`` finds one by its settings, ``points`` are the settings of each.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> def make(scale):
    ...     return ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(scale))
    >>> found = ls.sweep(make, {"scale": [0.5, 2.0], "seed": [0, 1]}, jnp.zeros(2), draws=100)
    >>> len(found), found.points[1], found.select(scale=2.0, seed=1).positions.shape
    (4, {'scale': 0.5, 'seed': 1}, (4, 100, 2))
    """
    if not callable(make):
        raise TypeError(f"make is {make!r}; it must be a function of the names of the grid that returns a kernel")
    points = _points(grid)
    flag(progress, "progress", is_none_allowed=True)
    _require_names(make, [name for name in points[0] if name != "seed"])
    make = _once(make)
    directory = None if directory is None else path_of(directory, "directory")
    tasks = [
        _task(make, point, initial, draws, chains, seed, warmup, thin, directory, changed, until) for point in points
    ]
    paths = [task.directory for task in tasks]
    if directory is not None:
        make_directory(directory, "directory")
        (Path(directory) / STOP).unlink(missing_ok=True)
    updates = sum(task.updates for task in tasks)
    with Progress(updates, f"sweep of {len(tasks)}", progress) as shown, Stop(shown.is_shown) as stop:
        outcomes = _run(tasks, executor, shown, stop)
    if directory is not None:
        (Path(directory) / STOP).unlink(missing_ok=True)
    for task, outcome in zip(tasks, outcomes, strict=True):
        if outcome.error is not None:
            finished(task, outcome)  # raises it
    if not all(outcome.is_complete for outcome in outcomes):
        whole_sweep = dataclasses.replace(
            tasks[0], directory=None if directory is None else Path(directory), chains=sum(t.chains for t in tasks)
        )
        raise stopped(whole_sweep, together(outcome.totals for outcome in outcomes), None)
    runs = [
        finished(task, _read(outcome, path, task)) for task, outcome, path in zip(tasks, outcomes, paths, strict=True)
    ]
    return Sweep(points, runs)


def _run(tasks: list[Task], executor: Workforce, shown: Progress, stop: Stop) -> list[Outcome]:
    if executor is not None:
        return run_all(tasks, executor, shown, stop)
    # The first task tells how long the others would take here, and whether other processes pay.
    began = time.monotonic()
    first = run_all(tasks[:1], None, shown, stop)
    left = tasks[1:]
    if not left or not first[0].is_complete or stop.is_wanted:
        return [*first, *[Outcome(None, Totals(), False)] * len(left)]
    size = min(processors(), len(left))
    is_worth = size > 1 and (time.monotonic() - began) * len(left) > WORTH_A_POOL
    return [*first, *run_all(left, size if is_worth else None, shown, stop)]


def _read(outcome: Outcome, path: Path | None, task: Task) -> Outcome:
    if path is None:
        return outcome
    found = status(path)
    draws = task.draws if outcome.until is None else outcome.until.draws
    return outcome._replace(output=read_parts(found.parts, draws), totals=found.totals)


def _once(make: Callable[..., Any]) -> Callable[..., Any]:
    """The same kernel for the same settings, so that runs that differ only in their seeds share a compiled program."""
    made: dict[str, Any] = {}

    def kernel(**settings: Any) -> Any:
        name = label(settings)
        if name not in made:
            made[name] = make(**settings)
        return made[name]

    return kernel


def _task(
    make: Callable[..., Any],
    point: dict[str, Any],
    initial: Any,
    draws: int,
    chains: int,
    seed: int,
    warmup: int,
    thin: int,
    directory: str | PathLike[str] | None,
    changed: str,
    until: Criterion | None,
) -> Task:
    settings = {name: value for name, value in point.items() if name != "seed"}
    seed = point.get("seed", seed)
    path = None if directory is None else Path(directory) / label(point)
    task = make_task(make(**settings), initial, draws, chains, seed, warmup, thin, path, changed=changed, until=until)
    texts = {name: _text(value) for name, value in point.items()}
    return dataclasses.replace(task, point=texts, stop_file=None if directory is None else Path(directory) / STOP)


def _require_names(make: Callable[..., Any], names: list[str]) -> None:
    """Refuse a function that does not take the names of the grid."""
    try:
        inspect.signature(make).bind(**dict.fromkeys(names))
    except TypeError as error:
        raise TypeError(f"make is {make!r}; it must take the names of the grid, {', '.join(names)} ({error})") from None
    except ValueError:  # one that cannot be looked into
        raise TypeError(f"make is {make!r}; give a function of the names of the grid, {', '.join(names)}") from None


def _points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    if not isinstance(grid, Mapping) or not grid:
        raise TypeError(
            f"grid is {grid!r}; give the values of each setting, such as {{'count': [8, 16], 'seed': [0, 1]}}"
        )
    for name, values in grid.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"grid names {name!r}; a name must be one that an argument of make can have")
        if isinstance(values, (str, bytes)) or not isinstance(values, Sized) or not len(values):
            raise TypeError(f"grid[{name!r}] is {values!r}; give a list of at least one value")
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    labels = [label(point) for point in points]
    if len(set(labels)) < len(labels):
        twice = next(one for one in labels if labels.count(one) > 1)
        raise ValueError(f"grid holds the point {twice} twice; give different values")
    return points


def label(point: Mapping[str, Any]) -> str:
    """The name of a point, which is also that of its directory."""
    return ",".join(f"{name}={_text(value)}" for name, value in point.items())


def _text(value: Any) -> str:
    is_number = isinstance(value, (np.generic, np.ndarray, jax.Array)) and not value.shape
    text = repr(value.item() if is_number else value)
    text = text.strip("'")
    if PLAIN.fullmatch(text) and set(text) != {"."}:
        return text
    digest = hashlib.sha256(json.dumps(describe(value, "value")).encode()).hexdigest()[:8]
    return f"{type(value).__name__}-{digest}"


def _same(first: Tree, second: Tree) -> bool:
    return first is second or _text(first) == _text(second)
