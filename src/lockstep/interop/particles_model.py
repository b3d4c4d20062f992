"""State-space models of the package `particles`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np

from lockstep.core.arguments import shapes
from lockstep.core.precision import double_precision
from lockstep.host.black_box import blackbox
from lockstep.state_space.model import StateSpace


def particles(model: Any, data: Any, theta: dict[str, Any] | None = None) -> StateSpace:
    """Take a state-space model of the package `particles`, for `ls.particle_marginal`.

    If all of its laws are ``distributions.Normal`` whose means and scales JAX can compute, it is compiled. Else its
    functions are black boxes that are called for all particles at once. `particles` draws from NumPy's global state: it
    is seeded from the kernel's generator at each step, so that runs can be repeated, resumed and coupled.

    Parameters
    ----------
    model
        A subclass of ``particles.state_space_models.StateSpaceModel`` with PX0, PX and PY, where PY does not look at
        the state before (it is given None).
    data
        The data that it is for.
    theta
        Parameters by name, such as those at which a run begins; its ``default_params`` if left out.

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
    defaults: Any = model
    example = theta if theta is not None else (defaults.default_params or {})
    rows = np.asarray(data)
    if not rows.ndim or not len(rows):
        raise ValueError(f"data is {shapes(data)}; it must have a leading axis over the observations")
    compiled = _normal(model)
    return compiled if _is_compiled(compiled, example, rows[0]) else _called(model)


def _is_compiled(model: StateSpace, theta: dict[str, Any], y: Any) -> bool:
    """Whether all laws of a model are normal, and JAX can compute them."""

    def run(theta: Any, key: Any) -> Any:
        noise = model.draw(key, 2)
        states = model.transition(noise, model.initial(noise, theta), theta, 1)
        return model.log_observation(theta, states, jnp.asarray(y), 1)

    with double_precision():
        try:
            jax.eval_shape(run, jax.tree.map(jnp.asarray, theta), jr.key(0))
        except (TypeError, ValueError, AttributeError):  # NumPy's functions of what is being traced, or another law
            return False
    return True


def _normal(model: Any) -> StateSpace:
    """The model with normal laws, in JAX."""

    def law(found: Any) -> Any:
        from particles.distributions import Normal

        if type(found) is not Normal:
            raise TypeError(f"{found!r} is no normal law")
        return found

    def initial(z: Any, theta: Any) -> Any:
        found = law(model(**theta).PX0())
        return found.loc + found.scale * z

    def transition(z: Any, x: Any, theta: Any, t: Any) -> Any:
        found = law(model(**theta).PX(t, x))
        return found.loc + found.scale * z

    def log_observation(theta: Any, x: Any, y: Any, t: Any) -> Any:
        found = law(model(**theta).PY(t, None, x))
        return jst.norm.logpdf(y, found.loc, found.scale)

    def log_initial(theta: Any, x: Any) -> Any:
        found = law(model(**theta).PX0())
        return jst.norm.logpdf(x, found.loc, found.scale)

    def log_transition(theta: Any, x: Any, previous: Any, t: Any) -> Any:
        found = law(model(**theta).PX(t, previous))
        return jst.norm.logpdf(x, found.loc, found.scale)

    def observe(key: Any, x: Any, theta: Any, t: Any) -> Any:
        found = law(model(**theta).PY(t, None, x))
        return found.loc + found.scale * jr.normal(key)

    def draw(key: Any, count: int) -> Any:
        return jr.normal(key, (count,))

    return StateSpace(
        initial,
        transition,
        log_observation,
        draw,
        observe,
        log_initial=log_initial,
        log_transition=log_transition,
    )


def _called(model: Any) -> StateSpace:
    """The model with its own functions, called for all particles at once."""

    def seed(rng: np.random.Generator) -> None:
        np.random.seed(rng.integers(2**32))

    def initial(rng: np.random.Generator, theta: Any, count: int) -> Any:
        seed(rng)
        return model(**theta).PX0().rvs(size=count)

    def transition(rng: np.random.Generator, x: Any, theta: Any, t: Any) -> Any:
        seed(rng)
        return model(**theta).PX(int(t), x).rvs(size=len(x))

    def log_observation(theta: Any, x: Any, y: Any, t: Any) -> Any:
        return model(**theta).PY(int(t), None, x).logpdf(y)

    def observe(rng: np.random.Generator, x: Any, theta: Any, t: Any) -> Any:
        seed(rng)
        return model(**theta).PY(int(t), None, x).rvs(size=len(x))

    return StateSpace(blackbox(initial), blackbox(transition), blackbox(log_observation), observe=blackbox(observe))
