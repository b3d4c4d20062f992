"""Two kernels driven by one noise."""

from lockstep.coupling.common_noise import Coupled, CoupledState, Shadowed
from lockstep.coupling.infos import CoupledInfo, LaggedInfo, ShadowedInfo
from lockstep.coupling.lagged import Lagged, LaggedState
from lockstep.coupling.maximal import MaximallyCoupled
from lockstep.coupling.pair import Pair

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
