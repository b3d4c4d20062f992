"""The result of `ls.sample`."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lockstep.chains.about import about
from lockstep.core.arguments import path_of
from lockstep.core.sampled import Sampled
from lockstep.core.types import Position, Tree
from lockstep.core.version import __version__
from lockstep.coupling.names import ONE, named_arrays, shown_arrays
from lockstep.coupling.pair import Pair, legs, of_each
from lockstep.engine.bad_ratios import infos, total
from lockstep.results.columns import to_arrow, to_csv, to_dataframe, to_parquet
from lockstep.results.export import apart_from_paths, to_inferencedata, to_netcdf, to_zarr
from lockstep.results.report import write_report
from lockstep.results.summary import Summary, summarize


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Run(Sampled):
    """Draws and what is known of them.

    Attributes
    ----------
    positions
        The draws, with the structure of a position; arrays of shape (chains, draws, ...). Of named parameters their
        values, by name.
    walked
        Where the chains walked: the same as ``positions``, or the real numbers of which these are the values.
    info
        What happened: `Info` of arrays (chains, draws). With ``thin > 1`` flags are counts over the interval of a draw.
    kernel
        The kernel that made it; None in a run that was loaded from disk.
    directory
        Where the run is kept; None if it is only in memory.
    about
        What is known of the kernel: its text, when it is exact, and else the order of its error.
    changes
        Where the run went on with another model (``changed="accept"``), and what differed, in words.
    failed, failure
        With ``on_error="reject"``: how many candidates were rejected because their evaluation raised an exception (the
        warm-up included), and the first exception as a text: a line that names it, and its traceback.
    began
        A sentence if the chains did not begin at ``initial`` but around a mode that was found from there; else None.
    until
        A sentence on where the criterion ``until`` was met, or that it was not; None if there was none.
    """

    @functools.cached_property
    def positions(self) -> Position:
        if self.shown is None:
            return self.walked
        return of_each(self.shown.all_values, self.walked)

    @property
    def about(self) -> dict[str, Any]:
        return about(self.kernel) if self.stored_about is None else self.stored_about

    @functools.cached_property
    def chains(self) -> int:
        return int(jax.tree.leaves(self.walked)[0].shape[0])

    @functools.cached_property
    def draws(self) -> int:
        return int(jax.tree.leaves(self.walked)[0].shape[1])

    @property
    def acceptance(self) -> float:
        """The share of accepted candidates."""
        flags = [np.asarray(leg.is_accepted) for leg in infos(self.info)]
        return float(np.mean([total(accepted) / (accepted.size * self.thin) for accepted in flags]))

    @property
    def paths(self) -> Any:
        """One path of the hidden states for each draw: arrays (chains, draws, times, ...) with a state's structure."""
        found = next(infos(self.info)).kept
        if not jax.tree.leaves(found):
            raise AttributeError(
                "this run keeps no paths of hidden states; give ls.particle_marginal(..., paths=True), or take "
                "ls.particle_gibbs"
            )
        return found

    def forecast(self, steps: int, inputs: Tree = None, seed: int = 0) -> Any:
        """The hidden process and its data simulated on from the end of each path, with the parameters of its draw.

        ``states`` and ``data``: arrays (chains, draws, steps, ...); no data if the model has no ``observe``. ``inputs``
        has a row for each of the steps.
        """
        paths = self.paths
        if self.kernel is None:
            raise ValueError("a run that was loaded has no model to simulate; call ls.sample again as it was called")
        return self.kernel.forecaster(self.positions, paths, steps, inputs, seed)

    def to_datatree(self) -> Any:
        """The run as an xarray DataTree for ArviZ: ``posterior`` and ``sample_stats``.

        Of coupled chains the first is the ``posterior`` and the second the ``reference_posterior``.
        """
        import arviz_base

        groups = {
            name: shown_arrays(self.shown, leg)
            for name, leg in zip(("posterior", "reference_posterior"), legs(self.positions), strict=False)
        }
        # A flag that holds for all updates may be one number.
        shape = (self.chains, self.draws)
        info, paths = apart_from_paths(self.info)
        groups["posterior"] |= paths
        dims = {name: ["time", *(f"{name}_dim_{i}" for i in range(array.ndim - 3))] for name, array in paths.items()}
        groups["sample_stats"] = named_arrays(
            jax.tree.map(lambda leaf: leaf if np.ndim(leaf) else np.full(shape, leaf), info)
        )
        coords: dict[str, list[Any]] = {}
        if self.shown is not None:
            dims |= {name: list(axes) for name, axes in self.shown.dims.items()}
            coords = {name: list(labels) for name, labels in self.shown.coords.items()}
        with warnings.catch_warnings():
            # A run of more chains than draws is short, not turned over.
            warnings.filterwarnings("ignore", "Found chain dimension to be longer than draw", UserWarning)
            return arviz_base.from_dict(groups, attrs={"/": self.attributes}, dims=dims, coords=coords)

    def to_dataframe(self) -> Any:
        """The draws as a pandas data frame: a row for each draw of each chain, a column for each component.

        The second chain of a coupled run has columns that begin with ``reference_``.
        """
        return to_dataframe(self)

    def to_csv(self, path: str | PathLike[str]) -> list[Path]:
        """Write a CSV file for each chain in the layout of CmdStan, for cmdstanr and posterior in R; return the paths.

        ``draws.csv`` becomes ``draws_1.csv``, ``draws_2.csv``, …
        """
        return to_csv(self, path_of(path, "path"))

    def to_parquet(self, path: str | PathLike[str]) -> Path:
        """Write the data frame as a Parquet file (needs ``pip install lockstep-mcmc[export]``)."""
        return to_parquet(self, path_of(path, "path"))

    def to_arrow(self, path: str | PathLike[str]) -> Path:
        """Write the data frame as an Arrow file (needs ``pip install lockstep-mcmc[export]``)."""
        return to_arrow(self, path_of(path, "path"))

    def to_inferencedata(self) -> Any:
        """The run as an InferenceData, for ArviZ before version 1; from then on ArviZ takes ``to_datatree()``."""
        return to_inferencedata(self)

    def to_netcdf(self, path: str | PathLike[str]) -> Path:
        """Write the run as a netCDF file, which ArviZ, xarray and R can read."""
        return to_netcdf(self, path_of(path, "path"))

    def to_zarr(self, path: str | PathLike[str]) -> Path:
        """Write the run as a Zarr store (needs ``pip install lockstep-mcmc[export]``)."""
        return to_zarr(self, path_of(path, "path"))

    def summary(self, round_to: int | str = "auto") -> Summary:
        """Means, standard deviations, ESS and R-hat of every component, and whether the kernel is exact.

        ``round_to`` is about what is printed, as in ArviZ: ``"auto"``, the digits that the Monte Carlo error gives a
        meaning to; a number of decimals; ``"4g"``, so many significant digits; ``"none"``. The ``table`` of the summary
        holds the numbers in full.
        """
        return summarize(self, round_to)

    def report(self, path: str | PathLike[str]) -> Any:
        """Write a self-contained HTML page about the run, and return its path; in a directory, ``report.html``."""
        return write_report(self, path)

    def __repr__(self) -> str:
        thinned = f", thinned by {self.thin}" if self.thin > 1 else ""
        warmup = f" after {self.warmup:,} updates of warm-up" if self.warmup else ""
        return (
            f"Run of {self.chains} chains × {self.draws:,} draws{thinned}{warmup}, seed {self.seed}: "
            f"acceptance {self.acceptance:.2f}, {self.seconds:.2f} s\n  kernel: {self.about['kernel']}\n  positions: "
            + ", ".join(f"{name} {array.shape}" for name, array in _named(self).items())
            + "".join(f"\n  {told}" for told in (self.began, self.until) if told is not None)
        )

    @property
    def attributes(self) -> dict[str, Any]:
        """What files say of the run: library, kernel, seed, warm-up, thinning and time."""
        return {
            "inference_library": "lockstep",
            "inference_library_version": __version__,
            "kernel": self.about["kernel"],
            "seed": self.seed,
            "warmup": self.warmup,
            "thin": self.thin,
            "sampling_time": self.seconds,
        }


def _named(run: Run) -> dict[str, np.ndarray]:
    """What is shown by name; of a pair, of both."""
    shown = [shown_arrays(run.shown, leg) for leg in legs(run.positions)]
    if len(shown) == 1:
        return shown[0]
    return {
        leg if name == ONE else f"{leg}_{name}": array
        for leg, named in zip(Pair._fields, shown, strict=True)
        for name, array in named.items()
    }
