"""Late cases of the zoo, written down after the first run of the zoo: other laws, other combinations.

None of them was run before the changes that the first run led to were made, and each was judged once.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from zoo_families import (
    LAWS,
    Case,
    chain_case,
    growing,
    log_of_two_case,
    mean_case,
    scaled_case,
    square_case,
    student,
    weights_case,
)
from zoo_targets import first_of

import lockstep as ls

LAWS |= {
    "logistic": lambda key, n: jr.logistic(key, (n,)) * np.sqrt(3) / np.pi,
    "Gumbel": lambda key, n: (jr.gumbel(key, (n,)) - np.euler_gamma) * np.sqrt(6) / np.pi,
    "triangular": lambda key, n: jnp.sum(jr.uniform(key, (2, n), minval=-1.0, maxval=1.0), axis=0) * np.sqrt(1.5),
    "t(4)": lambda key, n: student(key, n, 4) / np.sqrt(2),
    "t(1)": lambda key, n: student(key, n, 1),
    "geometric": lambda key, n: (jnp.floor(jr.exponential(key, (n,)) / np.log(2)) - 1) / np.sqrt(2),
    "three lumps": lambda key, n: (
        (jr.randint(key, (n,), -1, 2) + 0.03 * jr.normal(jr.fold_in(key, 1), (n,))) * np.sqrt(1.5)
    ),
}


def along(here: Any, there: Any) -> Any:
    """A factor that changes its sign with the direction of the step: so does the skewness of the noise."""
    return first_of(there) - first_of(here)


def two_sided_weights_case(sigma: float, m: int, target: str, rule: str, **more: Any) -> Case:
    one = weights_case(sigma, m, target, rule)
    s = np.sqrt(np.expm1(sigma**2) / m / 2)
    return Case(f"two-sided {one.name}", one.target, ls.estimators.two_sided(one.estimator), lambda *_: s, rule, **more)


def cases() -> list[Case]:
    return [
        mean_case("logistic", 16, "normal", rule="naive"),
        mean_case("Gumbel", 24, "two modes", rule="penalty"),
        mean_case("triangular", 8, "normal 5"),
        mean_case("t(4)", 64, "normal", rule="penalty"),
        mean_case("t(1)", 32, "named", rule="naive", reasons=("heavy tails",), has_truth=False),
        mean_case("geometric", 100, "normal", rule="naive", reasons=("few values",)),
        mean_case("three lumps", 16, "normal 5", rule="penalty", reasons=("few values", "lumps")),
        scaled_case(along, "along the step", "exponential", 32, "normal", "naive"),
        scaled_case(along, "along the step", "Gumbel", 64, "normal 5", "corrected"),
        scaled_case(growing(0.2), "exp(0.2 sum)", "exponential", 64, "normal 5", "corrected", reasons=("pairs",)),
        weights_case(0.3, 8, "two modes", "corrected"),
        log_of_two_case(1.0, 64, "normal 20", "naive"),
        square_case(32, "heavy", "penalty"),
        chain_case(0.8, 1024, 16, "normal", "penalty"),
        two_sided_weights_case(0.5, 16, "normal", "naive"),
    ]


# Data, number of rows of an estimate, controls, length of the steps in standard deviations, rule.
ROWS = ((600, 24, "taylor", 1.5, "naive"), (300, 48, None, 0.2, "corrected"))
