"""Targets of the zoo: a log density, a way to draw from it exactly, and a proposal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import lockstep as ls
from lockstep.studies.nicholls2012 import model

STATES = np.array([0.0, 0.8, 1.5, 0.3, -1.0, -0.2, 0.9, 1.1, 0.0, -0.7])
STEPS = np.array([[float(abs(i - j) in (1, 9)) for j in range(10)] for i in range(10)]) / 2


class Target(NamedTuple):
    log_density: Callable[..., Any]
    draw: Callable[..., Any]
    proposal: Any

    def difference(self, position: Any, candidate: Any) -> Any:
        return self.log_density(candidate) - self.log_density(position)


def normal(dimension: int, scale: float) -> Target:
    return Target(
        lambda theta: -0.5 * jnp.sum(theta**2), lambda key: jr.normal(key, (dimension,), float), ls.RandomWalk(scale)
    )


def _two_modes(key: Any) -> Any:
    key_mode, key_normal = jr.split(key)
    return jnp.where(jr.bernoulli(key_mode, 0.3), 2.0, -2.0) + jr.normal(key_normal, (1,), float)


def _funnel(key: Any) -> Any:
    neck, other = jr.normal(key, (2,), float)
    return jnp.stack([neck, jnp.exp(neck / 2) * other])


TARGETS = {
    "normal": normal(1, 2.0),
    "normal 5": normal(5, 1.0),
    "normal 20": normal(20, 0.5),
    "independent": normal(1, 1.0)._replace(proposal=ls.IndependentNormal(0.3, 1.5)),
    "uniform walk": normal(1, 1.0)._replace(proposal=ls.UniformWalk(3.0)),
    "two modes": Target(
        lambda theta: jnp.logaddexp(jnp.log(0.3) - 0.5 * (theta[0] - 2) ** 2, jnp.log(0.7) - 0.5 * (theta[0] + 2) ** 2),
        _two_modes,
        ls.RandomWalk(3.0),
    ),
    "paper": Target(model.log_density, model.draw_target, model.RANDOM_WALK),
    "heavy": Target(
        lambda theta: -2.0 * jnp.log1p(theta[0] ** 2 / 3), lambda key: jr.t(key, 3.0, (1,), float), ls.RandomWalk(3.0)
    ),
    "funnel": Target(
        lambda theta: -0.5 * theta[0] ** 2 - 0.5 * theta[1] ** 2 * jnp.exp(-theta[0]) - theta[0] / 2,
        _funnel,
        ls.RandomWalk(1.0),
    ),
    "half line": Target(
        lambda theta: jnp.where(theta[0] > 0, -theta[0], -jnp.inf),
        lambda key: jr.exponential(key, (1,), float),
        ls.RandomWalk(1.5),
    ),
    "states": Target(
        lambda state: jnp.asarray(STATES)[state],
        lambda key: jr.categorical(key, jnp.asarray(STATES)),
        ls.Finite(STEPS),
    ),
    "named": Target(
        lambda theta: -0.5 * theta["level"] ** 2 - jnp.sum(jnp.abs(theta["slopes"])),
        lambda key: {
            "level": jr.normal(key, (), float),
            "slopes": jr.laplace(jr.fold_in(key, 1), (2,), float),
        },
        ls.RandomWalk(1.2),
    ),
}


def first_of(position: Any) -> Any:
    """The first number of a position, on which the scale of a noise may depend."""
    return jnp.ravel(jax.tree.leaves(position)[0])[0].astype(float)
