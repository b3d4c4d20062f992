"""What lagged pairs of chains tell: estimates without bias, and bounds of the distance to equilibrium."""

from lockstep.lagged.convergence import Bound, Convergence, convergence
from lockstep.lagged.unbiased import Unbiased, unbiased

__all__ = ["Bound", "Convergence", "Unbiased", "convergence", "unbiased"]
