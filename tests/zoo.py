"""A zoo of estimators whose truth is known, to try predictions on.

Every second case is *held*: nothing was tuned on it before its first run, which docs/prediction.md tells of. The *late*
ones were written down after that run.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import zoo_late
from zoo_families import (
    KERNELS as KERNELS,
    ROOT,
    Case,
    apart,
    chain_case,
    growing,
    inverse_case,
    log_of_two_case,
    mean_case,
    mean_of,
    rows_case,
    rows_name,
    scaled_case,
    square_case,
    tilted,
    two_sided_case,
    two_weights_case,
    weights_case,
)
from zoo_targets import TARGETS

import lockstep as ls


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
    rows_name(*row[:3]): row
    for row in (
        (400, 16, "taylor", 2.0, "naive"),
        (1000, 32, "taylor", 1.0, "corrected"),
        (200, 32, None, 0.4, "naive"),
        (400, 64, None, 0.3, "penalty"),
    )
}
LATE_ROWS = {rows_name(*row[:3]): row for row in zoo_late.ROWS}
CASES, LATE_CASES = ({case.name: case for case in made} for made in (_cases(), zoo_late.cases()))
FIRST, LATE = (*CASES, *ROWS), (*LATE_CASES, *LATE_ROWS)
OPEN, HELD = FIRST[::2], FIRST[1::2]
NAMES = (*FIRST, *LATE)
COUPLED = (
    "normal, m = 8, normal",
    "uniform, m = 32, heavy",
    "exponential, m = 12, normal",
    "log weights σ = 0.5, m = 16, normal",
    "1/average, m = 8, paper",
    "inner chain φ = 0.5, m = 512 in 16 batches, normal 5",
    "exponential, scale by distance, m = 32, heavy, penalty",
)  # whose truth is measured by `ls.Coupled` as well


def half_of(name: str) -> str:
    """Open, held, or late: written down after what was found with the others."""
    return "late" if name in LATE else "open" if name in OPEN else "held"


# A reason that nobody had thought of when the case was written down, and that holds: the naive chain is off by 0.17 an
# update, and its positions have standard deviations of 0.225 and 0.235 where those of the target are 0.164 and 0.173.
LATER_REASONS = {"32 of 200 rows without controls": ("need not be where an exact chain would be",)}


@functools.cache
def case_of(name: str) -> Case:
    """The case of a name; those of rows search a mode when they are made."""
    rows = ROWS | LATE_ROWS
    if name in rows:
        return rows_case(*rows[name], reasons=LATER_REASONS.get(name, ()))
    return (CASES | LATE_CASES)[name]


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
