"""The true rate of separation of an estimator whose target and scale of noise are known, by plain Monte Carlo.

Exact draws of the target, a candidate, an estimate by the very estimator. Its normal score z is its noise itself if
that is normal, else it comes from its rank among all estimates of the same law (ties broken at random: the closest
coupling that a lattice allows). That gives y = D + s z of the penalty method, and the average gap of the two acceptance
probabilities is 1/ρ. `ls.Coupled` and `ls.Shadowed` measure the same along a chain.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.special import ndtr, ndtri

import lockstep as ls
from lockstep.core.trees import have_equal_values
from lockstep.ratios.rules import corrected, penalty, plug_in

RULES = {"naive": plug_in, "penalty": penalty, "corrected": corrected}
MOST, MOST_SAMPLES, CHUNK = 2**18, 2**24, 2**21
PAIRS, REPLICATES = 512, 4096  # where the law of the noise differs from pair to pair
GROUPS = 64


class Truth(NamedTuple):
    """ρ against the penalty method and against standard Metropolis-Hastings, with the standard error of each."""

    rho: float
    rho_se: float
    against_standard: float
    against_standard_se: float


def truth_of(
    estimator: Any, target: Any, scale: Any, law: str = "one", seed: int = 11, most: int = MOST
) -> dict[str, Truth]:
    """ρ of each rule.

    ``scale(position, candidate)`` is the standard deviation of an estimate to first order, negative where the noise is
    turned over. The ``law`` of the noise in units of its scale: "normal", "one" at all pairs, or "many".
    """
    estimate, difference, log_q, s, does_move = _estimates(estimator, target, scale, law, seed, most)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        noise = (estimate.value - difference) / s
        z = noise if law == "normal" else _scores(noise if law == "many" else noise.T, seed).reshape(noise.shape)
        exact, standard = _probability(log_q + difference + s * z - s**2 / 2), _probability(log_q + difference)
        decided = {name: _probability(log_q + rule(estimate)) for name, rule in RULES.items()}
        # What a rank may be off moves y, and so adds to the gaps, in squares.
        count = noise.shape[1] if law == "many" else len(noise)
        off = np.sqrt(ndtr(z) * ndtr(-z) / count) * np.exp(z**2 / 2 + np.log(2 * np.pi) / 2)
        floor = 0.0 if law == "normal" else np.nanmean(np.where(exact < 1, 0.8 * np.abs(s) * off * exact, 0.0))
    is_possible = does_move[:, None] & (difference > -np.inf)
    return {
        name: Truth(*_inverse(np.abs(of - exact) * is_possible, floor), *_inverse(np.abs(of - standard) * is_possible))
        for name, of in decided.items()
    }


def noise_of(
    estimator: Any, target: Any, scale: Any, seed: int = 12, most: int = MOST, samples: int = MOST_SAMPLES
) -> np.ndarray:
    """Many estimates minus D, in units of their scale."""
    estimate, difference, _, s, _ = _estimates(estimator, target, scale, "one", seed, most, samples)
    return ((estimate.value - difference) / s).ravel()


def _estimates(
    estimator: Any, target: Any, scale: Any, law: str, seed: int, most: int, samples: int = MOST_SAMPLES
) -> Any:
    """Estimates (pairs, each) at exact draws and their candidates; D, log proposal ratio, scale; what moves."""
    of_one = estimator.count * estimator.sides
    pairs, each = (PAIRS, REPLICATES) if law == "many" else (min(most, samples // of_one), 1)
    chunk = max(1, min(pairs, CHUNK // (of_one * each)))
    with jax.enable_x64(True):
        keys = jr.split(jr.key(seed), -(-pairs // chunk))
        scale = jax.tree_util.Partial(scale)
        parts = [jax.tree.map(np.asarray, _some(estimator, scale, key, target, chunk, each)) for key in keys]
    estimate, difference, log_q, s, does_move = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    return ls.Estimate(*estimate), difference[:, None], log_q[:, None], s[:, None], does_move


@functools.partial(jax.jit, static_argnums=(3, 4, 5))
def _some(estimator: Any, scale: Any, key: Any, target: Any, pairs: int, each: int) -> Any:
    """A number of pairs, and estimates (pairs, each) at them."""
    key_draw, key_proposal, key_noise = jr.split(key, 3)
    positions = jax.vmap(target.draw)(jr.split(key_draw, pairs))
    one = jax.tree.map(lambda leaf: leaf[0], positions)
    steps = target.proposal.noise(key_proposal, one, (pairs,))
    candidates, log_q = jax.vmap(target.proposal)(steps, positions)
    noise = estimator.noise(key_noise, one, (pairs, each))
    estimate = jax.vmap(jax.vmap(estimator, in_axes=(0, None, None)))(noise, positions, candidates)
    estimate = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (pairs, each)).astype(float), estimate)
    difference = jax.vmap(target.log_density)(candidates) - jax.vmap(target.log_density)(positions)
    does_move = ~jax.vmap(have_equal_values)(positions, candidates)
    s = jnp.broadcast_to(jax.vmap(scale)(positions, candidates), (pairs,))
    return tuple(estimate), difference, log_q * jnp.ones(pairs), s, does_move


def _scores(noise: np.ndarray, seed: int) -> np.ndarray:
    """Normal scores by ranks within each row; ties, also those up to rounding, at random."""
    order = np.lexsort((np.random.default_rng(seed).random(noise.shape), np.round(noise, 9)), axis=-1)
    ranks = np.empty(noise.shape)
    known = np.isfinite(noise).sum(axis=1, keepdims=True)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(noise.shape[1]), noise.shape), axis=1)
    return ndtri(np.minimum((ranks + 0.5) / np.maximum(known, 1), 1.0))


def _probability(log_ratio: np.ndarray) -> np.ndarray:
    return np.where(log_ratio < np.inf, np.exp(np.minimum(log_ratio, 0.0)), 0.0)


def _inverse(gaps: np.ndarray, floor: float = 0.0) -> tuple[float, float]:
    """One over the average gap and its standard error, beside a floor of the gaps that adds to them in squares."""
    rate = gaps.mean()
    error = np.std([group.mean() for group in np.array_split(gaps, GROUPS)], ddof=1) / np.sqrt(GROUPS)
    return (1 / rate, np.hypot(error, floor**2 / rate / 4) / rate**2) if rate > 1e-12 else (np.inf, 0.0)
