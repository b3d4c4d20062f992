"""Randomizations: an auxiliary x for one update, and its weight in the ratio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lockstep.core import random
from lockstep.core.arguments import is_array, shapes
from lockstep.core.parts import part, set_field
from lockstep.core.randomization import Randomization
from lockstep.core.trees import choose, is_alike, is_key
from lockstep.core.types import Array, Key, Position, Shape, Tree
from lockstep.host.draws import draw_each, require_random
from lockstep.host.functions import Function, Scalar, simulation, wrapped
from lockstep.host.generator import RandomKey
from lockstep.ratios.involutions import Identity, as_involution, is_undone, require_involution

__all__ = ["AuxiliaryData", "Density", "tempering"]


@part
class Density(Randomization):
    """x from a density ξ(x; θ, θ'), paired with f(x) by an involution.

    The weight is ``log ξ(f(x); θ', θ) - log ξ(x; θ, θ') + log |f'(x)|``.

    Parameters
    ----------
    sample
        ``sample(key, position, candidate)`` draws x, a scalar, a vector or any structure.
    log_density
        ``log_density(x, position, candidate)``, normalised in x.
    involution
        `Identity` (the default), `Reflection`, `Mobius`, or a function ``f(x)`` or ``f(x, position, candidate)`` whose
        Jacobian is found by automatic differentiation.
    draw
        ``draw(key)`` makes the noise that ``sample`` gets in place of the key; it does not see the state.

    Examples
    --------
    The penalty method as a randomized ratio, s the variance of the noise:

    >>> import jax.random as jr, lockstep as ls
    >>> s = 0.25
    >>> penalty = ls.Density(
    ...     sample=lambda key, position, candidate: s**0.5 * jr.normal(key),
    ...     log_density=lambda x, position, candidate: -(x**2) / (2 * s),
    ...     involution=ls.Reflection(s),
    ... )
    >>> float(penalty.log_weight(0.3, None, None))  # x - s/2
    0.175
    """

    sample: Any
    log_density: Any
    involution: Any = Identity()
    draw: Any = None

    exact_when = "x is drawn from the stated density and the involution undoes itself, with the right Jacobian"
    when_violated = (
        "at {count} updates ({share}) the involution did not undo itself, or its Jacobian was not the inverse of that "
        "of the way back: the draws are not from the target; ls.check.involution tells at which x"
    )

    def __post_init__(self) -> None:
        set_field(self, "sample", wrapped(Function, self.sample, "sample of Density"))
        set_field(self, "log_density", wrapped(Scalar, self.log_density, "log_density of Density"))
        set_field(self, "involution", as_involution(self.involution))
        if self.draw is not None:
            set_field(self, "draw", wrapped(Function, self.draw, "draw of Density"))

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return draw_each(self.draw, key, shape)

    @property
    def can_be_violated(self) -> bool:
        """Ready-made involutions are what they are by algebra; all others are watched."""
        return not self.involution.is_proven

    def is_violated(self, x: Array, position: Position, candidate: Position) -> Array:
        return ~is_undone(self.involution, x, position, candidate)

    def require_start(self, noise: Tree, position: Position, candidates: Position) -> None:
        """Refuse an involution that is none, at an x for each of some candidates."""
        x = jax.vmap(self.sample, in_axes=(0, None, 0))(noise, position, candidates)
        require_involution(self.involution, x, position, candidates)

    def log_weight(self, x: Array, position: Position, candidate: Position) -> Array:
        image, log_jacobian = self.involution(x, position, candidate)
        back, there = self.log_density(image, candidate, position), self.log_density(x, position, candidate)
        return back - there + log_jacobian


@part
class AuxiliaryData(Randomization):
    """Data x simulated at the candidate: the weight ``log L(θ, x) - log L(θ', x)`` of the exchange algorithm."""

    log_likelihood: Scalar
    simulate: Function
    data: Any
    draw: Any = None
    log_prior: Any = None

    when_stuck = "put bridges between the two positions (ls.bridged_exchange)"
    is_density_when = "log_likelihood is normalised: the condition is about densities"

    @property
    def exact_when(self) -> str | None:
        return simulation(self.simulate).exact_when()

    @property
    def error(self) -> str | None:
        return simulation(self.simulate).error

    def noise(self, key: Key, position: Position, shape: Shape = ()) -> Any:
        return draw_each(self.draw, key, shape)

    def sample(self, noise: Tree, position: Position, candidate: Position) -> Any:
        return simulated(self.simulate, (noise, within(self.log_prior, position, candidate)), self.data)

    def log_weight(self, x: Array, position: Position, candidate: Position) -> Array:
        return self.log_likelihood(position, x) - self.log_likelihood(candidate, x)


def within(log_prior: Any, position: Position, candidate: Position) -> Position:
    """Where to simulate: at the candidate; at the position if the prior forbids the candidate whatever the data say."""
    return candidate if log_prior is None else choose(log_prior(candidate) == -np.inf, position, candidate)


def simulated(simulate: Callable[..., Any], arguments: tuple[Any, ...], data: Tree) -> Any:
    """What ``simulate`` draws with some noise (the first argument), refused if it does not look like the data.

    A data set of a black box may be longer or shorter (the points of a point process): nothing is compiled for its
    shape, so that only the number of axes must be that of the data.
    """
    x = simulate(*arguments)
    if type(x) is np.ndarray and type(data) is np.ndarray and x.shape == data.shape and type(arguments[0]) is RandomKey:
        return x
    require_random(x, arguments[0], simulate)
    is_ragged = type(arguments[0]) is RandomKey
    form: Any = np.ndim if is_ragged else np.shape
    if not is_alike(x, data) or any(
        form(a) != form(b) for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(data), strict=True)
    ):
        remedy = "" if is_ragged else "; if its size is random, give sufficient statistics as data, or ls.blackbox"
        raise ValueError(
            f"simulate returned {shapes(x)}, but the data are {shapes(data)}; it must draw a data set like them{remedy}"
        )
    return x


def observed(data: Tree) -> Any:
    """The data, refused if they are no arrays."""
    leaves = jax.tree.leaves(data)
    if not leaves or not all(is_array(leaf) and not is_key(leaf) for leaf in leaves):
        raise TypeError(f"data is {data!r}; it must be an array or a structure of arrays")
    if isinstance(data, list) and not any(map(np.ndim, leaves)):
        raise TypeError(
            f"data is a list of {len(leaves)} single numbers, which JAX takes for {len(leaves)} arrays; give one "
            f"array, np.asarray(data)"
        )
    return data


def tempering(log_density: Callable[..., Any]) -> Density:
    """The example of the paper (its Algorithm 2): x ~ N(D, 1) with the identity, so that the ratio is (π'/π)^(1-2x).

    A kind of random tempering. It gains nothing, since every randomized chain stands below its standard chain in
    Peskun's order, but it shows the construction at its simplest.

    Examples
    --------
    >>> import jax.numpy as jnp, lockstep as ls
    >>> def log_density(theta):
    ...     return -0.5 * jnp.sum(theta**2)
    >>> kernel = ls.randomized(log_density, ls.RandomWalk(1.0), ls.tempering(log_density))
    """
    target = wrapped(Scalar, log_density, "log_density")
    return Density(_TemperingDraw(target), _TemperingDensity(target), Identity(), draw=_standard_normal)


def _standard_normal(key: Key) -> Array:
    return random.normal(key, ())


@part
class _TemperingDraw:
    target: Scalar

    def __call__(self, noise: Array, position: Position, candidate: Position) -> Array:
        return self.target(candidate) - self.target(position) + noise


@part
class _TemperingDensity:
    target: Scalar

    def __call__(self, x: Array, position: Position, candidate: Position) -> Array:
        return -0.5 * (x - (self.target(candidate) - self.target(position))) ** 2 - 0.5 * jnp.log(2 * jnp.pi)
