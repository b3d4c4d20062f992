"""Lockstep: MCMC when the acceptance ratio can only be estimated.

The public names load when they are first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lockstep import (
        check as check,
    )
    from lockstep import (
        estimators as estimators,
    )
    from lockstep import (
        rules as rules,
    )
    from lockstep import (
        separation as separation,
    )
    from lockstep.compose import (
        Cycle as Cycle,
    )
    from lockstep.compose import (
        Mixture as Mixture,
    )
    from lockstep.coupling import (
        Coupled as Coupled,
    )
    from lockstep.coupling import (
        Pair as Pair,
    )
    from lockstep.coupling import (
        Shadowed as Shadowed,
    )
    from lockstep.involutions import (
        Identity as Identity,
    )
    from lockstep.involutions import (
        Mobius as Mobius,
    )
    from lockstep.involutions import (
        Reflection as Reflection,
    )
    from lockstep.involutions import (
        Transform as Transform,
    )
    from lockstep.kernel import (
        MetropolisHastings as MetropolisHastings,
    )
    from lockstep.kernels import (
        auxiliary_variable as auxiliary_variable,
    )
    from lockstep.kernels import (
        corrected as corrected,
    )
    from lockstep.kernels import (
        exchange as exchange,
    )
    from lockstep.kernels import (
        naive as naive,
    )
    from lockstep.kernels import (
        penalty as penalty,
    )
    from lockstep.kernels import (
        pseudo_marginal as pseudo_marginal,
    )
    from lockstep.kernels import (
        randomized as randomized,
    )
    from lockstep.kernels import (
        standard as standard,
    )
    from lockstep.kernels import (
        universal as universal,
    )
    from lockstep.parts import part as part
    from lockstep.parts import (
        static as static,
    )
    from lockstep.proposals import (
        Component as Component,
    )
    from lockstep.proposals import (
        Finite as Finite,
    )
    from lockstep.proposals import (
        Independent as Independent,
    )
    from lockstep.proposals import (
        IndependentNormal as IndependentNormal,
    )
    from lockstep.proposals import (
        IndependentUniform as IndependentUniform,
    )
    from lockstep.proposals import (
        RandomWalk as RandomWalk,
    )
    from lockstep.proposals import (
        UniformWalk as UniformWalk,
    )
    from lockstep.randomizations import (
        Density as Density,
    )
    from lockstep.randomizations import (
        tempering as tempering,
    )
    from lockstep.ratios import (
        Carried as Carried,
    )
    from lockstep.ratios import (
        Estimated as Estimated,
    )
    from lockstep.ratios import (
        Randomized as Randomized,
    )
    from lockstep.ratios import (
        Universal as Universal,
    )
    from lockstep.sampling import (
        LockstepWarning as LockstepWarning,
    )
    from lockstep.sampling import (
        Run as Run,
    )
    from lockstep.sampling import (
        Starts as Starts,
    )
    from lockstep.sampling import (
        sample as sample,
    )
    from lockstep.types import (
        Estimate as Estimate,
    )
    from lockstep.types import (
        Info as Info,
    )
    from lockstep.types import (
        Noise as Noise,
    )
    from lockstep.types import (
        State as State,
    )

__version__ = "0.1.0"

_NAMES = {
    "lockstep.compose": "Cycle Mixture",
    "lockstep.coupling": "Coupled Pair Shadowed",
    "lockstep.involutions": "Identity Mobius Reflection Transform",
    "lockstep.kernel": "MetropolisHastings",
    "lockstep.kernels": "auxiliary_variable corrected exchange naive penalty pseudo_marginal "
    "randomized standard universal",
    "lockstep.parts": "part static",
    "lockstep.proposals": "Component Finite Independent IndependentNormal IndependentUniform RandomWalk UniformWalk",
    "lockstep.randomizations": "Density tempering",
    "lockstep.ratios": "Carried Estimated Randomized Universal",
    "lockstep.sampling": "LockstepWarning Run Starts sample",
    "lockstep.types": "Estimate Info Noise State",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("check", "estimators", "rules", "separation")

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"lockstep.{name}")
    else:
        raise AttributeError(f"module 'lockstep' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
