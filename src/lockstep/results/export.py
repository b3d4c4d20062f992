"""Runs as netCDF files and Zarr stores."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from lockstep.core.kernel import Info
from lockstep.core.sampled import Sampled
from lockstep.core.types import Tree
from lockstep.coupling.names import ONE, components, named_arrays
from lockstep.storage.archive import temporary_of
from lockstep.storage.errors import StorageError


def to_netcdf(run: Sampled, path: Path) -> Path:
    """Write a run as one netCDF file, whole or not at all."""
    _require_package("h5netcdf")
    temporary = temporary_of(path)
    try:
        _plain(run).to_netcdf(temporary, engine="h5netcdf")
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{path} could not be written ({error.strerror or error})") from error
    finally:
        with contextlib.suppress(OSError):  # where nothing could be written, there is nothing to remove
            temporary.unlink(missing_ok=True)
    return path


def to_inferencedata(run: Sampled) -> Any:
    """A run as an InferenceData of ArviZ before version 1, which does not take a DataTree."""
    try:
        import arviz
    except ImportError:
        raise ImportError(
            "to_inferencedata needs arviz before version 1, which is not installed; arviz-stats, arviz-plots and arviz "
            "from version 1 on take run.to_datatree()"
        ) from None
    if int(arviz.__version__.split(".")[0]) >= 1:
        raise TypeError(
            f"arviz {arviz.__version__} has no InferenceData: it takes run.to_datatree() as it is, as arviz-stats and "
            f"arviz-plots do"
        )
    groups = {name: group.to_dataset() for name, group in run.to_datatree().children.items()}
    return arviz.InferenceData(attrs=run.attributes, **groups)


def to_zarr(run: Sampled, path: Path) -> Path:
    """Write a run as a Zarr store, a directory."""
    _require_package("zarr")
    if path.exists():
        raise StorageError(f"{path} exists already; give another path, or remove it first")
    temporary = temporary_of(path)
    try:
        _plain(run).to_zarr(temporary, consolidated=True, zarr_format=2)
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{path} could not be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return path


def _plain(run: Sampled) -> Any:
    """The run as a DataTree; names that could lead out of a store are refused."""
    for name in (*(one.name for one in components(run)), *named_arrays(apart_from_paths(run.info)[0])):
        if "/" in name or "\\" in name or name.startswith("."):
            raise StorageError(f"the position has a part named {name!r}, which no file can hold; rename it")
    return run.to_datatree()


def _require_package(name: str) -> None:
    try:
        __import__(name)
    except ImportError:
        raise ImportError(f"this export needs {name}; install it with `pip install 'lockstep-mcmc[export]'`") from None


def apart_from_paths(info: Tree) -> tuple[Any, dict[str, np.ndarray]]:
    """An info without the paths that it keeps, and these by name."""
    if not isinstance(info, Info):
        return info, {}
    paths = named_arrays(info.kept).items()
    return info._replace(kept=()), {"path" if name == ONE else f"path_{name}": array for name, array in paths}
