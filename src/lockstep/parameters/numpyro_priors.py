"""Distributions of NumPyro as priors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from lockstep.core.parts import part
from lockstep.core.types import Array, Key, Shape
from lockstep.parameters.priors import Prior
from lockstep.parameters.supports import Foreign, Ordered, Real, Simplex, Support, between


@part
class OfNumPyro(Prior):
    """A distribution of NumPyro, batch and event together."""

    support: Support
    distribution: Any

    def __call__(self, value: Array) -> Array:
        return jnp.sum(self.distribution.log_prob(value))

    def draw(self, key: Key) -> Array:
        return jnp.asarray(self.distribution.sample(key), float)

    def __repr__(self) -> str:
        return type(self.distribution).__name__


def of_numpyro(given: Any, name: str, shape: Shape | None) -> Prior | None:
    """The prior of a distribution of NumPyro; None if it is none."""
    from numpyro.distributions import Distribution

    if isinstance(given, type) and issubclass(given, Distribution):
        raise TypeError(f"{name} is the class {given.__name__} of NumPyro; give an instance of it, with its parameters")
    if not isinstance(given, Distribution):
        return None
    if given.support is None or given.support.is_discrete:
        raise TypeError(f"{name} is a discrete distribution of NumPyro; parameters of ls.Parameters are continuous")
    own = (*given.batch_shape, *given.event_shape)
    if shape is not None and shape != own:
        batch = shape[: len(shape) - len(given.event_shape)]
        if given.batch_shape or (*batch, *given.event_shape) != shape:
            raise ValueError(f"dims of {name}: its axes have lengths {shape}, but its prior is of shape {own}")
        given, own = given.expand(batch), shape
    return OfNumPyro(support_of(given.support, own), given)


def support_of(constraint: Any, shape: Shape) -> Support:
    """The support of a constraint: one of ours, or with a transform of NumPyro's."""
    from numpyro.distributions import biject_to, constraints

    given = constraint
    while isinstance(constraint, type(constraints.independent(constraints.real, 1))):
        constraint = constraint.base_constraint
    if constraint == constraints.real:
        return Real(shape)
    if constraint == constraints.simplex:
        return Simplex(shape)
    if constraint == constraints.ordered_vector:
        return Ordered(shape)
    above, below = type(constraints.greater_than(0.0)), type(constraints.less_than(0.0))
    if isinstance(constraint, type(constraints.interval(0.0, 1.0))):
        return between(np.asarray(constraint.lower_bound), np.asarray(constraint.upper_bound), shape)
    if isinstance(constraint, above):
        return between(np.asarray(constraint.lower_bound), np.inf, shape)
    if isinstance(constraint, below):
        return between(-np.inf, np.asarray(constraint.upper_bound), shape)
    return Foreign(biject_to(given), shape)
