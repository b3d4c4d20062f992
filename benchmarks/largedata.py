"""The work of the rows on large data: logistic regression by Lockstep, NumPyro and BlackJAX, in effective draws."""

from __future__ import annotations

import functools
import time
from typing import Any

import arviz_stats
import blackjax
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import numpyro.distributions as dist
from blackjax.mcmc.random_walk import normal
from numpyro.infer import HMCECS, MCMC, NUTS, init_to_value

import lockstep as ls
from benchmarks.harness import Builder, Task, timed

UNITS = 1000  # effective draws
WHOLE = 10_000  # effective draws of a row that counts set-up, compilation and warm-up
CHAINS, DRAWS = 64, 8000
PRIOR_SCALE = 10.0


@functools.lru_cache(maxsize=2)
def logistic_data(rows: int, dimension: int) -> dict[str, np.ndarray]:
    """Normal covariates in single precision, and what a logistic model makes of them."""
    generator = np.random.default_rng(1)
    x = generator.standard_normal((rows, dimension), np.float32)
    logits = x @ (0.5 * generator.standard_normal(dimension) / np.sqrt(dimension / 10)).astype(np.float32)
    return {"x": x, "y": (generator.uniform(size=rows) < 1 / (1 + np.exp(-logits))).astype(np.float32)}


def log_likelihood(theta, row):
    logit = jnp.dot(row["x"], theta)
    return row["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(theta):
    return -0.5 * jnp.sum((theta / PRIOR_SCALE) ** 2)


def model(x, y, subsample_size=None):
    theta = numpyro.sample("theta", dist.Normal(0.0, PRIOR_SCALE).expand([x.shape[1]]).to_event(1))
    with numpyro.plate("rows", x.shape[0], subsample_size=subsample_size):
        x, y = (numpyro.subsample(values, event_dim=k) for values, k in ((x, 1), (y, 0)))
        numpyro.sample("y", dist.Bernoulli(logits=x @ theta), obs=y)


def effective(positions: Any) -> float:
    """The least effective sample size over the components of (chains, draws, dimension)."""
    return float(min(arviz_stats.ess(positions[:, :, i]) for i in range(positions.shape[2])))


def effective_task(name: str, run: Any) -> Task:
    """``run()`` returns positions and the seconds that they took; the unit is one effective draw."""

    def measure() -> float:
        positions, seconds = run()
        return seconds / effective(np.asarray(positions)) * UNITS

    return Task(name, UNITS, measure)


def whole_task(name: str, run: Any) -> Task:
    """``run()`` returns seconds of set-up, of sampling, and the positions: the time to WHOLE effective draws."""

    def measure() -> float:
        jax.clear_caches()
        set_up, seconds, positions = run()
        return set_up + seconds / effective(np.asarray(positions)) * WHOLE

    return Task(name, WHOLE, measure)


@functools.lru_cache(maxsize=2)
def fitted(rows: int, dimension: int, count: int | None = None):
    data = logistic_data(rows, dimension)
    return ls.subsampled(log_prior, log_likelihood, data, count, initial=np.zeros(dimension))


def sampled(kernel, draws: int = DRAWS, chains: int = CHAINS):
    began = time.perf_counter()
    run = ls.sample(kernel, kernel.proposal.mean, draws=draws, chains=chains, progress=False)
    return run.positions, time.perf_counter() - began


def ours(rows: int, dimension: int) -> Builder:
    return lambda updates: effective_task("lockstep", lambda: sampled(fitted(rows, dimension)))


def ours_whole(rows: int, dimension: int) -> Builder:
    def run():
        data, began = logistic_data(rows, dimension), time.perf_counter()
        kernel = ls.subsampled(log_prior, log_likelihood, data, initial=np.zeros(dimension))
        # One call that makes about as many effective draws as are wanted: all that it compiles counts.
        positions, seconds = sampled(kernel, draws=21 * WHOLE // (20 * CHAINS))
        return time.perf_counter() - began - seconds, seconds, positions

    return lambda updates: whole_task("lockstep", run)


def set_up(rows: int, dimension: int, is_compiled: bool) -> Builder:
    """`ls.subsampled` until it can be sampled from, with all that it compiles or without."""

    def run():
        if not is_compiled:
            jax.clear_caches()
        return ls.subsampled(log_prior, log_likelihood, logistic_data(rows, dimension), initial=np.zeros(dimension))

    return lambda updates: timed("lockstep", 1, run)


def newton(rows: int, dimension: int) -> Builder:
    """The maximum alone, by Newton's method on all rows from the same start, as NumPy has it in three lines."""

    def run():
        data, theta = logistic_data(rows, dimension), np.zeros(dimension)
        x = data["x"].astype(float)
        for _ in range(20):
            p = 1 / (1 + np.exp(-(x @ theta)))
            gradient = x.T @ (data["y"] - p) - theta / PRIOR_SCALE**2
            precision = x.T @ (x * (p * (1 - p))[:, None]) + np.eye(dimension) / PRIOR_SCALE**2
            step = np.linalg.solve(precision, gradient)
            theta = theta + step
            if np.sqrt(step @ precision @ step) < 0.05:  # posterior standard deviations, as ours
                return theta
        raise RuntimeError("Newton's method has not arrived")

    return lambda updates: timed("NumPy, Newton", 1, run)


def tuna(rows: int, dimension: int) -> Builder:
    def build(updates: int) -> Task:
        bound = ls.subsampling.logistic(lambda row: row["x"])
        data = logistic_data(rows, dimension)
        kernel = ls.tunamh(log_prior, log_likelihood, data, bound, initial=np.zeros(dimension))
        return effective_task("lockstep, TunaMH", lambda: sampled(kernel, DRAWS // 16))

    return build


def update_time(rows: int, dimension: int, count: int, name: str) -> Builder:
    """The time of an update, whatever it is worth, without that of finding where chains begin."""

    def build(updates: int) -> Task:
        kernel = fitted(rows, dimension, count)
        draws = updates // CHAINS

        def measure() -> float:
            return ls.sample(kernel, kernel.proposal.mean, draws=draws, chains=CHAINS, progress=False).seconds

        return Task(name, draws * CHAINS, measure)

    return build


# --- peers -----------------------------------------------------------------------------------------------------------
def mcmc_run(kernel, warmup: int, draws: int, arguments: tuple[Any, ...]):
    """Seconds of compilation and warm-up, seconds of sampling, and the draws, of one chain.

    `MCMC.run` compiles anew at each call; the same steps in a loop that is compiled before are the faster peer.
    """
    began = time.perf_counter()
    mcmc = MCMC(kernel, num_warmup=warmup, num_samples=draws, progress_bar=False)
    mcmc.warmup(jr.key(0), *arguments)

    def one(state, _):
        state = kernel.sample(state, arguments, {})
        return state, getattr(state, "hmc_state", state).z["theta"]

    loop = jax.jit(lambda state: jax.lax.scan(one, state, length=draws)[1])
    compiled = loop.lower(mcmc.post_warmup_state).compile()
    warm = time.perf_counter()
    positions = np.asarray(compiled(mcmc.post_warmup_state))
    return warm - began, time.perf_counter() - warm, positions[None]


def at_mode(rows: int, dimension: int) -> dict[str, Any]:
    """Our mode, which peers get for nothing."""
    return {"theta": jnp.asarray(fitted(rows, dimension).proposal.mean, jnp.float32)}


def nuts(rows: int, dimension: int, warmup: int = 100, draws: int = 60, is_whole: bool = False) -> Builder:
    """On all rows, begun at our mode."""

    def run():
        data, start = logistic_data(rows, dimension), init_to_value(values=at_mode(rows, dimension))
        arguments = (jnp.asarray(data["x"]), jnp.asarray(data["y"]))
        return mcmc_run(NUTS(model, init_strategy=start), warmup, draws, arguments)

    return peer("NumPyro NUTS", run, is_whole)


def hmcecs(rows: int, dimension: int, warmup: int = 300, draws: int = 1000, is_whole: bool = False) -> Builder:
    """With its Taylor proxy at our mode, begun there."""

    def run():
        data, start = logistic_data(rows, dimension), at_mode(rows, dimension)
        inner = NUTS(model, init_strategy=init_to_value(values=start))
        kernel = HMCECS(inner, num_blocks=10, proxy=HMCECS.taylor_proxy(start))
        return mcmc_run(kernel, warmup, draws, (jnp.asarray(data["x"]), jnp.asarray(data["y"]), 100))

    return peer("NumPyro HMCECS", run, is_whole)


def random_walk(rows: int, dimension: int, draws: int = 1500, is_whole: bool = False) -> Builder:
    """BlackJAX's random walk on all rows, at our mode and with our covariance, which are given to it for nothing."""

    def run():
        data = {name: jnp.asarray(values) for name, values in logistic_data(rows, dimension).items()}
        proposal = fitted(rows, dimension).proposal

        def log_density(theta, data):
            logits = data["x"] @ theta
            return jnp.sum(data["y"] * logits - jnp.logaddexp(0.0, logits)) + log_prior(theta)

        @functools.partial(jax.jit, static_argnames="draws")
        def chain(key, start, data, draws):
            step = normal(jnp.asarray(2.38 / np.sqrt(dimension) * proposal.scale, jnp.float32))
            algorithm = blackjax.additive_step_random_walk(lambda theta: log_density(theta, data), step)

            def one(state, key):
                state, _ = algorithm.step(key, state)
                return state, state.position

            return jax.lax.scan(one, algorithm.init(start), jr.split(key, draws))[1]

        start = jnp.asarray(proposal.mean, jnp.float32)
        began = time.perf_counter()
        jax.block_until_ready(chain(jr.key(0), start, data, draws))
        first = time.perf_counter()
        positions = np.asarray(chain(jr.key(1), start, data, draws))
        seconds = time.perf_counter() - first
        return first - began - seconds, seconds, positions[None]

    return peer("BlackJAX random walk", run, is_whole)


def peer(name: str, run: Any, is_whole: bool) -> Builder:
    if is_whole:
        return lambda updates: whole_task(name, run)
    return lambda updates: effective_task(name, lambda: run()[:0:-1])
