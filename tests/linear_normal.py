"""A linear normal model, and its exact answers by Kalman's recursion: for tests only."""

import jax.numpy as jnp
import jax.random as jr
import jax.scipy.stats as jst
import numpy as np

import lockstep as ls

NOISE = 0.8  # standard deviation of the observations


def initial(z, theta):
    return z


def transition(z, x, theta, t):
    return theta["phi"] * x + jnp.exp(theta["log_sigma"]) * z


def log_observation(theta, x, y, t):
    return jst.norm.logpdf(y, x, NOISE)


def log_initial(theta, x):
    return jst.norm.logpdf(x)


def log_transition(theta, x, previous, t):
    return jst.norm.logpdf(x, theta["phi"] * previous, jnp.exp(theta["log_sigma"]))


def observe(key, x, theta, t):
    return x + NOISE * jr.normal(key)


def draw(key, count):
    return jr.normal(key, (count,))


def propose(z, x, theta, y, t):
    """The law of the next state given the next observation."""
    mean, variance = theta["phi"] * x, jnp.exp(2 * theta["log_sigma"])
    gain = variance / (variance + NOISE**2)
    centre, spread = mean + gain * (y - mean), jnp.sqrt(variance * (1 - gain))
    chosen = centre + spread * z
    return chosen, log_transition(theta, chosen, x, t) - jst.norm.logpdf(chosen, centre, spread)


def look_ahead(theta, x, y, t):
    return jst.norm.logpdf(y, theta["phi"] * x, jnp.sqrt(jnp.exp(2 * theta["log_sigma"]) + NOISE**2))


def model(**more):
    functions = {"observe": observe, "log_initial": log_initial, "log_transition": log_transition, **more}
    return ls.models.StateSpace(initial, transition, log_observation, draw=draw, **functions)


def log_prior(theta):
    """φ uniform on (-1, 1), log σ normal."""
    inside = jnp.abs(theta["phi"]) < 1
    return jnp.where(inside, jst.norm.logpdf(theta["log_sigma"], -0.5, 0.7), -jnp.inf)


THETA = {"phi": 0.8, "log_sigma": -0.5}


def kalman(data, phi, log_sigma, times=None):
    """The log likelihood, and means and variances of the states given the data until each observation."""
    times = np.arange(len(data)) if times is None else times
    none = 0.0 * (phi + log_sigma)  # of the shape of the parameters
    mean, variance, total, now = none, 1.0 + none, none, 0
    means, variances = [], []
    for y, time in zip(data, times, strict=True):
        for _ in range(time - now):
            mean, variance = phi * mean, phi**2 * variance + np.exp(2 * log_sigma)
        now = time
        if not np.isnan(y):
            whole = variance + NOISE**2
            total = total - 0.5 * (np.log(2 * np.pi * whole) + (y - mean) ** 2 / whole)
            gain = variance / whole
            mean, variance = mean + gain * (y - mean), (1 - gain) * variance
        means.append(mean)
        variances.append(variance)
    return total, np.array(means), np.array(variances)


def grid_posterior(data):
    """Means and standard deviations of (φ, log σ), on a grid."""
    phi, log_sigma = np.meshgrid(np.linspace(-0.995, 0.995, 200), np.linspace(-3.5, 1.5, 200), indexing="ij")
    log_density = kalman(data, phi, log_sigma)[0] - 0.5 * ((log_sigma + 0.5) / 0.7) ** 2
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    found = {}
    for name, values in (("phi", phi), ("log_sigma", log_sigma)):
        mean = (weights * values).sum()
        found[name] = mean, np.sqrt((weights * (values - mean) ** 2).sum())
    return found
