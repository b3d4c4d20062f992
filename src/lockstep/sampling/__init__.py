"""Running kernels: the entry points, the drivers, run directories, and the result."""

from lockstep.sampling.chains import sample
from lockstep.sampling.errors import RunDirectoryError
from lockstep.sampling.interrupt import Interrupted
from lockstep.sampling.loading import load
from lockstep.sampling.run import Run
from lockstep.sampling.starts import Starts
from lockstep.warning import LockstepWarning

__all__ = ["Interrupted", "LockstepWarning", "Run", "RunDirectoryError", "Starts", "load", "sample"]
