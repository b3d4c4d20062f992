"""Two normal vectors of different means, equal as often as their laws allow."""

from __future__ import annotations

from lockstep.core.trees import namespace
from lockstep.core.types import Array


def reflected(z: Array, apart: Array, meet: Array) -> tuple[Array, Array]:
    """The normal vector of a second chain, given that of the first, and whether both arrive at the same place.

    The first arrives at a + z, the second wants to arrive at b + z̃; ``apart`` is Δ = a - b. They arrive at the same
    place with probability min(1, φ(z + Δ)/φ(z)): then z̃ = z + Δ. Else z̃ is the reflection of z across the plane
    orthogonal to Δ. Either way z̃ is standard normal, and no coupling has them arrive together more often (Jacob,
    O'Leary and Atchadé 2020, section 4; Bou-Rabee, Eberle and Zimmer 2020).
    """
    array_module = namespace(meet)
    length = array_module.sqrt((apart * apart).sum())
    unit = apart / array_module.where(length > 0, length, 1.0)
    is_same = meet <= ((z * z).sum() - ((z + apart) * (z + apart)).sum()) / 2
    return z - 2 * (unit * z).sum() * unit, is_same
