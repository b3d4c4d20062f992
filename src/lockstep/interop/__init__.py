"""Models from other tools: a NumPyro model becomes a subsampled target, a PyMC model a log density."""

from lockstep.interop.model import DensityModel, RowModel
from lockstep.interop.numpyro_model import numpyro
from lockstep.interop.pymc_model import pymc

__all__ = ["DensityModel", "RowModel", "numpyro", "pymc"]
