"""Approximate Bayesian computation: simulated data that come near to those observed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from lockstep.core.arguments import positive
from lockstep.core.parts import part, static
from lockstep.core.trees import choose, namespace
from lockstep.core.types import Array, Position, Tree
from lockstep.estimators.samples import Samples
from lockstep.estimators.sides import OfSimulations, simulations
from lockstep.host.functions import as_function

NORMAL, UNIFORM = "normal", "uniform"


@part
class WithinDistance(OfSimulations):
    """``log m⁻¹ Σ K(distance_i / ε)``: the probability of data within a distance, estimated without bias."""

    samples: Samples
    epsilon: Array
    weight: str = static(default=NORMAL)

    name = "the ABC likelihood (is a distance negative or no number?)"
    exact_when = (
        "its target is what you want: the posterior given that simulated data come within epsilon of those observed, "
        "not the posterior itself"
    )
    when_stuck = "take a larger epsilon, or more simulations"

    def __call__(self, noise: Tree, position: Position) -> Array:
        distances = self.samples(noise, position, position)
        if np.ndim(distances) != 1:
            raise ValueError(
                f"distance of abc returned an array of shape {distances.shape[1:]}; it must be one number, such as the "
                f"norm of that"
            )
        xp, far = namespace(distances), distances / self.epsilon
        log_weights = -(far**2) / 2 if self.weight == NORMAL else xp.where(far <= 1, 0.0, -np.inf)
        # A distance that is none, negative or no number, is told, and not taken for a near or a far one.
        log_weights = xp.where(far >= 0, log_weights, np.nan)
        largest = log_weights.max()
        shift = choose(xp.isfinite(largest), largest, 0.0)
        return xp.log(xp.exp(log_weights - shift).mean()) + shift


def abc(
    simulate: Any, distance: Any, epsilon: float, count: int, weight: str = NORMAL, draw: Any = None
) -> WithinDistance:
    """The likelihood of coming near to the observed data, for `ls.pseudo_marginal`.

    ``L_ε(θ) = E K(distance(x)/ε)``, x simulated at θ, is estimated without bias by an average over ``count`` data sets.

    *Exact when* its own target is meant, the posterior given that simulated data come within ε of those observed: that
    is wider than the posterior, and tends to it as ε falls if the distance forgets nothing of the data. How far it is
    off no number here tells; compare a smaller ε.

    Parameters
    ----------
    simulate
        ``simulate(key, theta)`` makes a data set. As `ls.blackbox`, ``simulate(rng, theta)``; vectorized, one call
        makes all ``count`` of them, a row each.
    distance
        ``distance(data)`` from the observed data, a number at least 0; NumPy next to a black box.
    epsilon
        ε, how near is near.
    count
        How many simulations m an estimate takes. One is often best, for an update costs as many; more help where
        chains stick.
    weight
        K: ``"normal"``, ``exp(-(distance/ε)²/2)``, or ``"uniform"``, 1 up to a distance of ε and 0 beyond; a chain of
        the latter must begin where some of its simulations come that near.
    draw
        ``draw(key, count)`` makes the noise of ``count`` simulations at once, which ``simulate`` gets in place of keys.

    Examples
    --------
    >>> import jax.numpy as jnp, jax.random as jr, lockstep as ls
    >>> def simulate(key, theta):
    ...     return theta + jr.normal(key, (20,))
    >>> near = ls.abc(simulate, lambda data: jnp.abs(jnp.mean(data) - 0.7), epsilon=0.1, count=4)
    >>> kernel = ls.pseudo_marginal(near, ls.RandomWalk(0.5))

    See Also
    --------
    lockstep.synthetic_likelihood : a normal approximation of summaries instead of a distance.

    References
    ----------
    Marjoram, Molitor, Plagnol and Tavaré (2003), PNAS 100. Bornn, Pillai, Smith and Woodard (2017), Statistics and
    Computing 27 (how many simulations).
    """
    _require_one_argument(as_function(distance, "distance of abc"))
    if not isinstance(weight, str) or weight not in (NORMAL, UNIFORM):
        raise ValueError(f'weight of abc is {weight!r}; it must be "{NORMAL}" or "{UNIFORM}"')
    samples = simulations(simulate, distance, True, (), count, draw, "abc")
    return WithinDistance(samples, positive(epsilon, "epsilon of abc"), weight)


def _require_one_argument(distance: Any) -> None:
    try:
        parameters = inspect.signature(distance).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [
        p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1:
        raise TypeError(
            f"distance of abc takes {', '.join(needed)}; it is called with simulated data alone. Let it know the "
            f"observed ones: lambda data: distance(data, observed)"
        )
