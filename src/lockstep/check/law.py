"""Finite laws of noise, with which expectations over a kernel's noise are exact sums."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import jax
import numpy as np

from lockstep.core.arguments import is_array, real_numbers


class Law(NamedTuple):
    """Noise that takes finitely many values: a leading axis over them, and their probabilities."""

    values: Any
    weights: Any


def as_law(law: object) -> Law:
    """A law from a pair (values, weights); None stands for no noise at all."""
    if law is None:
        return Law((), np.ones(1))
    if not isinstance(law, (tuple, list)) or len(law) != 2:
        raise TypeError(f"law is {law!r}; it must be a pair (values, weights)")
    values, weights = law[0], real_numbers(law[1], "law: weights")
    if weights.ndim != 1 or np.any(weights < 0) or not np.isclose(weights.sum(), 1.0, atol=1e-9):
        raise ValueError(f"law: the weights sum to {weights.sum()}; they must be non-negative and sum to 1")
    for leaf in jax.tree.leaves(values):
        if not is_array(leaf):
            raise TypeError(f"law: values are {leaf!r}; they must be arrays, with a leading axis over the values")
        if np.shape(leaf)[:1] != weights.shape:
            raise ValueError(
                f"law: values of shape {np.shape(leaf)} for {weights.size} weights; the first axes must agree"
            )
    return Law(values, weights)


def product(*laws: Any) -> Law:
    """The law of independent noises as a tuple: for ratios whose noise has several parts.

    >>> coin = Law(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    >>> product(coin, coin).weights
    array([0.25, 0.25, 0.25, 0.25])
    """
    laws = tuple(as_law(law) for law in laws)
    indices = np.array(list(itertools.product(*(range(len(law.weights)) for law in laws)))).T
    values = tuple(
        jax.tree.map(lambda leaf, i=index: np.asarray(leaf)[i], law.values)
        for law, index in zip(laws, indices, strict=True)
    )
    weights = np.prod([law.weights[index] for law, index in zip(laws, indices, strict=True)], axis=0)
    return Law(values, weights)
