"""Particle filters: stochastic volatility, T = 200 with 200 particles, and binomial leaps of an epidemic."""

import contextlib
import functools
import math
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import jax.random as jr
import numba
import numpy as np

import lockstep as ls
from benchmarks.harness import Builder, Row, Task, timed
from lockstep.core.precision import double_precision
from lockstep.state_space.filter import require_filter
from lockstep.state_space.series import series

MEAN, PERSISTENCE, SPREAD = -1.0, 0.9, 0.3
LENGTH = PARTICLES = 200
LOG_2PI = math.log(2 * math.pi)

VOLATILITY = ls.models.StateSpace(
    initial=lambda z, theta: MEAN + theta / jnp.sqrt(1 - PERSISTENCE**2) * z,
    transition=lambda z, x, theta, t: MEAN + PERSISTENCE * (x - MEAN) + theta * z,
    log_observation=lambda theta, x, y, t: -0.5 * (x + y * y * jnp.exp(-x) + LOG_2PI),
    draw=lambda key, count: ls.random.normal(key, (count,)),
    observe=lambda key, x, theta, t: jnp.exp(x / 2) * jr.normal(key),
)


@functools.cache
def returns(length: int = LENGTH) -> np.ndarray:
    return VOLATILITY.simulate(jr.key(1), SPREAD, times=length).data


def ours(length: int = LENGTH, particles: int = PARTICLES, is_sorted: bool = False) -> Builder:
    """Filters one after the other, each with noise of its own; a unit is a filter."""

    def build(filters: int) -> Task:
        with double_precision():
            made = require_filter(VOLATILITY, series(returns(length)), particles, "systematic", 1.0, is_sorted)
            one = jax.jit(lambda key: made(made.noise(key), SPREAD)[0].log_likelihood)
            keys = [jr.fold_in(jr.key(2), i) for i in range(filters)]
            one(keys[0])

            def run():
                with double_precision():
                    return [one(key) for key in keys]

        return timed("lockstep", filters, run)

    return build


def with_particles(filters: int) -> Task:
    """The package `particles`: the same filter, resampled at every step."""
    import particles
    from particles import distributions, state_space_models

    class Volatility(state_space_models.StateSpaceModel):
        def PX0(self):
            return distributions.Normal(MEAN, SPREAD / np.sqrt(1 - PERSISTENCE**2))

        def PX(self, t, xp):
            return distributions.Normal(MEAN + PERSISTENCE * (xp - MEAN), SPREAD)

        def PY(self, t, xp, x):
            return distributions.Normal(0.0, np.exp(0.5 * x))

    data = returns()

    def run():
        for _ in range(filters):
            bootstrap = state_space_models.Bootstrap(ssm=Volatility(), data=data)
            particles.SMC(fk=bootstrap, N=PARTICLES, ESSrmin=1.0).run()

    return timed("particles", filters, run)


@numba.njit
def by_hand(data, count, seed):
    """A bootstrap filter with systematic resampling, as a loop."""
    np.random.seed(seed)
    x, w, moved = np.empty(count), np.empty(count), np.empty(count)
    total = 0.0
    for i in range(count):
        x[i] = MEAN + SPREAD / math.sqrt(1 - PERSISTENCE**2) * np.random.normal()
    for t in range(len(data)):
        if t:
            shift, i, cumulative, whole = np.random.random(), 0, w[0], w.sum()
            for j in range(count):
                position = (j + shift) / count * whole
                while cumulative < position and i < count - 1:
                    i += 1
                    cumulative += w[i]
                moved[j] = MEAN + PERSISTENCE * (x[i] - MEAN) + SPREAD * np.random.normal()
            x, moved = moved, x
        highest = -np.inf
        for i in range(count):
            w[i] = -0.5 * (x[i] + data[t] * data[t] * math.exp(-x[i]) + LOG_2PI)
            highest = max(highest, w[i])
        whole = 0.0
        for i in range(count):
            w[i] = math.exp(w[i] - highest)
            whole += w[i]
        total += math.log(whole / count) + highest
    return total


def numba_loop(filters: int) -> Task:
    data = returns()
    return timed("Numba loop", filters, lambda: [by_hand(data, PARTICLES, seed) for seed in range(filters)])


def with_cuthbert(filters: int) -> Task:
    """`cuthbert`, a library of filters in JAX; measured where it is installed."""
    from cuthbert import filter as run_filter
    from cuthbert.smc import particle_filter
    from cuthbertlib.resampling import systematic

    with doubles_everywhere():
        data = jnp.asarray(returns())
        built = particle_filter.build_filter(
            init_sample=lambda key: MEAN + SPREAD / jnp.sqrt(1 - PERSISTENCE**2) * jr.normal(key),
            propagate_sample=lambda key, x, inputs: MEAN + PERSISTENCE * (x - MEAN) + SPREAD * jr.normal(key),
            log_potential=lambda before, x, y: -0.5 * (x + y * y * jnp.exp(-x) + LOG_2PI),
            n_filter_particles=PARTICLES,
            resampling_fn=systematic.resampling,
        )

        @jax.jit
        def one(key):
            start = built.init_prepare(key=jr.fold_in(key, 1))
            return run_filter(built, data, start, key=key).log_normalizing_constant[-1]

        keys = [jr.fold_in(jr.key(2), i) for i in range(filters)]
        jax.block_until_ready(one(keys[0]))

        def run():
            with doubles_everywhere():
                return jax.block_until_ready([one(key) for key in keys])

    return timed("cuthbert", filters, run)


@contextlib.contextmanager
def doubles_everywhere():
    """Double precision in other threads too, which know no scopes: there it resamples, on the host."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


# --- effective draws of particle marginal Metropolis–Hastings ---------------------------------------------------------
STEP = 0.5  # of the random walk of log σ


def effective(draws: np.ndarray) -> float:
    import arviz_stats

    return float(np.min(arviz_stats.ess(np.atleast_2d(draws)[..., None], method="mean")))


def our_chain(draws: int) -> Task:
    log_model = ls.models.StateSpace(
        initial=lambda z, theta: MEAN + jnp.exp(theta) / jnp.sqrt(1 - PERSISTENCE**2) * z,
        transition=lambda z, x, theta, t: MEAN + PERSISTENCE * (x - MEAN) + jnp.exp(theta) * z,
        log_observation=lambda theta, x, y, t: -0.5 * (x + y * y * jnp.exp(-x) + LOG_2PI),
        draw=lambda key, count: ls.random.normal(key, (count,)),
    )
    prior = lambda theta: -0.5 * (theta - math.log(SPREAD)) ** 2  # noqa: E731
    kernel = ls.particle_marginal(prior, log_model, returns(), ls.RandomWalk(STEP), particles=PARTICLES)
    run = functools.partial(ls.sample, kernel, math.log(SPREAD), draws=draws, chains=4, progress=False)
    size = effective(run(seed=1).positions)
    return timed("lockstep", max(1, round(size)), lambda: run(seed=2).positions)


def their_chain(draws: int) -> Task:
    # Version 0.3 calls float by a name that NumPy has no more; without it its chains do not begin.
    vars(np).setdefault("float", float)
    from particles import distributions, mcmc, state_space_models

    class Volatility(state_space_models.StateSpaceModel):
        def PX0(self):
            return distributions.Normal(MEAN, np.exp(self.theta) / np.sqrt(1 - PERSISTENCE**2))

        def PX(self, t, xp):
            return distributions.Normal(MEAN + PERSISTENCE * (xp - MEAN), np.exp(self.theta))

        def PY(self, t, xp, x):
            return distributions.Normal(0.0, np.exp(0.5 * x))

    class Prior(distributions.StructDist):
        def logpdf(self, theta):
            return super().logpdf(theta)[0]  # NumPy takes an array of one number for a number no more

    prior = Prior({"theta": distributions.Normal(math.log(SPREAD), 1.0)})

    def chain():
        one = mcmc.PMMH(
            ssm_cls=Volatility,
            prior=prior,
            data=returns(),
            Nx=PARTICLES,
            niter=draws,
            adaptive=False,
            rw_cov=np.array([[STEP**2]]),
            smc_options={"ESSrmin": 1.0},
        )
        one.run()
        return one.chain.theta["theta"]

    size = effective(chain())
    return timed("particles' PMMH", max(1, round(size)), chain)


# --- binomial and Poisson leaps ---------------------------------------------------------------------------------------
STEPS = 140
LEAPS = 10 * STEPS * PARTICLES


def binomial_leap(uniform, susceptible):
    """Of an epidemic among 763 people."""
    return susceptible - ls.models.leaps.binomial(uniform, susceptible, 0.03)


def binomial_leap_of_numpy(generator, susceptible):
    return susceptible - generator.binomial(susceptible, 0.03)


def large_leap(uniform, size):
    """Of a population of two million, in which about 600,000 change."""
    return 2_000_000 - ls.models.leaps.binomial(uniform, size, 0.3)


def large_leap_of_numpy(generator, size):
    return 2_000_000 - generator.binomial(size, 0.3)


def poisson_leap(uniform, population):
    """Births of a population that returns to 50."""
    return ls.models.leaps.poisson(uniform, 5.0 + 0.9 * population)


def poisson_leap_of_numpy(generator, population):
    return generator.poisson(5.0 + 0.9 * population)


def leaps(draws: int, leap=binomial_leap, start: int = 763) -> Task:
    """Numbers of all particles, step after step."""

    @jax.jit
    def run(key):
        uniforms = jr.uniform(key, (STEPS, PARTICLES))

        def step(state, uniform):
            state = leap(uniform, state)
            return state, state

        return jax.lax.scan(step, jnp.full(PARTICLES, float(start)).astype(int), uniforms)[1]

    times = draws // (STEPS * PARTICLES)
    with double_precision():
        jax.block_until_ready(run(jr.key(0)))

        def all_runs():
            with double_precision():
                return [run(jr.key(seed)) for seed in range(times)]

    return timed("lockstep", times * STEPS * PARTICLES, all_runs)


def leaps_of_numpy(draws: int, leap=binomial_leap_of_numpy, start: int = 763) -> Task:
    generator = np.random.default_rng(0)
    times = draws // (STEPS * PARTICLES)

    def run():
        for _ in range(times):
            state = np.full(PARTICLES, start)
            for _ in range(STEPS):
                state = leap(generator, state)

    return timed("NumPy", times * STEPS * PARTICLES, run)


def row(name: str, measures: str, peer: Builder, at_least: float | None, mine: Builder | None = None) -> Row:
    return Row(name, measures, mine or ours(), (peer,), at_least, updates=20, unit="filter")


def steps(length: int, particles: int) -> Builder:
    """Filters whose unit is one step of one particle."""

    def build(filters: int) -> Task:
        task = ours(length, particles)(filters)
        return Task(f"T = {length:,}, N = {particles:,}", filters * length * particles, task.measure)

    return build


VOLATILE = f"stochastic volatility, T = {LENGTH}, {PARTICLES} particles"
ROWS = [
    row("filter-particles", VOLATILE, with_particles, 20.0),
    row("filter-numba", VOLATILE, numba_loop, 1.2),
    *([row("filter-cuthbert", VOLATILE, with_cuthbert, 3.0)] if find_spec("cuthbert") else []),
    Row("filter-pmmh", f"particle MCMC, {VOLATILE}", our_chain, (their_chain,), 20.0, 300, "effective draw", 3),
    Row("filter-length", "a step of a particle: T = 2,000 against 200", steps(2_000, 200), (steps(200, 200),), 0.8, 5),
    Row(
        "filter-size",
        "a step of a particle: N = 100,000 against 1,000",
        steps(200, 100_000),
        (steps(200, 1_000),),
        0.5,
        2,
    ),
    Row("filter-leaps", "binomial leaps of 200 particles", leaps, (leaps_of_numpy,), 1.0, LEAPS, "draw"),
    Row(
        "filter-leaps-large",
        "binomial leaps of 200 particles, large means",
        functools.partial(leaps, leap=large_leap, start=2_000_000),
        (functools.partial(leaps_of_numpy, leap=large_leap_of_numpy, start=2_000_000),),
        1.0,
        LEAPS,
        "draw",
    ),
    Row(
        "filter-births",
        "Poisson leaps of 200 particles",
        functools.partial(leaps, leap=poisson_leap, start=50),
        (functools.partial(leaps_of_numpy, leap=poisson_leap_of_numpy, start=50),),
        1.0,
        LEAPS,
        "draw",
    ),
]
