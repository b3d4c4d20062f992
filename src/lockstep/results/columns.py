"""Draws as columns: a data frame with a row for each draw, and files that other programs read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from lockstep.core.sampled import Sampled
from lockstep.core.types import Tree
from lockstep.core.version import __version__
from lockstep.coupling.names import components, shown_arrays
from lockstep.coupling.pair import legs
from lockstep.engine.bad_ratios import infos
from lockstep.storage.archive import commit
from lockstep.storage.errors import StorageError

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
REFERENCE = "reference_"  # before the names of the second chain of a pair


def to_dataframe(run: Sampled) -> Any:
    """A pandas data frame with a row for each draw: ``chain``, ``draw``, and a column for each component."""
    import pandas

    chains, draws = np.indices((run.chains, run.draws))
    columns = {"chain": chains.ravel(), "draw": draws.ravel()}
    for component in components(run):
        for leg, values in enumerate(component.legs):
            columns[REFERENCE * leg + component.name] = np.ascontiguousarray(values).ravel()
    return pandas.DataFrame(columns)


def to_arrow(run: Sampled, path: Path) -> Path:
    """Write the data frame as an Arrow file (IPC, Feather), whole or not at all."""
    table, pyarrow = _table(run)

    def write(file: IO[bytes]) -> None:
        with pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    commit(path, write)
    return path


def to_parquet(run: Sampled, path: Path) -> Path:
    """Write the data frame as a Parquet file, whole or not at all."""
    table, pyarrow = _table(run)
    commit(path, lambda file: pyarrow.parquet.write_table(table, file))
    return path


def _table(run: Sampled) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("this export needs pyarrow; install it with `pip install 'lockstep-mcmc[export]'`") from None
    table = pyarrow.Table.from_pandas(to_dataframe(run), preserve_index=False)
    about = {name: str(value) for name, value in run.attributes.items()}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **about}), pyarrow


def to_csv(run: Sampled, path: Path) -> list[Path]:
    """Write a file for each chain in the layout of CmdStan, which R's cmdstanr and posterior, and ArviZ, read.

    ``runs.csv`` becomes ``runs_1.csv``, ``runs_2.csv``, … Names have dots and count from one, the first index runs
    fastest: ``theta.1.1``, ``theta.2.1``. The sampler has one column, ``accept_stat__``; there is no ``lp__``, which
    most of our kernels cannot compute. Numbers are written so that they are read back as they are.
    """
    import pandas

    columns = dict(_columns(run))
    accepted = np.mean([_share(leg, run.thin) for leg in infos(run.info)], axis=0)
    paths = [path.with_name(f"{path.stem}_{chain + 1}{path.suffix or '.csv'}") for chain in range(run.chains)]
    for chain, place in enumerate(paths):
        frame = pandas.DataFrame({"accept_stat__": accepted[chain], **{k: v[chain] for k, v in columns.items()}})
        text = "\n".join(
            [*_head(run, chain), frame.to_csv(index=False, na_rep="nan", lineterminator="\n").rstrip("\n")]
        )
        commit(place, lambda file, text=text: file.write(f"{text}\n{_foot(run)}".encode()))  # type: ignore[misc]
    return paths


def _columns(run: Sampled) -> Iterator[tuple[str, np.ndarray]]:
    for leg, positions in enumerate(legs(run.positions)):
        for name, array in shown_arrays(run.shown, positions).items():
            if not PLAIN.fullmatch(name) or name.endswith("__"):
                raise StorageError(
                    f"the position has a part named {name!r}; CmdStan's files have names of letters, digits and "
                    f"underscores alone, which do not end in two. Rename it, or export to .parquet or .nc"
                )
            values = array.astype(int) if array.dtype.kind == "b" else array
            for index in np.ndindex(array.shape[:1:-1]):  # the first index runs fastest
                place = index[::-1]
                label = ".".join([REFERENCE * leg + name, *(str(number + 1) for number in place)])
                yield label, values[(slice(None), slice(None), *place)]


def _share(info: Tree, thin: int) -> np.ndarray:
    """The share of accepted candidates in each draw."""
    accepted = np.asarray(info.is_accepted, float)
    return accepted.reshape(*accepted.shape[:2], -1).mean(axis=2) / thin


def _head(run: Sampled, chain: int) -> list[str]:
    return [
        f"# written by Lockstep {__version__} in the layout of CmdStan",
        "# model = lockstep_model",
        "# method = sample",
        "#   sample",
        f"#     num_samples = {run.draws * run.thin}",
        f"#     num_warmup = {run.warmup}",
        "#     save_warmup = 0",
        f"#     thin = {run.thin}",
        "#     adapt",
        "#       engaged = 0",
        "#     algorithm = lockstep",
        f"# id = {chain + 1}",
        "# random",
        f"#   seed = {run.seed}",
    ]


def _foot(run: Sampled) -> str:
    return f"# \n#  Elapsed Time: {run.seconds:.6g} seconds (Total)\n# \n"
