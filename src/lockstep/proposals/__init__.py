"""Proposals: a candidate and its log proposal ratio, returned together so that they cannot disagree.

Whatever does not depend on the position is computed with the noise: increments ``L z`` of a walk, the candidate of an
independence proposal and its density.
"""

from lockstep.proposals.component import Component
from lockstep.proposals.finite import Finite
from lockstep.proposals.independent import Independent, IndependentNormal, IndependentUniform
from lockstep.proposals.laplace import CrankNicolson, IndependentStudent
from lockstep.proposals.walks import RandomWalk, UniformWalk

__all__ = [
    "Component",
    "CrankNicolson",
    "Finite",
    "Independent",
    "IndependentNormal",
    "IndependentStudent",
    "IndependentUniform",
    "RandomWalk",
    "UniformWalk",
]
