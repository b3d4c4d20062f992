"""Families of estimators whose truth is known: laws, scales, logarithms, inner chains, rows of data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import special
from zoo_targets import TARGETS, Target, first_of

import lockstep as ls

ROOT = np.sqrt
LAW_OF = {"normal": "normal"}  # of an average, by the law of its samples
KERNELS = {"naive": ls.naive, "penalty": ls.penalty, "corrected": ls.corrected}


def student(key: Any, n: int, degrees: int) -> Any:
    """From normal numbers: rejection samplers are slow in compiled code."""
    of = jr.normal(key, (degrees + 1, n))
    return of[0] / jnp.sqrt(jnp.mean(of[1:] ** 2, axis=0))


def _poisson(key: Any, n: int, rate: float) -> Any:
    """By inversion."""
    below = jnp.asarray(special.pdtr(np.arange(int(4 * rate + 20)), rate))
    return jnp.searchsorted(below, jr.uniform(key, (n,), float)).astype(float)


# Laws of single samples with mean 0 and variance 1, where these exist.
LAWS: dict[str, Callable[..., Any]] = {
    "normal": lambda key, n: jr.normal(key, (n,)),
    "uniform": lambda key, n: jr.uniform(key, (n,), minval=-ROOT(3), maxval=ROOT(3)),
    "exponential": lambda key, n: jr.exponential(key, (n,)) - 1,
    "square": lambda key, n: (jr.normal(key, (n,)) ** 2 - 1) / ROOT(2),
    "t(3)": lambda key, n: student(key, n, 3) / ROOT(3),
    "t(5)": lambda key, n: student(key, n, 5) / ROOT(5 / 3),
    "t(2)": lambda key, n: student(key, n, 2),
    "Cauchy": lambda key, n: jr.cauchy(key, (n,)),
    "Laplace": lambda key, n: jr.laplace(key, (n,)) / ROOT(2),
    "coin": lambda key, n: 2.0 * jr.bernoulli(key, 0.5, (n,)) - 1,
    "Bernoulli(0.1)": lambda key, n: (jr.bernoulli(key, 0.1, (n,)) - 0.1) / 0.3,
    "Poisson(1)": lambda key, n: _poisson(key, n, 1.0) - 1.0,
    "Poisson(50)": lambda key, n: (_poisson(key, n, 50.0) - 50.0) / ROOT(50.0),
    "lumps": lambda key, n: 2.0 * jr.bernoulli(key, 0.5, (n,)) - 1 + 0.05 * jr.normal(jr.fold_in(key, 1), (n,)),
    "rare": lambda key, n: jr.normal(key, (n,)) * jnp.where(jr.bernoulli(jr.fold_in(key, 1), 0.05, (n,)), 4, 1) / 1.32,
    "log-normal": lambda key, n: (jnp.exp(0.6 * jr.normal(key, (n,))) - np.exp(0.18)) / 0.785,
}


class Case(NamedTuple):
    """An estimator on a target, and the standard deviation of one estimate to first order.

    ``law`` is that of its noise: "normal", "one" at all pairs up to its scale, or "many".
    ``reasons``: words of which one must be in the reason if the numbers are withheld; withheld without any of these is
    withheld without need. ``has_truth``: False if nothing but withholding is right.
    """

    name: str
    target: Target
    estimator: Any
    scale: Callable[..., Any]
    rule: str = "corrected"
    law: str = "one"
    reasons: tuple[str, ...] = ()
    has_truth: bool = True
    exact: tuple[str, ...] = ()

    @property
    def kernel(self) -> Any:
        return KERNELS[self.rule](self.estimator, self.target.proposal)


def _plain(here: Any, there: Any) -> Any:
    return 1.0


def mean_of(law: str, m: int, target: str, sigma: float = 1.0, change: Callable[..., Any] = _plain) -> tuple[Any, Any]:
    """The estimator and its scale; ``change(position, candidate)`` is a factor of the noise."""
    of = TARGETS[target]
    estimator = ls.estimators.mean(
        lambda noise, here, there: of.difference(here, there) + sigma * change(here, there) * noise, m, LAWS[law]
    )
    return estimator, lambda here, there: sigma / ROOT(m) * change(here, there) + 0.0


def mean_case(law: str, m: int, target: str, sigma: float = 1.0, rule: str = "corrected", **more: Any) -> Case:
    made = mean_of(law, m, target, sigma)
    words = "no noise" if sigma == 0 else law
    return Case(f"{words}, m = {m}, {target}", TARGETS[target], *made, rule, LAW_OF.get(law, "one"), **more)


def growing(power: float) -> Callable[..., Any]:
    return lambda here, there: jnp.exp(power * (first_of(here) + first_of(there)))


def apart(here: Any, there: Any) -> Any:
    return jnp.sqrt(0.05 + jnp.abs(first_of(here) - first_of(there)))


def tilted(here: Any, there: Any) -> Any:
    return jnp.sqrt(1 + 0.8 * jnp.tanh(first_of(there)))


def scaled_case(change: Any, words: str, law: str, m: int, target: str, rule: str, **more: Any) -> Case:
    made = mean_of(law, m, target, change=change)
    name = f"{law}, scale {words}, m = {m}, {target}, {rule}"
    return Case(name, TARGETS[target], *made, rule, LAW_OF.get(law, "one"), **more)


def weights_case(sigma: float, m: int, target: str, rule: str, **more: Any) -> Case:
    of = TARGETS[target]
    estimator = ls.estimators.log_mean_exp(
        lambda noise, here, there: of.difference(here, there) + sigma * noise - sigma**2 / 2, m, LAWS["normal"]
    )
    s = ROOT(np.expm1(sigma**2) / m)
    return Case(f"log weights σ = {sigma}, m = {m}, {target}", of, estimator, lambda *_: s, rule, **more)


def two_weights_case(spread: float, width: float, m: int, target: str, rule: str, **more: Any) -> Case:
    """Weights exp(±spread + width z), of mean 1."""
    of, log_mean = TARGETS[target], np.log(np.cosh(spread)) + width**2 / 2

    def draw(key: Any, n: int) -> Any:
        sign = 2.0 * jr.bernoulli(key, 0.5, (n,)) - 1
        return spread * sign + width * jr.normal(jr.fold_in(key, 1), (n,)) - log_mean

    estimator = ls.estimators.log_mean_exp(lambda noise, here, there: of.difference(here, there) + noise, m, draw)
    s = ROOT((np.exp(width**2) * np.cosh(2 * spread) / np.cosh(spread) ** 2 - 1) / m)
    return Case(
        f"log weights ±{spread} with width {width}, m = {m}, {target}", of, estimator, lambda *_: s, rule, **more
    )


def log_of_two_case(sigma: float, m: int, target: str, rule: str, **more: Any) -> Case:
    """The difference of two logs of averages, one at each end."""
    of = TARGETS[target]

    def side(sign: float) -> Any:
        return ls.estimators.log_mean_exp(
            lambda noise, here, there: sign * of.difference(here, there) / 2 + sigma * noise - sigma**2 / 2,
            m,
            LAWS["normal"],
        )

    s = ROOT(2 * np.expm1(sigma**2) / m)
    estimator = ls.estimators.difference(side(-1.0), side(1.0))
    return Case(f"difference of logs σ = {sigma}, m = {m}, {target}", of, estimator, lambda *_: s, rule, **more)


def inverse_case(m: int, target: str, rule: str, **more: Any) -> Case:
    of = TARGETS[target]
    estimator = ls.estimators.smooth(
        None,
        lambda average, here, there: of.difference(here, there) + 1 / average - 1,
        m,
        draw=lambda key, n: jr.exponential(key, (n,)),
    )
    return Case(f"1/average, m = {m}, {target}", of, estimator, lambda *_: 1 / ROOT(m), rule, **more)


def square_case(m: int, target: str, rule: str, **more: Any) -> Case:
    """A smooth function of two averages: their product."""
    of = TARGETS[target]
    estimator = ls.estimators.smooth(
        lambda noise, here, there: jnp.stack([1 + 0.5 * noise[0], 1 + 0.5 * noise[1] ** 2 - 0.5]),
        lambda average, here, there: of.difference(here, there) + average[0] * average[1] - 1,
        m,
        draw=lambda key, n: jr.normal(key, (n, 2)),
    )
    return Case(f"product of averages, m = {m}, {target}", of, estimator, lambda *_: ROOT(0.75 / m), rule, **more)


def chain_case(phi: float, m: int, batches: int, target: str, rule: str, **more: Any) -> Case:
    """The average of an autoregression with variance 1, by batch means."""
    of = TARGETS[target]

    def samples(noise: Any, here: Any, there: Any) -> Any:
        step = lambda before, new: (phi * before + ROOT(1 - phi**2) * new,) * 2  # noqa: E731
        rest = jax.lax.scan(step, noise[0], noise[1:])[1]
        return of.difference(here, there) + jnp.concatenate([noise[:1], rest])

    lags = np.arange(1, m)
    s = ROOT((1 + 2 * np.sum((1 - lags / m) * phi**lags)) / m)
    estimator = ls.estimators.batch_means(samples, m, batches, LAWS["normal"])
    return Case(
        f"inner chain φ = {phi}, m = {m} in {batches} batches, {target}",
        of,
        estimator,
        lambda *_: s,
        rule,
        "normal",
        **more,
    )


def _logistic(theta: Any, row: Any) -> Any:
    logit = jnp.dot(row["x"], theta)
    return row["y"] * logit - jnp.logaddexp(0.0, logit)


@functools.cache
def _rows(size: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(size, 2))
    return {"x": x, "y": (rng.uniform(size=size) < 1 / (1 + np.exp(-x @ [0.8, -0.4]))).astype(float)}


def _laplace(rows: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The mode under a standard normal prior, and a factor of the inverse curvature there."""
    mode = np.zeros(2)
    for _ in range(20):
        chance = 1 / (1 + np.exp(-rows["x"] @ mode))
        precision = (rows["x"] * (chance * (1 - chance))[:, None]).T @ rows["x"] + np.eye(2)
        mode = mode + np.linalg.solve(precision, rows["x"].T @ (rows["y"] - chance) - mode)
    return mode, np.linalg.cholesky(np.linalg.inv(precision))


def rows_name(size: int, m: int, control: Any) -> str:
    return f"{m} of {size} rows {'with' if control else 'without'} controls"


def rows_case(size: int, m: int, control: Any, factor: float, rule: str, **more: Any) -> Case:
    """A logistic regression by rows; "exact draws" by importance resampling of its normal approximation."""
    rows = _rows(size)
    mode, spread = _laplace(rows)
    around = mode + 1.1 * np.random.default_rng(1).standard_normal((20_000, 2)) @ spread.T
    logits = around @ rows["x"].T
    chosen = np.sum(rows["y"] * logits - np.logaddexp(0.0, logits), axis=1) - 0.5 * np.sum(around**2, axis=1)
    chosen += 0.5 * np.sum(np.linalg.solve(1.1 * spread, (around - mode).T) ** 2, axis=0)

    def log_density(theta: Any) -> Any:
        return jnp.sum(jax.vmap(lambda row: _logistic(theta, row))(rows)) - 0.5 * jnp.sum(theta**2)

    def log_prior(theta: Any) -> Any:
        return -0.5 * jnp.sum(theta**2)

    def draw(key: Any) -> Any:
        return jnp.asarray(around)[jr.categorical(key, jnp.asarray(chosen))]

    def scale(here: Any, there: Any) -> Any:
        of = jax.vmap(
            lambda row: (
                estimator.remainder(there, row) - estimator.remainder(here, row)
                if control
                else _logistic(there, row) - _logistic(here, row)
            )
        )(rows)
        return size / ROOT(m) * jnp.std(of)

    target = Target(log_density, draw, ls.RandomWalk(factor * spread))
    estimator = ls.estimators.subsample(
        log_prior, _logistic, rows, m, control, initial=mode if control else None, progress=False
    )
    return Case(rows_name(size, m, control), target, estimator, scale, rule, "many", **more)


def two_sided_case(law: str, m: int, target: str, rule: str, change: Any = _plain, **more: Any) -> Case:
    estimator, scale = mean_of(law, m, target, change=change)
    return Case(
        f"two-sided {law}{'' if change is _plain else ' with a tilted scale'}, m = {m}, {target}",
        TARGETS[target],
        ls.estimators.two_sided(estimator),
        lambda here, there: jnp.sqrt(scale(here, there) ** 2 + scale(there, here) ** 2) / 2,
        rule,
        **more,
    )
