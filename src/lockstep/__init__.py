"""Lockstep: MCMC when the acceptance ratio can only be estimated.

The public names load when they are first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lockstep import (
        check as check,
        estimators as estimators,
        interop as interop,
        models as models,
        perfect as perfect,
        rules as rules,
        separation as separation,
        subsampling as subsampling,
    )
    from lockstep.advice import advise as advise
    from lockstep.compose import Cycle as Cycle, Mixture as Mixture
    from lockstep.coupling import Coupled as Coupled, Pair as Pair, Shadowed as Shadowed
    from lockstep.host.black_box import blackbox as blackbox
    from lockstep.involutions import (
        Identity as Identity,
        Mobius as Mobius,
        Reflection as Reflection,
        Transform as Transform,
    )
    from lockstep.kernel import MetropolisHastings as MetropolisHastings
    from lockstep.kernels import (
        auxiliary_variable as auxiliary_variable,
        bridged_exchange as bridged_exchange,
        corrected as corrected,
        exchange as exchange,
        naive as naive,
        noisy_exchange as noisy_exchange,
        penalty as penalty,
        poisson_product as poisson_product,
        pseudo_marginal as pseudo_marginal,
        randomized as randomized,
        standard as standard,
        subsampled as subsampled,
        tunamh as tunamh,
        universal as universal,
    )
    from lockstep.maximal import MaximallyCoupled as MaximallyCoupled
    from lockstep.parts import part as part, static as static
    from lockstep.proposals import (
        Component as Component,
        CrankNicolson as CrankNicolson,
        Finite as Finite,
        Independent as Independent,
        IndependentNormal as IndependentNormal,
        IndependentStudent as IndependentStudent,
        IndependentUniform as IndependentUniform,
        RandomWalk as RandomWalk,
        UniformWalk as UniformWalk,
    )
    from lockstep.randomizations import Density as Density, tempering as tempering
    from lockstep.ratios import (
        Carried as Carried,
        Estimated as Estimated,
        Randomized as Randomized,
        Universal as Universal,
    )
    from lockstep.sampling import (
        Interrupted as Interrupted,
        LockstepWarning as LockstepWarning,
        Run as Run,
        RunDirectoryError as RunDirectoryError,
        Starts as Starts,
        load as load,
        sample as sample,
    )
    from lockstep.sampling.sweep import Sweep as Sweep, sweep as sweep
    from lockstep.types import Estimate as Estimate, Info as Info, Noise as Noise, State as State

__version__ = "0.1.0"

_NAMES = {
    "lockstep.advice": "advise",
    "lockstep.host.black_box": "blackbox",
    "lockstep.compose": "Cycle Mixture",
    "lockstep.coupling": "Coupled Pair Shadowed",
    "lockstep.involutions": "Identity Mobius Reflection Transform",
    "lockstep.kernel": "MetropolisHastings",
    "lockstep.kernels": "auxiliary_variable bridged_exchange corrected exchange naive noisy_exchange penalty "
    "poisson_product pseudo_marginal randomized standard subsampled tunamh universal",
    "lockstep.maximal": "MaximallyCoupled",
    "lockstep.parts": "part static",
    "lockstep.proposals": "Component CrankNicolson Finite Independent IndependentNormal IndependentStudent "
    "IndependentUniform RandomWalk UniformWalk",
    "lockstep.randomizations": "Density tempering",
    "lockstep.ratios": "Carried Estimated Randomized Universal",
    "lockstep.sampling": "Interrupted LockstepWarning Run RunDirectoryError Starts load sample",
    "lockstep.sampling.sweep": "Sweep sweep",
    "lockstep.types": "Estimate Info Noise State",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("check", "estimators", "interop", "models", "perfect", "rules", "separation", "subsampling")

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
