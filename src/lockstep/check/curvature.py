"""Whether draws are from a posterior with an unknown constant: the second Bartlett identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.flatten_util import ravel_pytree

from lockstep.check.batches import Hotelling, mean_is_zero
from lockstep.check.finding import Finding
from lockstep.core import flat, random
from lockstep.core.arguments import MOST_SEED, is_number, require_run, whole
from lockstep.core.foreign import attribute
from lockstep.core.precision import canonical, double_precision
from lockstep.core.sampled import Sampled
from lockstep.core.types import Array, Key, Position, Tree
from lockstep.coupling.names import entries as components
from lockstep.coupling.pair import legs
from lockstep.host.boxes import called_back, is_box, returning
from lockstep.host.callback import raised_here
from lockstep.host.functions import Function, Scalar, wrapped
from lockstep.ratios.randomizations import observed

AT_ONCE = 2**14  # simulations
LARGEST = 2**26  # numbers in the data sets that are simulated at once
NEAR = 0.1  # standard deviations: how close to a border draws may not come
MOST_NEAR = 1e-3  # of the draws
REMEDY = (
    "the draws are not from this posterior: take more inner updates (inner=), perfect simulation "
    "(ls.models, ls.perfect), or ls.bridged_exchange"
)


class Posterior(NamedTuple):
    """Derivatives of the logarithms of prior and likelihood by the parameter as a vector, the data, and a simulator."""

    prior: Callable[[Array], tuple[Array, Array]]
    likelihood: Callable[[Array, Any], tuple[Array, Array]]
    simulate: Callable[[Key, Array], Any]
    data: Any


def curvature(
    run: Sampled,
    log_prior: Any,
    model: Any,
    data: Tree,
    simulations: int = 10,
    points: int = 5_000,
    level: float = 0.01,
    statistic: Any = None,
    seed: int = 0,
) -> Finding:
    """Whether the draws of a run are from the posterior of a likelihood whose normalising constant is unknown.

    With the posterior ``p(θ) L(θ, d)/Z(θ)`` and u its score, ``D(θ) = u uᵀ + ∇u`` has mean 0 under it (the second
    Bartlett identity). The unknown parts of u and ∇u are the mean of ``∇ log L`` and the mean of ``∇² log L`` plus the
    variance of ``∇ log L``, over data at θ. They are estimated, without bias, from data simulated at each draw, so that
    few for each will do. The mean of D over the draws is then compared with 0 by Hotelling's test, with the variance of
    dependent draws from means of batches, and a p-value from resampled batches, for squares are skew.

    This is how to see whether inner chains are long enough (``inner=`` of `ls.exchange`); it serves as well for
    `ls.noisy_exchange`, for approximate Bayesian computation, or for draws of other software. That nothing is found
    does not prove that there is nothing: the test sees what the number of draws lets it see. Draws that count as fewer
    than about 100 independent ones are refused. Most power for the time comes from draws that are nearly independent
    (``thin=`` of `ls.sample`) with few simulations at each.

    Parameters
    ----------
    run
        What `ls.sample` or `ls.load` returned, for draws of any kernel.
    log_prior
        ``log_prior(theta)``, differentiable; None: flat. The posterior must vanish at the border of the prior's
        support, if it has one.
    model
        An object with the functions ``log_likelihood(theta, x)``, without its constant and differentiable by JAX, and
        ``simulate(key, theta)``, which draws data exactly or by a long chain. Those of `ls.models` are such. (Of
        `ls.models.ERGM` only statistics are simulated; a draw should have more ``toggles`` than those under test.)
    data
        The observed data.
    simulations
        How many data sets to simulate at each draw, at least 2.
    points
        At how many draws to do so at the most, of all chains together; they are evenly spaced.
    level
        The probability of a false alarm.
    statistic
        ``statistic(x)`` of an exponential family, ``L = exp(θ·s(x))``, with the structure of θ, where
        ``log_likelihood`` cannot be differentiated.
    seed
        Of the simulations.

    Returns
    -------
    Finding
        ``residual`` is Hotelling's statistic; ``values`` has ``statistic``, ``p_value``, ``degrees`` (of freedom),
        ``batches``, ``points``, and ``scores``: the mean of each entry of D in standard errors, by name.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, lockstep as ls
    >>> model = ls.models.Ising((3, 3))
    >>> data = model.simulate(jax.random.key(1), 0.3)
    >>> def log_prior(theta):
    ...     return -0.5 * ((theta - 0.3) / 0.2) ** 2
    >>> kernel = ls.exchange(log_prior, model.log_likelihood, model.simulate, data, ls.RandomWalk(0.3))
    >>> run = ls.sample(kernel, 0.3, draws=300, chains=4, warmup=50)
    >>> bool(ls.check.curvature(run, log_prior, model, data))
    True

    References
    ----------
    Kang, Hughes and Haran (2021), arXiv:2109.05121.
    """
    require_run(run)
    if len(legs(run.positions)) > 1:
        raise TypeError("run is one of coupled chains; give a run of one kernel")
    simulations, points = whole(simulations, "simulations", 2), whole(points, "points", 1)
    if not is_number(level) or not 0 < level < 1:
        raise ValueError(f"level is {level!r}; it must be a probability between 0 and 1")
    with double_precision(), raised_here():
        positions = _spaced(canonical(run.positions, "positions"), points)
        one = jax.tree.map(lambda leaf: leaf[0, 0], positions)
        flat.require_floating(one, "curvature")
        posterior = _posterior(log_prior, model, data, statistic, one)
        vectors = np.asarray(jax.vmap(jax.vmap(lambda position: ravel_pytree(position)[0]))(positions))
        _require_inside(log_prior, vectors, one)
        entries = _entries(posterior, vectors, simulations, whole(seed, "seed", 0, MOST_SEED))
    names = _names([name for name, _ in components(run.positions)])
    found = mean_is_zero(entries, names)
    return _told(found, names, level, entries.shape[0] * entries.shape[1], simulations)


def _spaced(positions: Position, most: int) -> Position:
    """At most so many draws, evenly spaced, as many of each chain."""
    chains, draws = jax.tree.leaves(positions)[0].shape[:2]
    step = max(1, -(-chains * draws // most))
    return jax.tree.map(lambda leaf: leaf[:, step - 1 :: step], positions)


def _posterior(
    log_prior: Callable[..., Any], model: object, data: Tree, statistic: Callable[..., Any], one: Position
) -> Posterior:
    """The derivatives, by automatic differentiation or from a statistic."""
    simulate, log_likelihood = attribute(model, "simulate", None), attribute(model, "log_likelihood", None)
    short = attribute(model, "simulate_statistic", None)
    if short is not None and statistic is None:
        # All that the likelihood needs of a data set.
        simulate, data = short, attribute(model, "statistic")(data)
    if simulate is None or (statistic is None and log_likelihood is None):
        raise TypeError(
            f"model is {model!r}; it must have functions log_likelihood(theta, x) and simulate(key, theta), as "
            f"ls.models have: ls.check.curvature(run, log_prior, model, data)"
        )
    _, shaped = ravel_pytree(one)
    size = flat.size(one)
    draw = called_back(wrapped(Function, returning(simulate, observed(data)), "simulate"))

    def no_prior(vector: Array) -> tuple[Array, Array]:
        return jnp.zeros(size), jnp.zeros((size, size))

    def of_statistic(vector: Array, x: Array) -> tuple[Array, Array]:
        return jnp.asarray(ravel_pytree(given(x))[0], float), jnp.zeros((size, size))

    def derivatives(function: Callable[..., Any], name: str) -> Any:
        if is_box(function):
            raise TypeError(
                f"{name} is a black box, which cannot be differentiated; write it with jax.numpy, or give the "
                f"statistic of an exponential family"
            )
        scalar: Any = wrapped(Scalar, function, name)
        return jax.grad(lambda vector, *x: scalar(shaped(vector), *x)), jax.hessian(
            lambda vector, *x: scalar(shaped(vector), *x)
        )

    prior, likelihood = no_prior, of_statistic
    if log_prior is not None:
        slope, bend = derivatives(log_prior, "log_prior")
        prior = lambda vector: (slope(vector), bend(vector))  # noqa: E731
    if statistic is not None:
        given = called_back(wrapped(Function, returning(statistic, one), "statistic"))
    else:
        gradient, hessian = derivatives(log_likelihood, "log_likelihood")
        likelihood = lambda vector, x: (gradient(vector, x), hessian(vector, x))  # noqa: E731
    return Posterior(prior, likelihood, lambda key, vector: draw(key, shaped(vector)), observed(data))


def _entries(posterior: Posterior, vectors: np.ndarray, simulations: int, seed: int) -> np.ndarray:
    """The entries of D on and above its diagonal, estimated at each draw: shape (chains, draws, entries)."""
    chains, draws, size = vectors.shape
    numbers = sum(np.size(leaf) for leaf in jax.tree.leaves(posterior.data))
    at_once = max(1, min(min(AT_ONCE, LARGEST // max(1, numbers)) // simulations, chains * draws))
    row, column = np.triu_indices(size)

    def at(vector: Array, key: Key) -> Array:
        def of(key: Key) -> tuple[Array, Array]:
            return posterior.likelihood(vector, posterior.simulate(key, vector))

        slopes, bends = jax.vmap(of)(jr.split(key, simulations))
        spread = jnp.atleast_2d(jnp.cov(slopes, rowvar=False))
        prior, observed = posterior.prior(vector), posterior.likelihood(vector, posterior.data)
        score = prior[0] + observed[0] - slopes.mean(axis=0)
        slope_of_score = prior[1] + observed[1] - bends.mean(axis=0) - spread
        # The noise of the score adds its variance to the square.
        matrix = jnp.outer(score, score) - spread / simulations + slope_of_score
        return matrix[row, column]

    over_draws = jax.jit(jax.vmap(at))
    flattened = vectors.reshape(-1, size)
    keys = random.split(random.seeded(seed), len(flattened))
    found = []
    for start in range(0, len(flattened), at_once):
        # The last piece is filled up, so that one program computes all.
        rows = np.minimum(np.arange(start, start + at_once), len(flattened) - 1)
        found.append(np.asarray(over_draws(flattened[rows], keys[rows])))
    return np.concatenate(found)[: len(flattened)].reshape(chains, draws, -1)


def _require_inside(log_prior: Callable[..., Any], vectors: np.ndarray, one: Position) -> None:
    """Refuse draws at a border of the prior, where the identity has a term of its own."""
    if log_prior is None:
        return
    _, shaped = ravel_pytree(one)
    scalar: Any = wrapped(Scalar, log_prior, "log_prior")
    points = vectors.reshape(-1, vectors.shape[-1])
    steps = NEAR * np.diag(points.std(axis=0))
    near = points[:, None] + np.concatenate([steps, -steps])
    values = np.asarray(jax.vmap(jax.vmap(lambda v: scalar(shaped(v))))(near))
    if np.isnan(values).any():
        raise ValueError(
            f"log_prior is NaN near {np.isnan(values).any(axis=1).mean():.1%} of the draws; it must be a number, or "
            f"minus infinity outside its support"
        )
    is_outside = np.any(values == -np.inf, axis=1)
    if is_outside.mean() > MOST_NEAR:
        raise ValueError(
            f"log_prior is minus infinity within {NEAR} standard deviations of {is_outside.mean():.1%} of the draws: "
            f"the posterior does not vanish at the border of the prior, and the identity does not hold. Take a smooth "
            f"prior, or transform the parameter"
        )


def _names(each: list[str]) -> list[str]:
    """A name for each entry of D on and above the diagonal, from those of the components."""
    return [f"{each[i]}, {each[j]}" if i != j else each[i] for i, j in zip(*np.triu_indices(len(each)), strict=True)]


def _told(found: Hotelling, names: list[str], level: float, points: int, simulations: int) -> Finding:
    worst = int(np.argmax(np.abs(found.scores)))
    values = {
        "statistic": found.statistic,
        "p_value": found.p_value,
        "degrees": len(names),
        "batches": found.batches,
        "points": points,
        "scores": dict(zip(names, map(float, found.scores), strict=True)),
    }
    compared = (
        f"(statistic {found.statistic:.3g}, p = {found.p_value:.2g}; {points:,} draws in {found.batches} batches, "
        f"{simulations} simulations at each)"
    )
    if found.p_value >= level:
        sentence = f"squared score and curvature of the log posterior balance, as far as these draws tell {compared}"
        return Finding(True, sentence, found.statistic, names[worst], values)
    sentence = (
        f"squared score and curvature of the log posterior do not balance, by {found.scores[worst]:.1f} standard "
        f"errors in {names[worst]} {compared}: {REMEDY}"
    )
    return Finding(False, sentence, found.statistic, names[worst], values)
