"""The runs of a grid as one xarray Dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.coupling.names import shown_arrays
from lockstep.coupling.pair import legs
from lockstep.results.run import Run


def dataset_of(points: Sequence[dict[str, Any]], runs: Sequence[Run], text: Callable[[Any], str]) -> Any:
    """All draws, with an axis for each setting; ``text`` names values that are no numbers."""
    import xarray

    names = list(points[0])
    # In the order of the grid, each value once.
    values = {name: list({text(point[name]): point[name] for point in points}.values()) for name in names}
    labels = {name: [text(value) for value in values[name]] for name in names}
    places = [tuple(labels[name].index(text(point[name])) for name in names) for point in points]
    shape = tuple(len(values[name]) for name in names)
    arrays = [shown_arrays(run.shown, legs(run.positions)[0]) for run in runs]
    taken = {"chain", "draw", "acceptance", "seconds", "draws", *arrays[0]} & set(names)
    if taken:
        raise ValueError(f"the grid has a setting called {taken.pop()!r}, as an axis or a variable is; rename it")
    draws, is_ragged = max(run.draws for run in runs), len({run.draws for run in runs}) > 1
    variables: dict[str, Any] = {}
    for name, first in arrays[0].items():
        dtype = np.result_type(first.dtype, float) if is_ragged else first.dtype
        whole = np.full((*shape, runs[0].chains, draws, *first.shape[2:]), np.nan if is_ragged else 0, dtype)
        for place, found in zip(places, arrays, strict=True):
            whole[place][:, : found[name].shape[1]] = found[name]
        inner = [f"{name}_dim_{number}" for number in range(first.ndim - 2)]
        variables[name] = ((*names, "chain", "draw", *inner), whole)
    for name, kind in (("acceptance", float), ("seconds", float), ("draws", int)):
        numbers = np.zeros(shape, kind)
        for place, run in zip(places, runs, strict=True):
            numbers[place] = getattr(run, name)
        variables[name] = (tuple(names), numbers)
    coordinates = {name: _coordinate(values[name], labels[name]) for name in names}
    axes = {"chain": np.arange(runs[0].chains), "draw": np.arange(draws)}
    return xarray.Dataset(variables, coordinates | axes, attrs={"inference_library": "lockstep"})


def _coordinate(values: list[Any], labels: list[str]) -> Any:
    is_plain = all(np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiub" for value in values)
    return np.asarray(values) if is_plain else labels
