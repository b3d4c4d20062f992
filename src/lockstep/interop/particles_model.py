"""State-space models of the package `particles`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import shapes
from lockstep.core.precision import double_precision
from lockstep.core.types import Array, Position, Tree
from lockstep.host.black_box import blackbox
from lockstep.interop.numpy_tracing import Stand, plain
from lockstep.state_space.model import StateSpace


def particles(model: object, data: Tree, theta: dict[str, Any] | None = None) -> StateSpace:
    """Take a state-space model of the package `particles`, for `ls.particle_marginal`.

    If all of its laws are ``distributions.Normal`` it is compiled: NumPy's functions in its methods are traced as those
    of JAX, unless a method decides by a value (``if t == 0``). Else its functions are black boxes that are called for
    all particles at once. `particles` draws from NumPy's global state: it is seeded from the kernel's generator at each
    step, so that runs can be repeated, resumed and coupled. ``model.is_boxed`` tells which it is.

    Parameters
    ----------
    model
        A subclass of ``particles.state_space_models.StateSpaceModel`` with PX0, PX and PY, where PY does not look at
        the state before (it is given None).
    data
        The data that it is for, a row for each time.
    theta
        Parameters by name at which the model is tried, such as those at which a run begins; its ``default_params`` if
        left out.

    Returns
    -------
    StateSpace
        Whose parameters are a dictionary by name.

    Examples
    --------
    ::

        class NoisyWalk(state_space_models.StateSpaceModel):
            default_params = {"step": 0.5}
            def PX0(self):
                return distributions.Normal()
            def PX(self, t, xp):
                return distributions.Normal(loc=xp, scale=self.step)
            def PY(self, t, xp, x):
                return distributions.Normal(loc=x, scale=1.0)

        model = ls.interop.particles(NoisyWalk, data)
        kernel = ls.particle_marginal(log_prior, model, data, ls.RandomWalk(0.3), particles=200)
        run = ls.sample(kernel, {"step": 0.5})
    """
    from particles.state_space_models import StateSpaceModel

    if not (isinstance(model, type) and issubclass(model, StateSpaceModel)):
        raise TypeError(f"model is {model!r}; it must be a class of particles.state_space_models.StateSpaceModel")
    rows = np.asarray(data)
    if not rows.ndim or not len(rows):
        raise ValueError(f"data is {shapes(data)}; it must have a leading axis over the observations")
    defaults = getattr(model, "default_params", None) or {}
    example = {name: np.asarray(value)[()] for name, value in (defaults if theta is None else theta).items()}
    called = _called(model)
    expected = _tried(called, model, example, rows[0])
    compiled = _normal(model)
    return compiled if _is_compiled(compiled, example, rows[0], *expected) else called


def _tried(model: StateSpace, origin: type, theta: dict[str, Any], y: Array) -> tuple[Any, Any]:
    """Two states and their log densities of an observation, by the model's own functions."""
    rng = np.random.default_rng(0)
    try:
        states = model.transition(rng, model.initial(rng, theta, 2), theta, 1)
        return states, model.log_observation(theta, states, y, 1)
    except Exception as error:
        raise TypeError(
            f"{origin.__name__} cannot be used at theta = {theta}: {type(error).__name__}, {error}. PX0(), PX(t, xp) "
            f"and PY(t, None, x) must work for arrays of states, with all parameters in theta or in default_params"
        ) from error


def _is_compiled(model: StateSpace, theta: dict[str, Any], y: Array, states: Tree, expected: Any) -> bool:
    """Whether all laws of a model are normal, and JAX computes what the model computes."""
    with double_precision():
        try:
            model.transition(model.draw(jr.key(0), 2), model.initial(model.draw(jr.key(0), 2), theta), theta, 1)
            jitted = jax.jit(lambda theta, states, y: model.log_observation(theta, states, y, jnp.asarray(1)))
            jax.eval_shape(model.transition, *jax.tree.map(jnp.asarray, (states, states, theta, 1)))
            return bool(np.allclose(jitted(theta, states, y), expected, rtol=1e-9, equal_nan=True))
        except (TypeError, ValueError, AttributeError):  # what cannot be traced, or another law
            return False


def _normal(model: Any) -> StateSpace:
    """The model with normal laws, in JAX."""

    def law(name: str, theta: Position, *arguments: Any) -> tuple[Any, Any]:
        from particles.distributions import Normal

        stands = {key: Stand(value) for key, value in theta.items()}
        found = getattr(model(**stands), name)(*[None if one is None else Stand(one) for one in arguments])
        if type(found) is not Normal:
            raise TypeError(f"{found!r} is no normal law")
        return plain(found.loc), plain(found.scale)

    def drawn(z: Array, loc: Any, scale: Array) -> Any:
        return loc + scale * z

    return StateSpace(
        initial=lambda z, theta: drawn(z, *law("PX0", theta)),
        transition=lambda z, x, theta, t: drawn(z, *law("PX", theta, t, x)),
        log_observation=lambda theta, x, y, t: jst.norm.logpdf(y, *law("PY", theta, t, None, x)),
        draw=lambda key, count: random.normal(key, (count,)),
        observe=lambda key, x, theta, t: drawn(random.normal(key), *law("PY", theta, t, None, x)),
        log_initial=lambda theta, x: jst.norm.logpdf(x, *law("PX0", theta)),
        log_transition=lambda theta, x, previous, t: jst.norm.logpdf(x, *law("PX", theta, t, previous)),
    )


def _called(model: Any) -> StateSpace:
    """The model with its own functions, called for all particles at once."""

    def seed(rng: np.random.Generator) -> None:
        np.random.seed(rng.integers(2**32))

    def initial(rng: np.random.Generator, theta: Position, count: int) -> Any:
        seed(rng)
        return model(**theta).PX0().rvs(size=count)

    def transition(rng: np.random.Generator, x: Array, theta: Position, t: Array) -> Any:
        seed(rng)
        return model(**theta).PX(int(t), x).rvs(size=len(x))

    def log_observation(theta: Position, x: Array, y: Array, t: Array) -> Any:
        return model(**theta).PY(int(t), None, x).logpdf(y)

    def observe(rng: np.random.Generator, x: Array, theta: Position, t: Array) -> Any:
        seed(rng)
        return model(**theta).PY(int(t), None, x).rvs(size=len(x))

    return StateSpace(blackbox(initial), blackbox(transition), blackbox(log_observation), observe=blackbox(observe))
