"""Models from other tools: a NumPyro model becomes a subsampled target, a PyMC model a log density.

A state-space model of `particles` becomes an `ls.models.StateSpace`.
"""

from lockstep.interop.model import DensityModel, RowModel
from lockstep.interop.numpyro_model import numpyro
from lockstep.interop.particles_model import particles
from lockstep.interop.pymc_model import pymc

__all__ = ["DensityModel", "RowModel", "numpyro", "particles", "pymc"]
