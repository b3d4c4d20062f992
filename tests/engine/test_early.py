"""Early rejection: a function may stop where its result is certain to be rejected, and draws stay the same."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies

import lockstep as ls
from lockstep.core.ratio import surely_below
from lockstep.host.limit import limited, stopping_below

WALK = ls.RandomWalk(2.5)
TERMS = np.linspace(0.5, 1.5, 50)


def sum_of_squares(theta):
    return float(np.sum(-0.02 * TERMS * (theta @ theta)))


class Summing:
    """A sum of non-positive terms that stops when it can; it counts its terms, and keeps its limits."""

    def __init__(self):
        self.terms, self.limits = 0, []

    def __call__(self, theta, stop_below):
        self.limits.append(stop_below)
        total = sum_of_squares(theta)
        self.terms += len(TERMS)
        if total < stop_below:
            self.terms -= int(len(TERMS) * (1 - stop_below / total))
            return -np.inf
        return total


def same_draws(kernels, **more):
    arguments = {"draws": 150, "chains": 2, "seed": 1} | more
    return [ls.sample(kernel, np.zeros(2), **arguments) for kernel in kernels]


def test_draws_are_the_same_and_terms_are_saved():
    early = Summing()
    kernels = [ls.standard(ls.blackbox(function), WALK) for function in (sum_of_squares, early)]
    run, stopped = same_draws(kernels)
    assert np.array_equal(run.positions, stopped.positions)
    rejected = ~run.info.is_accepted
    assert rejected.any() and not rejected.all()
    assert np.isneginf(stopped.info.log_ratio[rejected]).all()
    assert np.array_equal(run.info.log_ratio[~rejected], stopped.info.log_ratio[~rejected])
    assert early.limits[:2] == [-np.inf, -np.inf]  # at the starts
    assert early.terms < 0.8 * len(TERMS) * len(early.limits)


def test_pseudo_marginal_correlated_and_hastings():
    def estimate(theta, rng):
        return sum_of_squares(theta) + np.log(np.mean(rng.exponential(size=5)))

    def early(theta, rng, stop_below=-np.inf):
        value = estimate(theta, rng)
        return value if value >= stop_below else -np.inf

    def correlated(noise, theta):
        return sum_of_squares(theta) + np.log(np.mean(np.exp(noise)))

    def early_correlated(noise, theta, stop_below=-np.inf):
        value = correlated(noise, theta)
        return value if value >= stop_below else -np.inf

    def draw(key):
        return jax.random.normal(key, (5,))

    proposal = ls.IndependentNormal(np.ones(2), 2.0)
    for functions, more in (
        ((estimate, early), {}),
        ((correlated, early_correlated), {"correlation": 0.8, "draw": draw}),
    ):
        kernels = [ls.pseudo_marginal(ls.blackbox(f), proposal, **more) for f in functions]
        run, stopped = same_draws(kernels)
        assert np.array_equal(run.positions, stopped.positions)
        assert np.isneginf(stopped.info.log_ratio).mean() > 0.3


def test_one_sample_of_d():
    def sample(rng, position, candidate):
        return sum_of_squares(candidate) - sum_of_squares(position) + rng.normal()

    def early(rng, position, candidate, stop_below=-np.inf):
        value = sample(rng, position, candidate)
        return value if value >= stop_below else -np.inf

    kernels = [ls.naive(ls.estimators.mean(ls.blackbox(f), 1), WALK) for f in (sample, early)]
    run, stopped = same_draws(kernels)
    assert np.array_equal(run.positions, stopped.positions)
    assert np.isneginf(stopped.info.log_ratio).any()
    # Of several samples nothing is certain.
    kernels = [ls.naive(ls.estimators.mean(ls.blackbox(f), 2), WALK) for f in (sample, early)]
    run, stopped = same_draws(kernels)
    assert np.array_equal(run.info.log_ratio, stopped.info.log_ratio)


def test_a_coupling_knows_all_log_ratios():
    early = Summing()
    kernel = ls.standard(ls.blackbox(early), WALK)
    run = ls.sample(ls.Coupled(kernel, kernel), np.zeros(2), draws=50, chains=1, seed=1)
    assert set(early.limits) == {-np.inf}
    assert np.isfinite(run.info.first.log_ratio).all()


def test_in_a_cycle_and_with_errors_that_reject():
    def raising(theta):
        if theta[0] > 4:
            raise ArithmeticError
        return sum_of_squares(theta)

    def early(theta, stop_below=-np.inf):
        value = raising(theta)
        return value if value >= stop_below else -np.inf

    cycles = [
        ls.Cycle([ls.standard(ls.blackbox(f), walk) for walk in (WALK, ls.RandomWalk(0.5))]) for f in (raising, early)
    ]
    run, stopped = same_draws(cycles, on_error="reject")
    assert np.array_equal(run.positions, stopped.positions)
    assert run.failed == stopped.failed > 0
    assert np.isneginf(stopped.info.log_ratio).mean() > np.isneginf(run.info.log_ratio).mean()


def test_a_kernel_inside_of_a_function_has_limits_of_its_own():
    seen = []

    def inner(theta, stop_below):
        seen.append(stop_below)
        return 0.0

    with stopping_below(5.0):
        limited(lambda theta, stop_below: limited(inner)(theta))(0.0)
        limited(inner)(0.0)
    limited(inner)(0.0)
    assert seen == [-np.inf, 5.0, -np.inf]


@settings(max_examples=300, deadline=None)
@given(*[strategies.floats(-1e6, 1e6)] * 2, strategies.floats(-50, 0), strategies.floats(0, 1e-9))
def test_what_is_below_the_limit_is_rejected(memory, log_q, accept, below):
    limit = surely_below(memory, accept, -log_q)
    value = np.nextafter(limit, -np.inf) - below
    assert not accept <= log_q + (value - memory)
    assert limit <= memory + accept - log_q
    assert limit >= memory + accept - log_q - 1e-14 * (abs(memory) + abs(accept) + abs(log_q))


@pytest.mark.parametrize("terms", [(np.nan, 0.0), (np.inf, 1.0), (-np.inf, 1.0), (np.inf, -np.inf)])
def test_without_a_number_there_is_no_limit(terms):
    with np.errstate(invalid="ignore"):
        assert surely_below(*map(np.float64, terms)) == -np.inf
