"""Bounds of rows that depend on x·θ: no smaller ones hold, for each is reached where a derivative is largest."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import double_precision

X = np.array([1.0, 2.0, -0.5])
FACTORS = {"matrix": np.array([[0.2, 0, 0], [0.05, 0.1, 0], [0.0, -0.1, 0.3]]), "number": 0.3}
DEGREES, SCALE = 4.0, 0.7
UNIT = SCALE * np.sqrt(DEGREES)


def logistic(t):
    return t - jnp.logaddexp(0.0, t)  # of y = 1


def robust(t):
    return -(DEGREES + 1) / 2 * jnp.log1p((t / UNIT) ** 2)  # of y = 0


def features(row):
    return row


# The log likelihood of x·θ, its bound, and where its first and its third derivative are largest.
CASES = {
    "logistic": (logistic, ls.subsampling.logistic(features), -20.0, np.log(2 + np.sqrt(3))),
    "robust": (robust, ls.subsampling.robust(features, DEGREES, SCALE), UNIT, UNIT * (np.sqrt(2) - 1)),
}


@pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)
@pytest.mark.parametrize("is_controlled", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_no_smaller_bounds_hold(name, is_controlled, factor):
    """Along LLᵀx, where the inequality of Cauchy and Schwarz is an equality, on a short way."""
    function, made, steepest, most_bent = CASES[name]
    bound = made.at(factor)
    with double_precision():
        matrix = factor * np.eye(3) if np.ndim(factor) == 0 else factor
        direction = matrix @ matrix.T @ X
        direction = direction / (X @ direction)  # x·θ grows by 1
        t = most_bent if is_controlled else steepest
        # Points on one side of the center and on both.
        for old, new in ((0.01, 0.02), (-0.01, 0.02), (0.02, -0.015)):
            here, there = ((t + step) * direction for step in (old, new))
            values = [function(X @ place) for place in (here, there)]
            if is_controlled:
                slope, bend = jax.grad(function)(t), jax.grad(jax.grad(function))(t)
                values = [v - slope * s - bend * s**2 / 2 for v, s in zip(values, (old, new), strict=True)]
            center = t * direction if is_controlled else None
            most = bound.coefficient(X, is_controlled) * bound.distance(here, there, center)
            assert 0.999 < abs(values[1] - values[0]) / most < 1.0001
