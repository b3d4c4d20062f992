"""The public names of Lockstep and where they live: the one list, read by type checkers and by ``__init__.py``."""

from lockstep import (
    check as check,
    estimators as estimators,
    interop as interop,
    models as models,
    perfect as perfect,
    ratios as ratios,
    separation as separation,
    subsampling as subsampling,
    surrogates as surrogates,
)
from lockstep.advice import advise as advise
from lockstep.core import random as random
from lockstep.core.estimator import Estimate as Estimate, Estimator as Estimator
from lockstep.core.evaluation import Evaluation as Evaluation
from lockstep.core.kernel import Info as Info, Kernel as Kernel, Noise as Noise, State as State
from lockstep.core.parts import part as part, static as static
from lockstep.core.proposal import Proposal as Proposal
from lockstep.core.randomization import Involution as Involution, Randomization as Randomization
from lockstep.core.ratio import Decision as Decision, Ratio as Ratio
from lockstep.core.rule import Rule as Rule
from lockstep.core.version import __version__ as __version__
from lockstep.core.warnings import LockstepWarning as LockstepWarning
from lockstep.coupling import (
    Coupled as Coupled,
    Lagged as Lagged,
    MaximallyCoupled as MaximallyCoupled,
    Pair as Pair,
    Shadowed as Shadowed,
)
from lockstep.estimators.abc import abc as abc
from lockstep.estimators.synthetic import synthetic_likelihood as synthetic_likelihood
from lockstep.host.black_box import blackbox as blackbox
from lockstep.kernels import (
    Cycle as Cycle,
    MetropolisHastings as MetropolisHastings,
    Mixture as Mixture,
    auxiliary_variable as auxiliary_variable,
    averaged_exchange as averaged_exchange,
    bridged_exchange as bridged_exchange,
    corrected as corrected,
    exchange as exchange,
    naive as naive,
    noisy_exchange as noisy_exchange,
    penalty as penalty,
    poisson_product as poisson_product,
    pseudo_marginal as pseudo_marginal,
    randomized as randomized,
    screened as screened,
    standard as standard,
    subsampled as subsampled,
    tunamh as tunamh,
    universal as universal,
)
from lockstep.lagged import convergence as convergence, unbiased as unbiased
from lockstep.parameters import (
    Parameters as Parameters,
    interval as interval,
    ordered as ordered,
    positive as positive,
    real as real,
    simplex as simplex,
)
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
from lockstep.ratios import (
    Carried as Carried,
    Estimated as Estimated,
    Randomized as Randomized,
    Screened as Screened,
    Universal as Universal,
    involutions as involutions,
    rules as rules,
)
from lockstep.ratios.involutions import (
    Identity as Identity,
    Mobius as Mobius,
    Reflection as Reflection,
    Transform as Transform,
)
from lockstep.ratios.randomizations import Density as Density, tempering as tempering
from lockstep.sampling import (
    Comparison as Comparison,
    Interrupted as Interrupted,
    Run as Run,
    RunDirectoryError as RunDirectoryError,
    Starts as Starts,
    Sweep as Sweep,
    compare as compare,
    load as load,
    sample as sample,
    sweep as sweep,
    until as until,
)
from lockstep.state_space import particle_gibbs as particle_gibbs, particle_marginal as particle_marginal
