"""The checks themselves: they pass what is right, reject what is wrong, and say what is wrong with it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from registry import (
    CASES,
    PROPOSALS,
    STATES,
    TWO_OF_ONE,
    VARIANCE,
    WrongJacobian,
    estimator,
    exchange,
    log_pi,
    penalty_of_pair,
)
from scipy import stats

import lockstep as ls
from lockstep.check import (
    Law,
    asymptotic_variance,
    balance,
    involution,
    minorization,
    peskun,
    product,
    stationary,
    symmetry,
    transition_matrix,
)
from lockstep.ratios.randomizations import AuxiliaryData

BY_NAME = {case.name: case for case in CASES}
POINTS = jnp.array([-1.3, 0.2, 0.7, 2.5])


def log_density(theta):
    return -0.5 * theta**2


def normal_density(involution=None, scale=VARIANCE**0.5, mean=0.0):
    return ls.Density(
        sample=lambda key, position, candidate: mean + scale * jr.normal(key),
        log_density=lambda x, position, candidate: -(x**2) / (2 * VARIANCE) - 0.5 * jnp.log(2 * jnp.pi * VARIANCE),
        involution=ls.Reflection(VARIANCE) if involution is None else involution,
    )


def lognormal_density(involution):
    return ls.Density(
        sample=lambda key, position, candidate: jnp.exp(0.6 + jr.normal(key)),
        log_density=lambda x, position, candidate: -((jnp.log(x) - 0.6) ** 2) / 2 - jnp.log(x),
        involution=involution,
    )


def randomized(density):
    return ls.randomized(log_density, ls.RandomWalk(1.0), density)


# --- involutions ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "x"),
    [
        (ls.Identity(), POINTS),
        (ls.Reflection(0.3), POINTS),
        (ls.Mobius(0.5, 2.0, 1.5), POINTS),
        (ls.Mobius(0.0, 1.0, 1.0), jnp.stack([POINTS, 2 * POINTS], axis=1)),
        (lambda x: 1 / x, POINTS),
        (lambda x, position, candidate: x[::-1], jnp.stack([POINTS, POINTS**2], axis=1)),
        (lambda x: {"a": 2 * x["b"], "b": x["a"] / 2}, {"a": POINTS, "b": POINTS**2}),
    ],
)
def test_involutions_pass(function, x):
    found = involution(function, x)
    assert found and found.residual < 1e-12


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: 2 * x, "undo itself"),
        (lambda x: x + 1, "undo itself"),
        (WrongJacobian(), "Jacobian"),
        (lambda x: (1 / x, jnp.log(jnp.abs(x))), "Jacobian"),
    ],
)
def test_wrong_involutions_do_not(function, words):
    found = involution(function, POINTS)
    assert not found and words in found.sentence and found.residual > 0.01


def test_an_involution_may_depend_on_the_pair_and_is_undone_with_the_pair_swapped():
    def shear(x, position, candidate):
        return x + position - candidate

    assert involution(shear, POINTS, POINTS, POINTS + 1)
    assert not involution(lambda x, position, candidate: x + position, POINTS, POINTS, POINTS + 1)


# --- very detailed balance --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "density",
    [
        normal_density(),
        normal_density(ls.Identity()),
        normal_density(lambda x: -x),
        lognormal_density(ls.Mobius(0.0, 1.0, 1.0)),
        lognormal_density(lambda x: 1 / x),
        ls.tempering(log_density),
    ],
)
def test_balance_holds_pointwise(density):
    found = balance(randomized(density), POINTS)
    assert found, found
    assert found.residual < 1e-10


@pytest.mark.parametrize(
    ("density", "words"),
    [
        (normal_density(lambda x: VARIANCE - 0.9 * x), "undo itself"),
        (lognormal_density(WrongJacobian()), "Jacobian"),
        (normal_density(scale=1.2 * VARIANCE**0.5), "does not draw x"),
        (normal_density(mean=0.5), "does not draw x"),
    ],
)
def test_balance_says_what_is_wrong(density, words):
    found = balance(randomized(density), POINTS, replicates=20_000)
    assert not found
    assert words in found.sentence
    assert set(found.worst) == {"position", "candidate", "x"}


@ls.part
class WrongWeight:
    """The penalty's randomization with its weight off by a constant."""

    density: ls.Density

    @property
    def involution(self):
        return self.density.involution

    @property
    def log_density(self):
        return self.density.log_density

    def noise(self, key, position, shape=()):
        return self.density.noise(key, position, shape)

    def sample(self, noise, position, candidate):
        return self.density.sample(noise, position, candidate)

    def log_weight(self, x, position, candidate):
        return self.density.log_weight(x, position, candidate) + 0.01


def test_a_wrong_weight_violates_balance():
    found = balance(randomized(WrongWeight(normal_density())), POINTS)
    assert not found and "violated" in found.sentence
    assert found.residual == pytest.approx(0.01, rel=0.01)


@ls.part
class Lopsided:
    """The exchange algorithm with half of its weight forgotten."""

    right: AuxiliaryData

    def noise(self, key, position, shape=()):
        return self.right.noise(key, position, shape)

    def sample(self, noise, position, candidate):
        return self.right.sample(noise, position, candidate)

    def log_weight(self, x, position, candidate):
        return self.right.log_likelihood(position, x)


def test_balance_of_the_exchange_algorithm():
    states = jnp.array([0, 1, 2, 3, 4])
    assert balance(exchange(PROPOSALS["hastings"]), states)

    right = exchange(PROPOSALS["hastings"])
    lopsided = ls.Randomized(right.ratio.base, Lopsided(right.ratio.randomization))
    found = balance(ls.MetropolisHastings(right.proposal, lopsided), states)
    assert not found and "violated" in found.sentence


@ls.part
class OwnRatio:
    """A ratio of one's own that weighs what it draws, and says so; it inherits from nothing."""

    base: Any
    randomization: Any

    @property
    def whole(self):
        return ls.Randomized(self.base, self.randomization)

    def noise(self, key, position, shape=()):
        return self.whole.noise(key, position, shape)

    def init(self, noise, position):
        return self.whole.init(noise, position)

    def __call__(self, noise, position, memory, candidate, log_proposal_ratio):
        return self.whole(noise, position, memory, candidate, log_proposal_ratio)


def test_balance_of_a_ratio_of_ones_own():
    for density, is_right in ((normal_density(), True), (WrongWeight(normal_density()), False)):
        given = randomized(density)
        kernel = ls.MetropolisHastings(given.proposal, OwnRatio(given.ratio.base, given.ratio.randomization))
        found = balance(kernel, POINTS)
        assert bool(found) is is_right and found.residual == balance(given, POINTS).residual
        assert minorization(kernel, POINTS, POINTS + 1).residual == minorization(given, POINTS, POINTS + 1).residual


@pytest.mark.parametrize("check", [balance, minorization])
def test_kernels_without_a_randomization_are_refused(check):
    exact = ls.standard(log_density, ls.RandomWalk(1.0))
    for kernel in (exact, ls.Cycle([exact, randomized(normal_density())])):
        with pytest.raises(TypeError, match=r"Randomized.*transition_matrix"):
            check(kernel, POINTS, POINTS + 1)
    with pytest.raises(TypeError, match=r"kernel must be a kernel such as that of ls\.randomized; got 3"):
        check(3, POINTS, POINTS + 1)


# --- symmetry ---------------------------------------------------------------------------------------------------------
def test_symmetry_of_a_variance():
    pairs = np.array([0, 1, 2]), np.array([3, 4, 0])
    assert symmetry(estimator(), *pairs)
    by_direction = penalty_of_pair(PROPOSALS["symmetric"], lambda a, b: a < b).ratio.estimator
    found = symmetry(by_direction, *pairs)
    assert not found
    assert np.exp(found.residual) == pytest.approx(0.8 / 0.3, rel=0.2)
    assert symmetry(ls.estimators.two_sided(by_direction), *pairs)


# --- Peskun's order and minorization ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["penalty", "tempering", "Möbius", "vector x, swapped", "universal"])
def test_randomized_chains_stand_below_their_standard_chain(name):
    for proposal in PROPOSALS.values():
        found = peskun(BY_NAME[name].make(proposal), ls.standard(log_pi, proposal), STATES, BY_NAME[name].law)
        assert found, found
        assert np.all(found.values["variances"][:, 1] >= found.values["variances"][:, 0])
        assert np.max(found.values["variances"][:, 1] / found.values["variances"][:, 0]) > 1.05


def test_the_order_has_a_direction():
    proposal, case = PROPOSALS["symmetric"], BY_NAME["penalty"]
    assert not peskun(ls.naive(estimator(), proposal), ls.standard(log_pi, proposal), STATES, case.law)


def test_asymptotic_variance_against_a_closed_form():
    """Two states that are left with probabilities a and b: the autocorrelations are powers of 1 - a - b."""
    a, b = 0.3, 0.2
    matrix = np.array([[1 - a, a], [b, 1 - b]])
    pi = stationary(matrix)
    assert pi == pytest.approx([0.4, 0.6])
    rate = 1 - a - b
    assert asymptotic_variance(matrix, [0.0, 1.0]) == pytest.approx(pi[0] * pi[1] * (1 + rate) / (1 - rate))


def test_minorization_of_the_penalty_method():
    """Pr(x ≥ s/2) for x ~ N(0, s): Φ(-√s/2), whatever the pair."""
    found = minorization(randomized(normal_density()), POINTS, POINTS + 1, replicates=100_000)
    truth = stats.norm.cdf(-np.sqrt(VARIANCE) / 2)
    assert found.values["epsilon"] == pytest.approx(truth, abs=5 * found.values["epsilon_se"])
    grid = np.linspace(-6, 6, 4801)
    weights = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    density = ls.Density(
        lambda noise, position, candidate: VARIANCE**0.5 * noise,
        lambda x, position, candidate: -(x**2) / (2 * VARIANCE),
        ls.Reflection(VARIANCE),
        draw=jr.normal,
    )
    exact = minorization(randomized(density), POINTS, POINTS + 1, law=Law(grid, weights))
    assert exact.values["epsilon"] == pytest.approx(truth, abs=1e-3)


def test_minorization_is_1_for_a_symmetric_randomization():
    found = minorization(randomized(normal_density(lambda x: -x)), POINTS, POINTS + 1)
    assert found.values["epsilon"] == 1.0


def test_minorization_may_fail():
    """x ~ N(0, σ²(θ, θ')) with a variance that grows with the pair: ε falls to 0."""
    wide = ls.Density(
        sample=lambda key, position, candidate: 30 * jr.normal(key),
        log_density=lambda x, position, candidate: -(x**2) / (2 * 900.0),
        involution=ls.Reflection(900.0),
    )
    assert not minorization(randomized(wide), POINTS, POINTS + 1)


# --- matrices ---------------------------------------------------------------------------------------------------------
def test_matrices_refuse_what_they_cannot_enumerate():
    with pytest.raises(TypeError, match="law"):
        transition_matrix(ls.standard(log_density, ls.RandomWalk(1.0)), STATES)
    correlated = ls.pseudo_marginal(
        lambda z, state: log_pi(state) + z, PROPOSALS["symmetric"], correlation=0.5, draw=jr.normal
    )
    with pytest.raises(ValueError, match="invariance"):
        transition_matrix(correlated, STATES, Law(np.zeros(1), np.ones(1)))
    with pytest.raises(ValueError, match="not once"):
        transition_matrix(ls.standard(log_pi, PROPOSALS["symmetric"]), STATES[:4])
    with pytest.raises(ValueError, match="sum to 1"):
        transition_matrix(BY_NAME["penalty"].make(PROPOSALS["symmetric"]), STATES, Law(np.zeros((2, 1)), [0.5, 0.6]))


def test_product_of_laws():
    coin = Law(np.array([-1.0, 1.0]), np.array([0.25, 0.75]))
    both = product(coin, coin)
    assert both.weights.sum() == pytest.approx(1.0)
    assert np.sum(both.weights * both.values[0] * both.values[1]) == pytest.approx(0.25)
    assert TWO_OF_ONE.weights.sum() == pytest.approx(1.0)


def test_findings_say_what_could_not_be_checked():
    """Auxiliary data state no density of x: neither where they are drawn nor their constants are known."""
    kernel = ls.exchange(
        lambda theta: -theta,
        lambda theta, x: -theta * x,
        lambda key, theta: jr.exponential(key) / theta,
        jnp.array(1.3),
        ls.RandomWalk(1.0),
    )
    here, there = jnp.array([1.0]), jnp.array([2.0])
    assert "where x is drawn was not checked" in ls.check.balance(kernel, here, there, 10).sentence
    assert "only if log_likelihood is normalised" in ls.check.minorization(kernel, here, there, replicates=10).sentence


def test_rounding_below_zero_is_no_negative_probability():
    matrix = np.array([[-1e-16, 1.0], [1.0, 0.0]])
    assert np.asarray(ls.Finite(matrix).matrix).min() == 0
    with pytest.raises(ValueError, match="negative entry"):
        ls.Finite(matrix - np.array([[1e-3, 0], [0, 0]]))
