"""Named parameters with priors and supports, and the kernel of their posterior."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.kernel import Kernel
from lockstep.core.parts import part, set_field, static
from lockstep.core.shown import Placement
from lockstep.core.trees import choose, is_concrete
from lockstep.core.types import Array, Key, Position
from lockstep.host.functions import Scalar, wrapped
from lockstep.parameters.axes import axes_of, coordinates_of, shape_of
from lockstep.parameters.given import is_prior, prior_of
from lockstep.parameters.keywords import by_name
from lockstep.parameters.priors import Prior
from lockstep.parameters.wrapping import around

# What functions of kernels call their other arguments.
TAKEN = frozenset({"rng", "generator", "key", "noise", "count", "position", "candidate", "chain", "draw"})


@part
class Parameters(Placement):
    """Parameters by name, each with a prior or a support; `posterior` makes kernels of their posterior.

    Functions of a kernel then get a dict of named values, or keyword arguments if they have parameters of these names.
    Chains walk on real numbers: ``log`` of what is positive, ``logit`` of what lies in an interval, and so on; prior
    and Jacobian are one more part of the log ratio. The prior is evaluated first, and where it is 0 no function of the
    likelihood is called. Draws, summaries, reports, DataTrees and files show the values.

    Parameters
    ----------
    **priors
        By name: a frozen distribution of SciPy, ``scipy.stats.gamma(2.0)``; a distribution of NumPyro,
        ``numpyro.distributions.Gamma(2.0, 1.0)``; or a support, `ls.real`, `ls.positive`, ``ls.interval(a, b)``,
        ``ls.simplex(size)`` or ``ls.ordered(size)``, on which the prior is flat or given by ``log_prior``.
    log_prior
        A joint log prior, ``log_prior(theta)`` of the dict or of keyword arguments; it is added to the others. A JAX
        function, or `ls.blackbox`.
    dims
        Names of the axes of parameters that are arrays: ``dims={"effect": ["school"]}``. A prior for one number is
        then that of each entry.
    coords
        The labels along those axes, ``coords={"school": ["A", "B"]}``, or their number.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> from scipy import stats
    >>> parameters = ls.Parameters(mean=stats.norm(0, 10), scale=stats.halfnorm(0, 5))
    >>> y = jnp.array([1.2, 0.3, 2.1, 1.7])
    >>> def log_likelihood(mean, scale):
    ...     return jnp.sum(-0.5 * ((y - mean) / scale) ** 2 - jnp.log(scale))
    >>> kernel = parameters.posterior(ls.standard(log_likelihood, ls.RandomWalk(0.5)))
    >>> run = ls.sample(kernel, draws=200, chains=4, adapt=True)
    >>> bool((run.positions["scale"] > 0).all())
    True
    """

    names: tuple[str, ...] = static()
    priors: tuple[Prior, ...] = ()
    log_prior: Any = None
    axes: tuple[tuple[str, tuple[str, ...]], ...] = static(default=())
    labels: tuple[tuple[str, tuple[Any, ...]], ...] = static(default=())

    def __init__(
        self,
        /,
        *,
        log_prior: Callable[..., Any] | None = None,
        dims: Mapping[str, Any] | None = None,
        coords: Mapping[str, Any] | None = None,
        **priors: Any,
    ) -> None:
        for name, given in (("log_prior", log_prior), ("dims", dims), ("coords", coords)):
            if is_prior(given):
                raise ValueError(f"a parameter cannot be called {name!r}, which is another argument of ls.Parameters")
        if not priors:
            raise TypeError("Parameters has no parameter; give one or more by name: ls.Parameters(rate=ls.positive)")
        if taken := TAKEN & priors.keys():
            name = sorted(taken)[0]
            raise ValueError(f"a parameter cannot be called {name!r}, which is what functions of kernels call others")
        labels = coordinates_of(coords)
        axes = axes_of(dims, tuple(priors), labels)
        found = tuple(prior_of(given, name, shape_of(name, axes, labels)) for name, given in priors.items())
        names = tuple(priors)
        joint = None if log_prior is None else by_name(wrapped(Scalar, log_prior, "log_prior of Parameters"), names)
        fields = {"names": names, "priors": found, "log_prior": joint, "axes": axes, "labels": labels}
        for name, value in fields.items():
            set_field(self, name, value)

    def posterior(self, kernel: Kernel) -> Any:
        """The kernel of the posterior, from one for the likelihood; of an estimator, that of the posterior's ratio.

        Whatever ``kernel`` takes as ``log_prior`` or has in its ``log_density`` counts besides: give it the likelihood
        alone, and None as ``log_prior``.
        """
        return around(by_name(kernel, self.names), self)

    def values(self, position: Position) -> Position:
        """The values at a position of a chain, a dict by name."""
        return {name: prior.support(position[name])[0] for name, prior in zip(self.names, self.priors, strict=True)}

    def evaluate(self, position: Position) -> tuple[Position, Array]:
        """The values at a position, and the log prior there with the Jacobian of the coordinates."""
        values, log_density, is_inside = {}, np.float64(0.0), np.True_
        for name, prior in zip(self.names, self.priors, strict=True):
            value, log_jacobian = prior.support(position[name])
            values[name] = value
            # A value that has rounded to its bound is out of the support.
            is_inside = is_inside & prior.support.contains(value)
            log_density = log_density + log_jacobian + choose(is_inside, prior(value), -np.inf)
        if self.log_prior is not None and not (isinstance(is_inside, np.bool_) and not is_inside):
            log_density = log_density + choose(is_inside, self.log_prior(values), -np.inf)
        return values, log_density

    def require_law(self) -> None:
        lacking = [name for name, prior in zip(self.names, self.priors, strict=True) if prior.draw is None]
        if lacking:
            raise ValueError(
                f"{', '.join(lacking)}: a support alone is no law to draw from; say where chains begin, initial="
                f"{{{', '.join(f'{name!r}: …' for name in self.names)}}}"
            )

    def draw(self, key: Key) -> Position:
        """Values from the prior, with a random key."""
        self.require_law()
        keys = random.split(key, len(self.names))
        drawn = zip(self.names, self.priors, keys, strict=True)
        return {name: prior.draw(own) for name, prior, own in drawn}  # type: ignore[misc]

    def unconstrained(self, values: Position) -> Position:
        """The position of a chain with these values, a dict by name; refused outside of the supports."""
        if not isinstance(values, Mapping) or set(values) != set(self.names):
            got = list(values) if isinstance(values, Mapping) else values
            raise ValueError(f"initial is {got!r}; it must be a dict with a value for each of {', '.join(self.names)}")
        position = {}
        for name, prior in zip(self.names, self.priors, strict=True):
            value = jnp.asarray(values[name], float)
            if value.shape != prior.support.shape:
                raise ValueError(
                    f"initial: {name} has shape {value.shape}; it must be a value of shape {prior.support.shape}"
                )
            if is_concrete(value) and not prior.support.contains(np.asarray(value)):
                raise ValueError(
                    f"initial: {name} is {np.asarray(value).tolist()}, which is outside of its support, "
                    f"{prior.support!r}"
                )
            position[name] = prior.support.inverse(value)
        return position

    def named(self, values: Position) -> dict[str, np.ndarray]:
        return {name: np.asarray(values[name]) for name in self.names}

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        return dict(self.axes)

    @property
    def coords(self) -> dict[str, tuple[Any, ...]]:
        return dict(self.labels)

    def stored(self) -> dict[str, Any] | None:
        supports = [prior.support.stored() for prior in self.priors]
        if None in supports:
            return None
        entries = dict(zip(self.names, supports, strict=True))
        return {"kind": "parameters", "supports": entries, "dims": self.dims, "coords": self.coords}

    def __repr__(self) -> str:
        shown = (f"{name}={prior!r}" for name, prior in zip(self.names, self.priors, strict=True))
        return f"Parameters({', '.join(shown)})"
