"""Frozen distributions of SciPy as priors: common ones by their formulas, all others by a call of SciPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.random as jr
import numpy as np

from lockstep.core.parts import part, static
from lockstep.core.trees import namespace
from lockstep.core.types import Array, Key, Shape
from lockstep.host.callback import on_host
from lockstep.host.generator import RandomKey
from lockstep.parameters.priors import Prior, broadcast
from lockstep.parameters.supports import Real, Simplex, Support, between

# Log densities of standardised variables up to a constant, by SciPy's names; the last arguments are shapes.
FORMULAS: dict[str, Callable[..., Any]] = {
    "norm": lambda xp, z: -(z**2) / 2,
    "halfnorm": lambda xp, z: -(z**2) / 2,
    "truncnorm": lambda xp, z, a, b: -(z**2) / 2,
    "uniform": lambda xp, z: 0.0 * z,
    "expon": lambda xp, z: -z,
    "gamma": lambda xp, z, a: (a - 1) * xp.log(z) - z,
    "invgamma": lambda xp, z, a: -(a + 1) * xp.log(z) - 1 / z,
    "beta": lambda xp, z, a, b: (a - 1) * xp.log(z) + (b - 1) * xp.log1p(-z),
    "lognorm": lambda xp, z, s: -(xp.log(z) ** 2) / (2 * s**2) - xp.log(z),
    "t": lambda xp, z, df: -(df + 1) / 2 * xp.log1p(z**2 / df),
    "cauchy": lambda xp, z: -xp.log1p(z**2),
    "halfcauchy": lambda xp, z: -xp.log1p(z**2),
    "laplace": lambda xp, z: -abs(z),
    "logistic": lambda xp, z: -abs(z) - 2 * xp.log1p(xp.exp(-abs(z))),
    "weibull_min": lambda xp, z, c: (c - 1) * xp.log(z) - z**c,
}


@part
class OfSciPy(Prior):
    """A frozen distribution of SciPy, one for each entry of an array."""

    support: Support
    location: Array
    scale: Array
    shapes: tuple[Array, ...]
    constant: Array
    distribution: Any = static()

    computes_on_numpy = True

    def __call__(self, value: Array) -> Array:
        formula = FORMULAS.get(self.distribution.dist.name)
        if formula is None:
            return called(self._all_log_densities, value)
        z = (value - self.location) / self.scale
        return (formula(namespace(value), z, *self.shapes) + self.constant).sum()

    def _all_log_densities(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(self.distribution.logpdf(values)).reshape(len(values), -1).sum(axis=1)

    def draw(self, key: Key) -> Array:
        return drawn(key, self.support.shape, lambda rng: self.distribution.rvs(self.support.shape, rng))

    def __repr__(self) -> str:
        return f"scipy.stats.{self.distribution.dist.name}"


@part
class OfSciPyVector(Prior):
    """A frozen ``multivariate_normal`` or ``dirichlet`` of SciPy."""

    support: Support
    distribution: Any = static()

    computes_on_numpy = True

    def __call__(self, value: Array) -> Array:
        return called(self._all_log_densities, value)

    def _all_log_densities(self, values: np.ndarray) -> np.ndarray:
        if self._name != "dirichlet":
            return np.asarray(self.distribution.logpdf(values)).reshape(len(values))
        # A Dirichlet distribution takes points in columns, and raises where a component has rounded to 0.
        found, is_inside = np.full(len(values), -np.inf), (values > 0).all(axis=1)
        if is_inside.any():
            found[is_inside] = self.distribution.logpdf(values[is_inside].T)
        return found

    def draw(self, key: Key) -> Array:
        return drawn(key, self.support.shape, lambda rng: np.ravel(self.distribution.rvs(size=1, random_state=rng)))

    def __repr__(self) -> str:
        return f"scipy.stats.{self._name}"

    @property
    def _name(self) -> str:
        return type(self.distribution).__name__.removesuffix("_frozen")


def called(log_densities: Callable[[np.ndarray], np.ndarray], value: Array) -> Array:
    """What a function of many values gives for one: here and now on the host, else back from compiled code."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.float64(log_densities(np.asarray(value)[None])[0])
    return on_host(log_densities, jax.ShapeDtypeStruct((), np.float64), value)


def drawn(key: Key, shape: Shape, draw: Callable[[np.random.Generator], Any]) -> Array:
    """A draw of SciPy's with the generator of a key, also from compiled code."""

    def all_drawn(words: np.ndarray) -> np.ndarray:
        return np.array([np.asarray(draw(RandomKey(word).generator()), float) for word in words])

    return on_host(all_drawn, jax.ShapeDtypeStruct(shape, np.float64), jr.key_data(key))


def of_scipy(given: object, name: str, shape: Shape | None) -> Prior | None:
    """The prior of a frozen distribution of SciPy; None if it is none."""
    from scipy import stats
    from scipy.stats import _multivariate
    from scipy.stats._distn_infrastructure import rv_discrete_frozen, rv_frozen

    if isinstance(given, (rv_discrete_frozen, stats.rv_discrete)):
        raise TypeError(f"{name} is a discrete distribution of SciPy; parameters of ls.Parameters are continuous")
    if isinstance(given, stats.rv_continuous):
        raise TypeError(f"{name} is scipy.stats.{given.name} without parameters; call it: scipy.stats.{given.name}(…)")
    if isinstance(given, (_multivariate.multivariate_normal_frozen, _multivariate.dirichlet_frozen)):
        is_simplex = isinstance(given, _multivariate.dirichlet_frozen)
        size = len(given.alpha) if is_simplex else int(given.dim)
        found: Any = Simplex((size,)) if is_simplex else Real((size,))
        broadcast((size,), name, shape)
        return OfSciPyVector(found, given)
    if not isinstance(given, rv_frozen):
        return None
    shapes, location, scale = given.dist._parse_args(*given.args, **given.kwds)
    numbers = [np.asarray(number, float) for number in (location, scale, *shapes)]
    own = np.broadcast_shapes(*(number.shape for number in numbers))
    if not np.all(given.dist._argcheck(*shapes)) or not np.all(numbers[1] > 0):
        raise ValueError(f"{name}: scipy.stats.{given.dist.name} has parameters out of their range")
    support = between(*_bounds(given), broadcast(own, name, shape))
    prior = OfSciPy(support, numbers[0], numbers[1], tuple(numbers[2:]), np.zeros(()), given)
    formula = FORMULAS.get(given.dist.name)
    if formula is None:
        return prior
    # The constant from SciPy itself, at a point inside.
    inside = np.asarray(given.median(), float)
    constant = given.logpdf(inside) - formula(np, (inside - numbers[0]) / numbers[1], *numbers[2:])
    return OfSciPy(support, numbers[0], numbers[1], tuple(numbers[2:]), constant, given)


def _bounds(given: Any) -> tuple[Any, Any]:
    lower, upper = given.support()
    return (float(lower), float(upper)) if np.ndim(lower) == np.ndim(upper) == 0 else (lower, upper)
