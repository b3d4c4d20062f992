"""A zoo of estimators whose truth is known, to try predictions on.

Every second case is *held*: nothing was tuned on it before its first run, which docs/prediction.md tells of. What was
added after that run is marked ``is_late``.
"""

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


def _student(key: Any, n: int, degrees: int) -> Any:
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
    "t(3)": lambda key, n: _student(key, n, 3) / ROOT(3),
    "t(5)": lambda key, n: _student(key, n, 5) / ROOT(5 / 3),
    "t(2)": lambda key, n: _student(key, n, 2),
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
    is_late: bool = False

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


def _rows_name(size: int, m: int, control: Any) -> str:
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
    return Case(_rows_name(size, m, control), target, estimator, scale, rule, "many", **more)


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


def _cases() -> list[Case]:
    lattice = ("few values",)
    heavy = ("heavy tails",)
    short = ("times what its samples say",)
    wild = ("pairs",)  # too few of them for so much change
    lumps = ("few values", "lumps")
    normal, scale = mean_of("normal", 16, "normal")
    return [
        mean_case("normal", 8, "normal", rule="naive"),
        mean_case("normal", 32, "normal 5", rule="penalty"),
        mean_case("normal", 32, "two modes", rule="naive"),
        mean_case("normal", 128, "normal 20"),
        mean_case("uniform", 8, "normal"),
        mean_case("uniform", 32, "heavy", rule="naive"),
        mean_case("exponential", 12, "normal", rule="naive"),
        mean_case("exponential", 48, "funnel"),
        mean_case("square", 32, "normal", rule="penalty"),
        mean_case("square", 128, "normal 5", rule="naive"),
        mean_case("t(3)", 32, "normal", rule="penalty", reasons=heavy),
        mean_case("t(3)", 64, "two modes", rule="naive", reasons=heavy),
        mean_case("t(5)", 32, "half line", rule="penalty"),
        mean_case("t(5)", 16, "normal 5", rule="naive"),
        mean_case("t(2)", 64, "normal", rule="naive", reasons=heavy, has_truth=False),
        mean_case("Cauchy", 16, "normal 5", rule="penalty", reasons=heavy, has_truth=False),
        mean_case("Laplace", 16, "normal 20", rule="naive"),
        mean_case("Laplace", 64, "heavy", rule="penalty"),
        mean_case("coin", 4, "normal", rule="naive", reasons=lattice),
        mean_case("coin", 64, "normal", rule="penalty", reasons=lattice),
        mean_case("Bernoulli(0.1)", 16, "normal", rule="naive", reasons=lattice),
        mean_case("Bernoulli(0.1)", 256, "normal 5", rule="penalty", reasons=lattice),
        mean_case("Poisson(1)", 16, "two modes", rule="penalty", reasons=lattice),
        mean_case("Poisson(1)", 64, "states", rule="naive", reasons=lattice),
        mean_case("Poisson(50)", 16, "normal", rule="naive", reasons=lattice),
        mean_case("Poisson(50)", 64, "normal 5", rule="penalty", reasons=lattice),
        mean_case("lumps", 4, "normal", rule="naive", reasons=lumps),
        mean_case("lumps", 16, "normal", rule="penalty", reasons=lumps),
        mean_case("rare", 16, "normal", rule="naive"),
        mean_case("rare", 64, "normal 5", rule="penalty"),
        mean_case("log-normal", 16, "independent", rule="naive"),
        mean_case("log-normal", 64, "uniform walk", rule="penalty"),
        mean_case("normal", 16, "states", rule="penalty"),
        mean_case("exponential", 24, "states", rule="naive"),
        mean_case("normal", 16, "named", rule="naive"),
        mean_case("exponential", 32, "named", rule="penalty"),
        mean_case("normal", 16, "half line", rule="naive"),
        mean_case("exponential", 24, "half line"),
        weights_case(0.5, 16, "normal", "naive"),
        weights_case(0.8, 32, "normal 5", "penalty"),
        weights_case(0.8, 64, "two modes", "naive"),
        weights_case(1.2, 64, "normal", "penalty", reasons=heavy),
        two_weights_case(1.0, 0.3, 16, "normal", "naive", reasons=lumps),
        two_weights_case(1.0, 0.05, 16, "paper", "naive", reasons=lumps),
        two_weights_case(0.5, 0.02, 16, "two modes", "penalty", reasons=lumps),
        two_weights_case(2.0, 0.1, 64, "normal 5", "naive", reasons=lumps),
        log_of_two_case(0.8, 32, "normal", "naive"),
        log_of_two_case(0.5, 16, "normal 5", "corrected"),
        inverse_case(8, "paper", "naive"),
        inverse_case(32, "normal 20", "corrected"),
        square_case(16, "normal", "corrected"),
        square_case(64, "two modes", "naive"),
        chain_case(0.5, 128, 16, "normal", "naive", reasons=short),
        chain_case(0.5, 512, 16, "normal 5", "penalty"),
        chain_case(0.95, 128, 16, "normal", "penalty", reasons=short),
        chain_case(0.95, 1024, 16, "two modes", "naive", reasons=short),
        scaled_case(growing(0.2), "exp(0.2 sum)", "normal", 16, "normal", "naive", reasons=wild),
        scaled_case(growing(0.3), "exp(0.3 sum)", "normal", 32, "normal 5", "penalty", reasons=wild),
        scaled_case(growing(0.5), "exp(0.5 sum)", "normal", 16, "normal", "penalty", reasons=wild),
        scaled_case(growing(0.7), "exp(0.7 sum)", "normal", 8, "normal", "naive", reasons=wild),
        scaled_case(growing(0.7), "exp(0.7 sum)", "normal", 8, "normal", "penalty", reasons=wild),
        scaled_case(growing(0.3), "exp(0.3 sum)", "exponential", 32, "two modes", "naive", reasons=wild),
        scaled_case(apart, "by distance", "normal", 16, "normal", "naive"),
        scaled_case(apart, "by distance", "exponential", 32, "heavy", "penalty"),
        scaled_case(tilted, "by candidate", "normal", 32, "normal", "naive", reasons=("differs by direction",)),
        scaled_case(tilted, "by candidate", "exponential", 64, "two modes", "penalty", reasons=("by direction",)),
        two_sided_case("exponential", 16, "normal", "naive"),
        two_sided_case("normal", 32, "normal 5", "corrected", change=tilted),
        mean_case("normal", 2, "normal", rule="naive", reasons=("only 2 samples",), has_truth=False),
        Case(
            "normal with known variance, m = 16, normal",
            TARGETS["normal"],
            ls.estimators.known_variance(normal, 1 / 16),
            scale,
            "penalty",
            "normal",
            exact=("penalty", "corrected"),
        ),
        mean_case("normal", 16, "normal", sigma=0.0, rule="naive", exact=("naive", "penalty", "corrected")),
        Case(
            "normal with a wrong variance, m = 16, normal",
            TARGETS["normal"],
            ls.estimators.known_variance(normal, 1 / 8),
            scale,
            "penalty",
            "normal",
            reasons=("times what",),
        ),
    ]


# Data, number of rows of an estimate, controls, length of the steps in standard deviations, rule.
ROWS = {
    _rows_name(*row[:3]): row
    for row in (
        (400, 16, "taylor", 2.0, "naive"),
        (1000, 32, "taylor", 1.0, "corrected"),
        (200, 32, None, 0.4, "naive"),
        (400, 64, None, 0.3, "penalty"),
    )
}
CASES = {case.name: case for case in _cases()}
NAMES = (*CASES, *ROWS)
OPEN, HELD = NAMES[::2], NAMES[1::2]


@functools.cache
def case_of(name: str) -> Case:
    """The case of a name; those of rows search a mode when they are made."""
    return rows_case(*ROWS[name]) if name in ROWS else CASES[name]


# Ten cases that share their compiled functions: laws, scales and directions are data.
FIELDS = ("normal", "exponential", "uniform", "coin", "lumps", "Cauchy", "sigma", "growth", "tilt")
FAST: dict[str, tuple[dict[str, float], tuple[str, ...]]] = {
    "normal": ({"normal": 1}, ()),
    "exponential": ({"exponential": 1}, ()),
    "uniform": ({"uniform": 1}, ()),
    "normal and exponential": ({"normal": 0.6, "exponential": 0.8}, ()),
    "coin": ({"coin": 1}, ("few values",)),
    "lumps": ({"coin": 1, "lumps": 0.05}, ("lumps",)),
    "Cauchy": ({"Cauchy": 1}, ("heavy tails",)),
    "no noise": ({"sigma": 0}, ()),
    "scale that changes much": ({"normal": 1, "growth": 0.7}, ("pairs",)),
    "scale by direction": ({"normal": 1, "tilt": 0.8}, ("differs by direction",)),
}
FAST_COUNT = 16


def fast_case(name: str) -> Case:
    """One of the ten; all have the same types, so that nothing is compiled twice."""
    given, reasons = FAST[name]
    data = jnp.array([float(given.get(field, field == "sigma")) for field in FIELDS])
    estimator = ls.estimators.mean(jax.tree_util.Partial(_fast_sample, data), FAST_COUNT, _fast_draw)
    scale = jax.tree_util.Partial(_fast_scale, data)
    exact = ("naive", "penalty", "corrected") if name == "no noise" else ()
    return Case(name, TARGETS["normal"], estimator, scale, "naive", "one", reasons, name != "Cauchy", exact)


def _fast_draw(key: Any, n: int) -> Any:
    return jnp.stack([jr.normal(key, (n,)), jr.uniform(jr.fold_in(key, 1), (n,))], axis=1)


def _fast_sample(data: Any, noise: Any, here: Any, there: Any) -> Any:
    normal, uniform = noise
    centred = 2 * uniform - 1
    laws = (normal, -jnp.log1p(-uniform) - 1, ROOT(3) * centred, jnp.sign(centred), normal, jnp.tan(1.57 * centred))
    sigma = ROOT(FAST_COUNT) * _fast_scale(data, here, there)
    return TARGETS["normal"].difference(here, there) + sigma * sum(data[i] * law for i, law in enumerate(laws))


def _fast_scale(data: Any, here: Any, there: Any) -> Any:
    sigma, growth, tilt = data[6:]
    grown = jnp.exp(growth * (here[0] + there[0]))
    return sigma / ROOT(FAST_COUNT) * grown * jnp.sqrt(1 + tilt * jnp.tanh(there[0]))
