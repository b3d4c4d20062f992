"""Particle Gibbs: paths of the hidden states and parameters in turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.adopt import adopted
from lockstep.core.arguments import whole
from lockstep.core.kernel import Info, Kernel, State
from lockstep.core.parts import part, set_field
from lockstep.core.proposal import Proposal
from lockstep.core.shown import Placement
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.functions import Noisy, Scalar, as_function
from lockstep.host.prior import prior_of
from lockstep.kernels.standard import standard
from lockstep.state_space.conditional import ConditionalFilter
from lockstep.state_space.estimate import ParticleEstimate
from lockstep.state_space.forecast import Forecaster, forecaster_of
from lockstep.state_space.model import StateSpace, require_model
from lockstep.state_space.series import series


class GibbsNoise(NamedTuple):
    """The noise of an update: a key for the path, from which all of its noise is drawn at once, and the parameters'."""

    path: Any
    parameters: Any


@part
class Conditional:
    """The log density of parameters, the path and the data, as a function of the parameters."""

    log_prior: Scalar
    filter: ConditionalFilter
    path: Any

    def __call__(self, theta: Position) -> Array:
        model, plan, path = self.filter.model, self.filter.series, self.path
        total = self.log_prior(theta)
        first = jax.tree.map(lambda leaf: leaf[:1], path)
        density = jnp.sum(model.log_initial(theta, first))
        if plan.length:
            times = jnp.arange(1, plan.length + 1)
            after = jax.tree.map(lambda leaf: leaf[1:], path)
            before = jax.tree.map(lambda leaf: leaf[:-1], path)
            density += jnp.sum(_at_times(model.log_transition.function, theta, (after, before), plan, times))
        states = jax.tree.map(lambda leaf: leaf[jnp.asarray(plan.times)], path)
        seen = _at_times(model.log_observation.function, theta, (states, plan.data), plan, jnp.asarray(plan.times))
        density += jnp.sum(jnp.where(plan.is_missing, 0.0, seen))
        # Outside of the support of the prior the model need not have a meaning.
        return jnp.where(total == -np.inf, -np.inf, total + density)


def _at_times(
    function: Callable[..., Any], theta: Position, arguments: tuple[Any, ...], plan: Any, times: Array
) -> Array:
    """A function of the model at several times."""
    return jax.vmap(lambda arguments, time: function(theta, *arguments, *plan.at(time)))(arguments, times)


@part
class Placed:
    """The log density of a position, from that of the parameters there."""

    placement: Placement
    conditional: Conditional

    def __call__(self, position: Position) -> Array:
        values, log_prior = self.placement.evaluate(position)
        return jnp.where(log_prior == -np.inf, -np.inf, log_prior + self.conditional(values))


@part
class Metropolis:
    """Parameters given a path are moved by `standard` with a proposal."""

    proposal: Proposal

    def __call__(self, log_density: Callable[..., Any]) -> Kernel:
        return standard(log_density, self.proposal)


@part
class ParticleGibbs(Kernel):
    """The path given the parameters by a conditional filter, then the parameters given the path; see `particle_gibbs`.

    The memory is the path.
    """

    log_prior: Any
    filter: ConditionalFilter
    update: Any
    placement: Placement | None = None

    is_memory_random = True
    exact_when = "log_initial and log_transition are the log densities of what initial and transition draw"
    when_stuck = "take more particles, or another kernel for the parameters given the path"

    def __post_init__(self) -> None:
        set_field(self, "log_prior", prior_of(self.log_prior))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> GibbsNoise:
        key_path, key_parameters = random.split(key)
        keys = random.split(key_path, shape) if shape else key_path
        return GibbsNoise(keys, self.given(_unknown).noise(key_parameters, position, shape))

    def init(self, position: Position, key: Key | None = None) -> State:
        if key is None:
            raise ValueError("init needs a key: the first path of the hidden states is drawn; call init(position, key)")
        plain = ParticleEstimate(self.log_prior, self.filter.whole, True)
        return State(position, plain(key, self.values(position))[1])

    def move(self, state: State, noise: GibbsNoise) -> tuple[State, Info]:
        """One update: the path, then the parameters."""
        position, path = state
        path, is_valid = self.filter(self.filter.noise(noise.path), self.values(position), path)
        conditional: Any = Conditional(self.log_prior, self.filter, path)
        kernel = self.given(conditional if self.placement is None else Placed(self.placement, conditional))
        moved, info = kernel.move(kernel.init(position), noise.parameters)
        return State(moved.position, path), info._replace(kept=path, is_valid=info.is_valid & is_valid)

    def blame(self, position: Position) -> str:
        return ParticleEstimate(self.log_prior, self.filter.whole).blame(self.values(position))

    def given(self, log_density: Callable[..., Any]) -> Kernel:
        """The kernel of the parameters given a path."""
        kernel = adopted(self.update(log_density), Kernel, "proposal(log_density)", "a kernel such as ls.standard(...)")
        if kernel.is_coupling or kernel.is_memory_random:
            raise TypeError(
                f"proposal(log_density) returned {kernel!r}; it must be a kernel of one chain that remembers no random "
                f"estimate, such as ls.standard(log_density, ls.RandomWalk(1.0))"
            )
        return kernel

    def values(self, position: Position) -> Position:
        """The parameters of the model at a position."""
        return position if self.placement is None else self.placement.values(position)

    def with_prior(self, placement: Placement) -> ParticleGibbs:
        """The same with named parameters: the prior is in the density of the parameters given a path."""
        return dataclasses.replace(self, placement=placement)

    shown = property(lambda self: self.placement)

    @property
    def forecaster(self) -> Forecaster:
        return forecaster_of(self.filter)


def _unknown(theta: Position) -> Array:
    raise TypeError("the noise of a kernel for parameters given a path must not depend on its log density")


def particle_gibbs(
    log_prior: Callable[..., Any],
    model: StateSpace,
    data: Tree,
    proposal: Proposal,
    particles: int,
    times: Array = None,
    inputs: Tree = None,
) -> ParticleGibbs:
    """Paths of the hidden states and parameters in turn: a conditional particle filter with ancestor sampling.

    Draws x₀.. from a law that leaves p(x | θ, y) as it is, by a filter one of whose particles is the path before, and
    moves θ by a kernel for ``p(θ) p(x | θ) p(y | x, θ)``. A few dozen particles do for series of any length, where an
    estimate of the likelihood would need as many as there are data.

    *Exact when* ``log_initial`` and ``log_transition`` are the log densities of what ``initial`` and ``transition``
    draw, and the kernel of the parameters is exact; for any number of particles from 2.

    Parameters
    ----------
    log_prior
        ``log_prior(theta)``, the log density of the parameters; None: constant, or that of `ls.Parameters`, of which
        ``parameters.posterior(kernel)`` makes the kernel.
    model
        An `ls.models.StateSpace` of JAX functions with ``log_initial`` and ``log_transition``. Its ``propose`` and
        ``look_ahead`` are not used.
    data
        Observations, with a leading axis over them; NaN where one is missing.
    proposal
        A proposal for the parameters given a path, such as `RandomWalk`; or a function that makes any kernel for a log
        density, such as ``lambda log_density: ls.Cycle([ls.standard(log_density, walk)] * 5)``.
    particles
        How many.
    times, inputs
        As of `StateSpace.filter`.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, jax.scipy.stats as jst, lockstep as ls
    >>> model = ls.models.StateSpace(
    ...     initial=lambda z, theta: z,
    ...     transition=lambda z, x, theta, t: x + jnp.exp(theta) * z,
    ...     log_observation=lambda theta, x, y, t: jst.norm.logpdf(y, x),
    ...     draw=lambda key, count: ls.random.normal(key, (count,)),
    ...     observe=lambda key, x, theta, t: x + jr.normal(key),
    ...     log_initial=lambda theta, x: jst.norm.logpdf(x),
    ...     log_transition=lambda theta, x, previous, t: jst.norm.logpdf(x, previous, jnp.exp(theta)),
    ... )
    >>> states, data = model.simulate(jr.key(1), -0.5, times=100)
    >>> kernel = ls.particle_gibbs(jst.norm.logpdf, model, data, ls.RandomWalk(0.3), particles=20)
    >>> ls.sample(kernel, -0.5, draws=100, chains=2, seed=1).paths.shape
    (2, 100, 100)

    See Also
    --------
    particle_marginal : for short series, and models whose transitions have no density that can be computed.

    References
    ----------
    Andrieu, Doucet and Holenstein (2010), JRSS B 72; Lindsten, Jordan and Schön (2014), JMLR 15.
    """
    require_model(model)
    for name in ("log_initial", "log_transition"):
        function = getattr(model, name)
        if function is None:
            raise TypeError(
                f"model has no {name}, the log density of what {name.removeprefix('log_')} draws; give it to "
                f"StateSpace, or take ls.particle_marginal, which needs none"
            )
        if function.is_boxed or model.is_boxed:
            raise TypeError("ls.particle_gibbs needs JAX functions; models of black boxes are for ls.particle_marginal")
    plain = dataclasses.replace(model, propose=None, propose_initial=None, look_ahead=None)
    chosen = ConditionalFilter(plain, series(data, times, inputs), whole(particles, "particles", 2))
    is_proposal = isinstance(proposal, Noisy)
    update = (
        Metropolis(adopted(proposal, Proposal, "proposal", "a proposal such as ls.RandomWalk(scale)"))
        if is_proposal
        else as_function(proposal, "proposal")
    )
    return ParticleGibbs(log_prior, chosen, update)
