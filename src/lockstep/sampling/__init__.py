"""Running kernels: the entry point, the compiled driver, and the result."""

from lockstep.sampling.chains import sample
from lockstep.sampling.problems import LockstepWarning
from lockstep.sampling.run import Run
from lockstep.sampling.starts import Starts

__all__ = ["LockstepWarning", "Run", "Starts", "sample"]
