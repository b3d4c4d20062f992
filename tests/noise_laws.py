"""Estimators whose noise has a known law, and the exact coupling to the penalty method that this allows."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import special

import lockstep as ls
from lockstep.ratios.rules import corrected, penalty, plug_in

RULES = {"naive": plug_in, "penalty": penalty, "corrected": corrected}
FAMILIES = ("normal", "uniform", "exponential", "inverse")


def estimator(family, m, difference, sigma=1.0):
    """An estimator of the difference with m samples of a family, of standard deviation sigma each."""
    if family == "lognormal":
        return ls.estimators.log_mean_exp(
            lambda noise, here, there: difference(here, there) + sigma * noise - sigma**2 / 2,
            m,
            draw=lambda key, count: jr.normal(key, (count,)),
        )
    if family == "inverse":
        return ls.estimators.smooth(
            None,
            lambda average, here, there: difference(here, there) + sigma * (1 / average - 1),
            m,
            draw=lambda key, count: jr.exponential(key, (count,)),
        )
    draws = {
        "normal": lambda key, count: jr.normal(key, (count,)),
        "uniform": lambda key, count: jr.uniform(key, (count,), minval=-np.sqrt(3), maxval=np.sqrt(3)),
        "exponential": lambda key, count: jr.exponential(key, (count,)) - 1,
    }
    return ls.estimators.mean(lambda noise, here, there: difference(here, there) + sigma * noise, m, draws[family])


def estimates(family, m, size, rng, sigma):
    """D̂ - D, bias and variance of estimates, by NumPy alone."""
    if family == "lognormal":
        w = np.exp(sigma * rng.standard_normal((size, m)) - sigma**2 / 2)
        relative = w.var(axis=1, ddof=1) / w.mean(axis=1) ** 2 / m
        return np.log(w.mean(axis=1)), -relative / 2, relative
    if family == "inverse":
        w = rng.exponential(size=(size, m))
        average, variance = w.mean(axis=1), w.var(axis=1, ddof=1) / m
        return sigma * (1 / average - 1), sigma * variance / average**3, sigma**2 * variance / average**4
    w = {
        "normal": lambda: rng.standard_normal((size, m)),
        "uniform": lambda: rng.uniform(-np.sqrt(3), np.sqrt(3), (size, m)),
        "exponential": lambda: rng.exponential(size=(size, m)) - 1,
    }[family]()
    return sigma * w.mean(axis=1), np.zeros(size), sigma**2 * w.var(axis=1, ddof=1) / m


def asymptotic_variance(family, m, sigma):
    return (np.expm1(sigma**2) if family == "lognormal" else sigma**2) / m


def score(family, m, error, sigma):
    """The normal score of D̂ - D."""
    if family == "normal":
        return error / sigma * np.sqrt(m)
    if family == "exponential":
        return _gamma_score(m, (error / sigma + 1) * m)
    if family == "inverse":
        return -_gamma_score(m, m / (error / sigma + 1))
    return np.interp(error, *_table(family, m, sigma))


def _gamma_score(shape, value):
    lower, upper = special.gammainc(shape, value), special.gammaincc(shape, value)
    return np.where(value < shape, special.ndtri(lower), -special.ndtri(upper))


@functools.cache
def _table(family, m, sigma, is_two_sided=False):
    """Errors and their scores: by inversion of the characteristic function, or by many draws."""
    if family == "uniform":
        x, t = np.linspace(-7, 0, 2001), np.linspace(1e-6, 40, 20001)
        phi = np.sinc(np.sqrt(12 / m) * t / 2 / np.pi) ** m
        below = 0.5 + np.trapezoid(phi / t * np.sin(np.outer(x, t)), t, axis=1) / np.pi
        z = special.ndtri(np.maximum(below, 1e-13))
        errors = sigma / np.sqrt(m) * x
        return np.concatenate([errors, -errors[-2::-1]]), np.concatenate([z, -z[-2::-1]])
    rng = np.random.default_rng(5)
    errors = np.concatenate([_errors(family, m, 20_000, rng, sigma) for _ in range(100)])
    if is_two_sided:
        errors = (errors - np.concatenate([_errors(family, m, 20_000, rng, sigma) for _ in range(100)])) / 2
    return np.sort(errors), special.ndtri((np.arange(errors.size) + 0.5) / errors.size)


def _errors(family, m, size, rng, sigma):
    if family in ("exponential", "inverse"):
        average = rng.gamma(m, size=size) / m
        return sigma * (average - 1 if family == "exponential" else 1 / average - 1)
    return estimates(family, m, size, rng, sigma)[0]


def _two_sided_score(family, m, error, sigma):
    """Of (forward - reverse)/2; for symmetric samples that is an average of twice as many."""
    if family in ("normal", "uniform"):
        return score(family, 2 * m, error, sigma)
    return np.interp(error, *_table(family, m, sigma, True))


def exact_rho(family, m, log_density, proposal, positions, sigma=1.0, seed=3, is_two_sided=False):
    """ρ for each rule, from gaps at draws of the target, coupled by the known law."""
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        keys = jr.split(jr.key(seed), len(positions))

        def pair(key, position):
            candidate, log_q = proposal(proposal.noise(key, position), position)
            return log_density(candidate) - log_density(position) + log_q

        d = np.asarray(jax.jit(jax.vmap(pair))(keys, jnp.asarray(positions)))
    error, bias, variance = estimates(family, m, len(d), rng, sigma)
    s2, z = asymptotic_variance(family, m, sigma), score(family, m, error, sigma)
    if is_two_sided:
        other = estimates(family, m, len(d), rng, sigma)
        error, bias, variance = (error - other[0]) / 2, (bias - other[1]) / 2, (variance + other[2]) / 4
        s2, z = s2 / 2, _two_sided_score(family, m, error, sigma)
    exact = _probability(d + np.sqrt(s2) * z - s2 / 2)
    estimate = ls.Estimate(d + error, bias, variance, 0.0, m)
    return {name: 1 / np.mean(np.abs(exact - _probability(rule(estimate)))) for name, rule in RULES.items()}


def _probability(log_ratio):
    return np.exp(np.minimum(log_ratio, 0.0))
