"""Two kernels driven by one noise."""

from lockstep.coupling.common_noise import Coupled, CoupledInfo, CoupledState, Pair, Shadowed, ShadowedInfo
from lockstep.coupling.lagged import Lagged, LaggedInfo, LaggedState
from lockstep.coupling.maximal import MaximallyCoupled

__all__ = [
    "Coupled",
    "CoupledInfo",
    "CoupledState",
    "Lagged",
    "LaggedInfo",
    "LaggedState",
    "MaximallyCoupled",
    "Pair",
    "Shadowed",
    "ShadowedInfo",
]
