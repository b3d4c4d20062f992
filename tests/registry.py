"""Every kernel on one finite space: its target, the finite law of its noise, and whether it claims to be exact.

The laws are closed under the involutions, so that exact kernels are exact to rounding; the compiled kernels draw from
the very same laws.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import stats

import lockstep as ls
from lockstep.check import Law, product
from lockstep.ratios.randomizations import AuxiliaryData
from lockstep.ratios.tuna import Arrivals, Process
from lockstep.state_space.filter import FilterNoise

LOG_PI = np.array([0.0, -0.7, 0.4, -1.5, 0.9])
STATES = np.arange(5)
SYMMETRIC = (np.ones((5, 5)) - np.eye(5)) / 4
HASTINGS = np.array(
    [
        [0.10, 0.50, 0.20, 0.15, 0.05],
        [0.30, 0.00, 0.30, 0.20, 0.20],
        [0.25, 0.05, 0.40, 0.10, 0.20],
        [0.05, 0.60, 0.15, 0.10, 0.10],
        [0.20, 0.20, 0.20, 0.20, 0.20],
    ]
)
PROPOSALS = {"symmetric": ls.Finite(SYMMETRIC), "hastings": ls.Finite(HASTINGS)}


@dataclass(frozen=True)
class Case:
    """A kernel to be made with a proposal, the law of its ratio's noise, and what to expect of it."""

    name: str
    make: Callable[[Any], Any]
    law: Any
    log_target: Any = field(default_factory=lambda: LOG_PI)
    is_exact: bool = True
    is_reversible: bool = True


def log_pi(state):
    return jnp.asarray(LOG_PI)[state]


def difference(position, candidate):
    return log_pi(candidate) - log_pi(position)


def noisy(noise, position, candidate):
    return difference(position, candidate) + noise


def draw_from(law):
    """``draw(key, count)`` for a law of numbers."""

    def draw(key, count):
        return jr.choice(key, jnp.asarray(law.values), (count,), p=jnp.asarray(law.weights))

    return draw


def draw_one(law):
    """``draw(key)`` for a law of numbers or vectors."""

    def draw(key):
        return jr.choice(key, jnp.asarray(law.values), p=jnp.asarray(law.weights))

    return draw


def single(law):
    """The law of one sample as the noise of an estimator with count=1."""
    return Law(np.asarray(law.values)[:, None], law.weights)


def normal_law(variance, step=0.05, reach=9.0):
    """N(0, variance) on a grid that x -> variance - x maps to itself."""
    spread = np.sqrt(variance)
    half = int(np.ceil(reach / step))
    x = variance / 2 + spread * step * np.arange(-half, half + 1)
    weights = np.exp(-(x**2) / (2 * variance))
    return Law(x, weights / weights.sum())


NO_NOISE = Law((), np.ones(1))

# --- penalty ---------------------------------------------------------------------------------------------------------
VARIANCE = 0.8
NORMAL = normal_law(VARIANCE)


def estimator(law=NORMAL, sample=noisy):
    return ls.estimators.mean(sample, count=1, draw=draw_from(law))


def penalty(proposal, variance=VARIANCE):
    return ls.penalty(ls.estimators.known_variance(estimator(), variance), proposal)


def penalty_density(involution=None):
    return ls.Density(
        sample=lambda noise, position, candidate: noise,
        log_density=lambda x, position, candidate: -(x**2) / (2 * VARIANCE),
        involution=ls.Reflection(VARIANCE) if involution is None else involution,
        draw=draw_one(NORMAL),
    )


# A variance that depends on the pair: one noise for each of two variances.
OTHER_VARIANCE = 0.3
TWO_NORMALS = product(normal_law(VARIANCE, 0.1), normal_law(OTHER_VARIANCE, 0.1))


def draw_two(key, count):
    keys = jr.split(key)
    return tuple(draw_from(normal_law(v, 0.1))(k, count) for v, k in zip((VARIANCE, OTHER_VARIANCE), keys, strict=True))


def penalty_of_pair(proposal, is_first):
    """Penalty whose variance is the first one where ``is_first(position, candidate)``, else the second."""

    def sample(noise, position, candidate):
        return difference(position, candidate) + jnp.where(is_first(position, candidate), *noise)

    def variance(position, candidate):
        return jnp.where(is_first(position, candidate), VARIANCE, OTHER_VARIANCE)

    inner = ls.estimators.mean(sample, count=1, draw=draw_two)
    return ls.penalty(ls.estimators.known_variance(inner, variance), proposal)


TWO_OF_ONE = Law(tuple(v[:, None] for v in TWO_NORMALS.values), TWO_NORMALS.weights)

# --- randomized ------------------------------------------------------------------------------------------------------
GRID = 0.2 * np.arange(-60, 61)  # differences of log pi are multiples of 0.1, so x = D + z stays on one grid
TEMPERING_WEIGHTS = np.exp(-(GRID**2) / 2)
TEMPERING = Law(GRID, TEMPERING_WEIGHTS / TEMPERING_WEIGHTS.sum())


def tempering(proposal):
    density = ls.tempering(log_pi)
    return ls.randomized(
        log_pi, proposal, ls.Density(density.sample, density.log_density, ls.Identity(), draw_one(TEMPERING))
    )


LOG_X = 0.1 * np.arange(-120, 121)


def log_lognormal(x, position=None, candidate=None):
    return -((jnp.log(x) - 0.6) ** 2) / 2 - jnp.log(x)


MOBIUS_WEIGHTS = np.exp(-((LOG_X - 0.6) ** 2) / 2)  # mass at e^y: density times e^y
MOBIUS = Law(np.exp(LOG_X), MOBIUS_WEIGHTS / MOBIUS_WEIGHTS.sum())


def lognormal_density(involution):
    return ls.Density(lambda noise, position, candidate: noise, log_lognormal, involution, draw_one(MOBIUS))


PLANE = np.stack(np.meshgrid(0.4 * np.arange(-24, 25), 0.4 * np.arange(-24, 25), indexing="ij"), axis=-1).reshape(-1, 2)


def log_plane(x, position=None, candidate=None):
    return -(x[0] ** 2) / 2 - (x[1] - 0.8) ** 2 / (2 * 1.3)


PLANE_WEIGHTS = np.exp(-(PLANE[:, 0] ** 2) / 2 - (PLANE[:, 1] - 0.8) ** 2 / (2 * 1.3))
PLANE_LAW = Law(PLANE, PLANE_WEIGHTS / PLANE_WEIGHTS.sum())


def swapped(proposal):
    density = ls.Density(lambda noise, position, candidate: noise, log_plane, lambda x: x[::-1], draw_one(PLANE_LAW))
    return ls.randomized(log_pi, proposal, density)


# The universal rule with normal errors of known variance: u1 ~ N(0, s), u2 ~ N(s, s), both reflected.
TWO_ERRORS = product(normal_law(VARIANCE, 0.1), normal_law(VARIANCE, 0.1))
TWO_ERRORS = Law(np.stack([TWO_ERRORS.values[0], VARIANCE - TWO_ERRORS.values[1]], axis=-1), TWO_ERRORS.weights)


def universal_normal(proposal):
    density = ls.Density(
        sample=lambda noise, position, candidate: noise,
        log_density=lambda u, position, candidate: -(u[0] ** 2 + (u[1] - VARIANCE) ** 2) / (2 * VARIANCE),
        involution=ls.Reflection(VARIANCE),
        draw=draw_one(TWO_ERRORS),
    )
    return ls.randomized(log_pi, proposal, density)


# --- universal -------------------------------------------------------------------------------------------------------
BOUNDED = Law(np.array([-0.45, 0.1, 0.3, 0.5]), np.array([0.3, 0.2, 0.4, 0.1]))


def universal(proposal):
    return ls.universal(estimator(BOUNDED), 0.5, proposal)


# --- doubly intractable: five parameters, data in 0..5 ---------------------------------------------------------------
DATUM = np.array(2)
ENERGY = np.array([[0.0, 1.2, 0.3, -0.5, 0.8, 0.1]]) * np.array([[0.2], [1.0], [-0.6], [1.7], [0.5]])
LIKELIHOOD = np.exp(ENERGY) / np.exp(ENERGY).sum(axis=1, keepdims=True)
LOG_POSTERIOR = LOG_PI + np.log(LIKELIHOOD[:, 2])
_BREAKS = np.unique(np.concatenate([[0.0], np.cumsum(LIKELIHOOD, axis=1).ravel()]).clip(0, 1).round(15))
_BREAKS[-1] = 1.0
UNIFORM = Law((_BREAKS[1:] + _BREAKS[:-1]) / 2, np.diff(_BREAKS))


def log_likelihood(theta, x):
    return jnp.asarray(ENERGY)[theta, x]


def simulate(noise, theta):
    return jnp.sum(jnp.cumsum(jnp.asarray(LIKELIHOOD)[theta]) < noise).clip(0, 5)


def draw_uniform(key):
    return jr.uniform(key)


def exchange(proposal):
    return ls.exchange(log_pi, log_likelihood, simulate, DATUM, proposal, draw=draw_uniform)


COIN = Law(np.array([True, False]), np.array([0.5, 0.5]))
TWO_SETS = product(UNIFORM, UNIFORM)
TWO_SETS = Law(np.stack(TWO_SETS.values, axis=-1), TWO_SETS.weights)
AVERAGED_LAW = product(NO_NOISE, product(COIN, TWO_SETS))


def averaged_exchange(proposal):
    return ls.averaged_exchange(log_pi, log_likelihood, simulate, DATUM, proposal, 2, draw=draw_uniform)


def auxiliary_variable(proposal):
    def auxiliary(x):
        return log_likelihood(2, x)

    return ls.auxiliary_variable(log_pi, log_likelihood, simulate, auxiliary, DATUM, proposal, draw=draw_uniform)


# --- pseudo-marginal -------------------------------------------------------------------------------------------------
WEIGHTS = Law(np.log([0.25, 1.0, 2.5]), np.array([0.4, 0.4, 0.2]))  # e^noise has mean 1


def log_estimate(noise, state):
    return log_pi(state) + noise


def pseudo_marginal(proposal):
    return ls.pseudo_marginal(log_estimate, proposal, draw=draw_one(WEIGHTS))


def mixed(proposal):
    """A randomized ratio over a pseudo-marginal base (Lee et al.), from parts alone: exchange with a noisy prior."""

    def log_noisy_posterior(noise, theta):
        return log_pi(theta) + noise + log_likelihood(theta, DATUM)

    base = ls.pseudo_marginal(log_noisy_posterior, proposal, draw=draw_one(WEIGHTS)).ratio
    whole = exchange(proposal).ratio.randomization
    assert isinstance(whole, AuxiliaryData)
    return ls.MetropolisHastings(proposal, ls.Randomized(base, whole))


# --- screened by a surrogate -----------------------------------------------------------------------------------------
LOG_SURROGATE = np.array([0.3, -0.4, 0.1, -1.0, 0.25])


def log_surrogate(state):
    return jnp.asarray(LOG_SURROGATE)[state]


# A prior, and another order of the states, which a test puts around every ratio.
LOG_PRIOR, ORDER = np.array([0.3, -1.1, 0.8, 0.0, -0.4]), np.array([2, 0, 4, 1, 3])


def screen_law():
    """The screen's variable in the cells that all log ratios of the surrogate leave, alone and with a prior."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_q = [np.log(matrix.T / matrix) for matrix in (SYMMETRIC, HASTINGS)]
    screens = LOG_SURROGATE, LOG_SURROGATE[ORDER] + LOG_PRIOR
    ratios = np.concatenate([(q + screen - screen[:, None]).ravel() for q in log_q for screen in screens])
    breaks = np.unique(np.concatenate([[0.0], np.exp(np.minimum(ratios[np.isfinite(ratios)], 0)).round(15), [1.0]]))
    return Law(np.log((breaks[1:] + breaks[:-1]) / 2), np.diff(breaks))


SCREEN = screen_law()


def screened(make):
    return lambda proposal: ls.screened(make(proposal), log_surrogate)


# --- TunaMH: two rows whose log likelihoods take two values each, so that the bounds are tight ------------------------
TUNA_SIZES = np.array([0.12, 0.08])
TUNA_ROWS = {"value": TUNA_SIZES[:, None] * np.array([[0, 1, 0, 1, 1], [0, 0, 1, 1, 0]]), "size": TUNA_SIZES}
LOG_TUNA = LOG_PI + TUNA_ROWS["value"].sum(axis=0)
TUNA_EXTRA, TUNA_TOTAL = 0.1, TUNA_SIZES.sum()  # λ and CM


def tuna(proposal):
    bound = ls.subsampling.Bound(lambda row: row["size"], lambda position, candidate: 1.0)
    chi = TUNA_EXTRA / TUNA_TOTAL**2
    return ls.tunamh(log_pi, lambda state, row: row["value"][state], TUNA_ROWS, bound, proposal, None, chi=chi)


def arrivals_law(most=11):
    """All that B arrivals can be, up to their order: rows, and where their keeping lies among its three thresholds."""
    rate = TUNA_EXTRA + TUNA_TOTAL
    keeps = np.array([0.0, TUNA_EXTRA, TUNA_EXTRA + TUNA_TOTAL / 2, rate]) / rate
    kinds = [(row, cell) for row in range(2) for cell in range(3)]
    chances = np.array([TUNA_SIZES[row] / TUNA_TOTAL * np.diff(keeps)[cell] for row, cell in kinds])
    gaps, rows, levels, weights = [], [], [], []
    for number in range(most + 1):
        for chosen in itertools.combinations_with_replacement(range(len(kinds)), number):
            counts = np.bincount(chosen, minlength=len(kinds)) if chosen else np.zeros(len(kinds), int)
            orders = math.factorial(number) / math.prod(math.factorial(count) for count in counts)
            weights.append(stats.poisson.pmf(number, rate) * orders * np.prod(chances**counts))
            gaps.append([rate / (number + 1)] * number + [np.inf] * (most - number + 1))
            rows.append([kinds[kind][0] for kind in chosen] + [0] * (most - number + 1))
            middles = (keeps[1:] + keeps[:-1]) / 2
            levels.append([middles[kinds[kind][1]] for kind in chosen] + [0.0] * (most - number + 1))
    return Law(Process(Arrivals(*map(np.array, (gaps, rows, levels))), None), np.array(weights) / np.sum(weights))


TUNA_LAW = product(NO_NOISE, arrivals_law())


def poisson_product(proposal, factor=1.0):
    bound = ls.subsampling.Bound(lambda row: row["size"], lambda position, candidate: factor)
    return ls.poisson_product(
        log_pi, lambda state, row: row["value"][state], TUNA_ROWS, bound, proposal, None, np.array(0)
    )


def poisson_law(most=12):
    """How often each row arrives until the time 2CM."""
    rate = 2 * TUNA_TOTAL
    gaps, rows, weights = [], [], []
    for number in range(most + 1):
        for second in range(number + 1):
            chance = stats.binom.pmf(second, number, TUNA_SIZES[1] / TUNA_TOTAL)
            weights.append(stats.poisson.pmf(number, rate) * chance)
            gaps.append([rate / (number + 1)] * number + [np.inf] * (most - number + 1))
            rows.append([0] * (number - second) + [1] * second + [0] * (most - number + 1))
    arrivals = Arrivals(np.array(gaps), np.array(rows), np.zeros(np.shape(gaps)))
    return Law(Process(arrivals, None), np.array(weights) / np.sum(weights))


POISSON_LAW = poisson_law()

# A particle filter of two observations with two particles that are never resampled; the noise is one of three points.
STEPS = np.array([-0.8, 0.1, 1.0])
SERIES = np.array([0.4, -0.3])


def log_seen(theta, state, y, t):
    return -0.5 * (y - state * (0.4 + 0.2 * theta)) ** 2


def particle_marginal(proposal):
    model = ls.models.StateSpace(
        initial=lambda z, theta: z,
        transition=lambda z, x, theta, t: 0.5 * x + z,
        log_observation=log_seen,
        draw=lambda key, count: jr.choice(key, jnp.asarray(STEPS), (count,)),
    )
    return ls.particle_marginal(log_pi, model, SERIES, proposal, particles=2, threshold=1e-3)


FILTER_POINTS = np.array(list(itertools.product(STEPS, repeat=4))).reshape(-1, 2, 2)
FILTER_LAW = Law(
    FilterNoise(FILTER_POINTS, np.zeros((len(FILTER_POINTS), 2, 1)), np.zeros(len(FILTER_POINTS))),
    np.full(len(FILTER_POINTS), 1 / len(FILTER_POINTS)),
)
HIDDEN = np.array([(a, 0.5 * a + b) for a, b in itertools.product(STEPS, repeat=2)])  # all paths, equally probable
LOG_FILTER = LOG_PI + np.log([np.mean(np.exp(log_seen(theta, HIDDEN, SERIES, None).sum(axis=1))) for theta in STATES])

CASES = [
    Case("particle marginal", particle_marginal, FILTER_LAW, LOG_FILTER),
    Case("standard", lambda proposal: ls.standard(log_pi, proposal), None),
    Case("penalty", penalty, single(NORMAL)),
    Case("penalty, variance of the pair", lambda p: penalty_of_pair(p, lambda a, b: (a + b) % 2 == 0), TWO_OF_ONE),
    Case(
        "corrected, known variance",
        lambda proposal: ls.corrected(ls.estimators.known_variance(estimator(), VARIANCE), proposal),
        single(NORMAL),
    ),
    Case(
        "penalty as randomized",
        lambda proposal: ls.randomized(log_pi, proposal, penalty_density()),
        product(NO_NOISE, NORMAL),
    ),
    Case("tempering", tempering, product(NO_NOISE, TEMPERING)),
    Case(
        "Möbius",
        lambda proposal: ls.randomized(log_pi, proposal, lognormal_density(ls.Mobius(0.0, 1.0, 1.0))),
        product(NO_NOISE, MOBIUS),
    ),
    Case(
        "own involution, autodiff",
        lambda proposal: ls.randomized(log_pi, proposal, lognormal_density(lambda x: 1 / x)),
        product(NO_NOISE, MOBIUS),
    ),
    Case("vector x, swapped", swapped, product(NO_NOISE, PLANE_LAW)),
    Case("universal, normal errors of known variance", universal_normal, product(NO_NOISE, TWO_ERRORS)),
    Case("universal", universal, product(single(BOUNDED), single(BOUNDED))),
    Case(
        "penalty over universal",
        lambda proposal: ls.MetropolisHastings(proposal, ls.Randomized(universal(proposal).ratio, penalty_density())),
        product(product(single(BOUNDED), single(BOUNDED)), normal_law(VARIANCE, 0.2)),
    ),
    Case("exchange", exchange, product(NO_NOISE, UNIFORM), LOG_POSTERIOR),
    Case("averaged exchange", averaged_exchange, AVERAGED_LAW, LOG_POSTERIOR),
    Case("auxiliary variable", auxiliary_variable, UNIFORM, LOG_POSTERIOR),
    Case("TunaMH", tuna, TUNA_LAW, LOG_TUNA),
    Case("Poisson product", poisson_product, POISSON_LAW, LOG_TUNA),
    Case("pseudo-marginal", pseudo_marginal, WEIGHTS),
    Case("mixed: exchange over pseudo-marginal", mixed, product(WEIGHTS, UNIFORM), LOG_POSTERIOR),
    Case("screened", screened(lambda proposal: ls.standard(log_pi, proposal)), product(SCREEN, NO_NOISE)),
    Case("screened pseudo-marginal", screened(pseudo_marginal), product(SCREEN, WEIGHTS)),
    Case("screened exchange", screened(exchange), product(SCREEN, product(NO_NOISE, UNIFORM)), LOG_POSTERIOR),
    Case("screened universal", screened(universal), product(SCREEN, product(single(BOUNDED), single(BOUNDED)))),
    Case(
        "cycle",
        lambda proposal: ls.Cycle([ls.standard(log_pi, proposal), penalty(ls.Finite(HASTINGS))]),
        [None, single(NORMAL)],
        is_reversible=False,
    ),
    Case(
        "mixture",
        lambda proposal: ls.Mixture([ls.standard(log_pi, proposal), penalty(ls.Finite(HASTINGS))], [0.3, 0.7]),
        [None, single(NORMAL)],
    ),
    Case("naive", lambda proposal: ls.naive(estimator(), proposal), single(NORMAL), is_exact=False),
]


# --- deliberately wrong variants: the tests that pass the exact kernels must reject each of these --------------------
@ls.part
class AtPosition:
    """The exchange algorithm with its data simulated at θ instead of θ'."""

    auxiliary: AuxiliaryData

    def noise(self, key, position, shape=()):
        return self.auxiliary.noise(key, position, shape)

    def sample(self, noise, position, candidate):
        return self.auxiliary.sample(noise, candidate, position)

    def log_weight(self, x, position, candidate):
        return self.auxiliary.log_weight(x, position, candidate)


def exchange_at_position(proposal):
    right = exchange(proposal).ratio
    return ls.MetropolisHastings(proposal, ls.Randomized(right.base, AtPosition(right.randomization)))


@ls.part
class WrongWay:
    """An average over data sets whose coin always falls on one side, or that are drawn as if it had on the other."""

    right: Any
    drawn: Any = ls.static()
    weighed: Any = ls.static()

    def noise(self, key, position, shape=()):
        return self.right.noise(key, position, shape)

    def sample(self, noise, position, candidate):
        is_all, noises = noise
        x = self.right.sample((self.drawn(is_all), noises), position, candidate)
        return x._replace(is_all=self.weighed(is_all))

    def log_weight(self, x, position, candidate):
        return self.right.log_weight(x, position, candidate)


def averaged_wrongly(drawn, weighed):
    def make(proposal):
        right = averaged_exchange(proposal).ratio
        return ls.MetropolisHastings(proposal, ls.Randomized(right.base, WrongWay(right.randomization, drawn, weighed)))

    return make


@ls.part
class WrongScreen:
    """A screen with other log ratios: its own, and the log proposal ratio as the ratio behind it is told."""

    right: Any
    seen: Any = ls.static()

    def noise(self, key, position, shape=()):
        return self.right.noise(key, position, shape)

    def init(self, noise, position):
        return self.right.init(noise, position)

    is_memory_random = False

    def __call__(self, noise, position, memory, candidate, log_proposal_ratio):
        surrogate = self.right.surrogate(candidate) - self.right.surrogate(position)
        log_screen, log_seen = self.seen(log_proposal_ratio, surrogate)
        log_ratio, *_ = self.right.base(noise[1], position, memory.memory, candidate, log_seen)
        return jnp.where(noise[0] <= log_screen, log_ratio, -jnp.inf), memory


def screened_wrongly(make, seen):
    def made(proposal):
        right = screened(make)(proposal)
        return ls.MetropolisHastings(proposal, WrongScreen(right.ratio, seen))

    return made


@ls.part
class WrongJacobian:
    """1/x, with a Jacobian that was forgotten."""

    def __call__(self, x, position, candidate):
        return 1 / x, 0.0


@ls.part
class Outside:
    """The universal rule with the log proposal ratio outside the minimum."""

    right: Any

    def noise(self, key, position, shape=()):
        return self.right.noise(key, position, shape)

    def init(self, noise, position):
        return ()

    is_memory_random = False

    def __call__(self, noise, position, memory, candidate, log_proposal_ratio):
        log_ratio, memory, *_ = self.right(noise, position, memory, candidate, 0.0)
        return log_ratio + log_proposal_ratio, memory


@ls.part
class Spoiled:
    """TunaMH with something wrong: its arrivals, or the direction of its weight."""

    right: Any
    spoil: Any = ls.static()
    is_swapped: bool = ls.static(default=False)

    def noise(self, key, position, shape=()):
        return self.right.noise(key, position, shape)

    def sample(self, noise, position, candidate):
        return self.right.sample(self.spoil(noise), position, candidate)

    def log_weight(self, x, position, candidate):
        there, back = (candidate, position) if self.is_swapped else (position, candidate)
        return self.right.log_weight(x, there, back)


def spoiled_tuna(spoil, is_swapped=False):
    def make(proposal):
        right = tuna(proposal).ratio
        return ls.MetropolisHastings(
            proposal, ls.Randomized(right.base, Spoiled(right.randomization, spoil, is_swapped))
        )

    return make


def cut_off(process):
    gaps = jnp.where(jnp.arange(process.first.gaps.shape[-1]) < 1, process.first.gaps, jnp.inf)
    return Process(process.first._replace(gaps=gaps), None)


def keep_all(process):
    return process._replace(first=process.first._replace(keeps=0 * process.first.keeps))


def wrong_rows(process):
    """As if the other row were never drawn."""
    return process._replace(first=process.first._replace(rows=0 * process.first.rows))


WRONG = [
    Case("TunaMH, at most one row", spoiled_tuna(cut_off), TUNA_LAW, LOG_TUNA),
    Case("TunaMH, all rows kept", spoiled_tuna(keep_all), TUNA_LAW, LOG_TUNA),
    Case("TunaMH, always the first row", spoiled_tuna(wrong_rows), TUNA_LAW, LOG_TUNA),
    Case("TunaMH, weight of the way back", spoiled_tuna(lambda x: x, is_swapped=True), TUNA_LAW, LOG_TUNA),
    Case("no penalty", lambda proposal: ls.naive(estimator(), proposal), single(NORMAL)),
    Case("penalty × 0.99", lambda proposal: penalty(proposal, 0.99 * VARIANCE), single(NORMAL)),
    Case("exchange with the draw at θ", exchange_at_position, product(NO_NOISE, UNIFORM), LOG_POSTERIOR),
    Case(
        "averaged exchange, always all at θ'",
        averaged_wrongly(jnp.ones_like, jnp.ones_like),
        AVERAGED_LAW,
        LOG_POSTERIOR,
    ),
    Case(
        "averaged exchange, always one at θ'",
        averaged_wrongly(jnp.zeros_like, jnp.zeros_like),
        AVERAGED_LAW,
        LOG_POSTERIOR,
    ),
    Case(
        "averaged exchange, all at θ' both ways",
        averaged_wrongly(jnp.ones_like, lambda coin: coin),
        AVERAGED_LAW,
        LOG_POSTERIOR,
    ),
    Case(
        "screened without the correction",
        screened_wrongly(lambda proposal: ls.standard(log_pi, proposal), lambda log_q, s: (log_q + s, log_q)),
        product(SCREEN, NO_NOISE),
    ),
    Case(
        "screened exchange without the correction",
        screened_wrongly(exchange, lambda log_q, s: (log_q + s, log_q)),
        product(SCREEN, product(NO_NOISE, UNIFORM)),
        LOG_POSTERIOR,
    ),
    Case(
        "screened, corrected the wrong way",
        screened_wrongly(lambda proposal: ls.standard(log_pi, proposal), lambda log_q, s: (log_q + s, s)),
        product(SCREEN, NO_NOISE),
    ),
    Case("variance by direction", lambda p: penalty_of_pair(p, lambda a, b: a < b), TWO_OF_ONE),
    Case(
        "no involution",
        lambda proposal: ls.randomized(log_pi, proposal, penalty_density(lambda x: VARIANCE - 0.9 * x)),
        product(NO_NOISE, NORMAL),
    ),
    Case(
        "wrong Jacobian",
        lambda proposal: ls.randomized(log_pi, proposal, lognormal_density(WrongJacobian())),
        product(NO_NOISE, MOBIUS),
    ),
    Case(
        "universal, bound too low",
        lambda proposal: ls.universal(estimator(BOUNDED), 0.2, proposal),
        product(single(BOUNDED), single(BOUNDED)),
    ),
]
WRONG_HASTINGS = [
    Case(
        "screened with a log_q that counts twice",
        screened_wrongly(lambda proposal: ls.standard(log_pi, proposal), lambda log_q, s: (log_q + s, log_q - s)),
        product(SCREEN, NO_NOISE),
    ),
    Case(
        "universal, log_q outside the minimum",
        lambda proposal: ls.MetropolisHastings(proposal, Outside(universal(proposal).ratio)),
        product(single(BOUNDED), single(BOUNDED)),
    ),
]
