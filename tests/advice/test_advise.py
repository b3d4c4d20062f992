"""Advice: which rule, how many samples, and whether following it gives what was promised."""

from __future__ import annotations

import json

import jax.numpy as jnp
import jax.random as jr
import noise_laws
import numpy as np
import pytest

import lockstep as ls

UPDATES = 20_000


def normal(theta):
    return -0.5 * jnp.sum(theta**2)


def bimodal(theta):
    return jnp.logaddexp(-0.5 * jnp.sum((theta - 1.5) ** 2), -0.5 * jnp.sum((theta + 1.5) ** 2))


def curved(theta):
    return -0.5 * theta[0] ** 2 - 0.5 * jnp.sum((theta[1:] - 0.5 * theta[0] ** 2) ** 2)


def skewed(theta):
    return jnp.sum(2 * theta - jnp.exp(theta))


TARGETS = (normal, bimodal, curved, skewed)


def problem(seed):
    """A target, its dimension, a noise family, and how noisy one sample is, drawn at random."""
    rng = np.random.default_rng(seed)
    log_density = TARGETS[rng.integers(len(TARGETS))]
    dimension = int(rng.integers(1, 11))
    family = (*noise_laws.FAMILIES, "lognormal")[rng.integers(5)]
    sigma = float(np.exp(rng.uniform(np.log(0.5), np.log(2.0)))) if family != "lognormal" else 0.8
    separations = float(np.exp(rng.uniform(np.log(2), np.log(50))))
    return log_density, dimension, family, sigma, separations


def follow(seed):
    """The ratio of the separations that the advised kernel has, by the exact coupling, to the number asked for."""
    log_density, dimension, family, sigma, separations = problem(seed)
    difference = lambda here, there: log_density(there) - log_density(here)  # noqa: E731
    proposal = ls.RandomWalk(2.4 / np.sqrt(dimension))
    noisy = noise_laws.estimator(family, 16, difference, sigma)
    advice = ls.advise(noisy, proposal, jnp.zeros(dimension), updates=UPDATES, separations=separations, seed=seed)
    exact = ls.sample(
        ls.standard(log_density, proposal), jnp.zeros(dimension), draws=25_000, chains=4, seed=seed, warmup=2000
    )
    positions = exact.positions.reshape(-1, dimension)
    return UPDATES / followed(advice, family, log_density, proposal, positions, sigma) / separations, advice


def followed(advice, family, log_density, proposal, positions, sigma):
    """The return time of the advised kernel at exact draws, by the exact coupling."""
    is_two_sided = advice.rule == "two_sided"
    laws = family, advice.count, log_density, proposal, positions, sigma
    return noise_laws.exact_rho(*laws, is_two_sided=is_two_sided)["corrected" if is_two_sided else advice.rule]


def test_following_the_advice_gives_what_was_promised(tmp_path):
    updates, separations, proposal = 2000, 5, ls.RandomWalk(2.4)
    noisy = noise_laws.estimator("normal", 16, lambda here, there: normal(there) - normal(here))
    advice = ls.advise(noisy, proposal, jnp.zeros(1), updates=updates, separations=separations, seed=3, calls=20_000)
    positions = np.random.default_rng(0).standard_normal((20_000, 1))
    rho = followed(advice, "normal", normal, proposal, positions, 1.0)
    assert 0.5 < updates / rho / separations < 2, advice
    assert "samples/eff. draw" in repr(advice)
    assert advice.options[0].rule == advice.rule
    assert advice.options[0].discrepancy <= min(option.discrepancy for option in advice.options) * 3
    json.dumps(advice.to_dict(), allow_nan=True)
    advice.figure(tmp_path / "advice.png")
    assert (tmp_path / "advice.png").stat().st_size > 10_000
    run = advice.sample(chains=6)
    assert run.chains == 6 and run.chains * run.draws >= updates
    assert run.kernel.ratio.estimator.count == advice.count


@pytest.mark.study
@pytest.mark.filterwarnings("ignore:chain . stood in one state:lockstep.LockstepWarning")
def test_following_the_advice_over_random_problems():
    """Within a factor of 2 in at least 18 of 20, also where the noise of the advice makes a chain stick for a while."""
    found = {}
    for seed in range(20):
        found[seed], advice = follow(seed)
        print(seed, problem(seed)[0].__name__, *problem(seed)[1:], advice.rule, advice.count, f"{found[seed]:.2f}")
    assert sum(0.5 < ratio < 2 for ratio in found.values()) >= 18, found


def square_difference(position, candidate):
    return -0.5 * (candidate**2 - position**2)


def test_heavy_tails_are_refused_with_a_reason():
    noisy = ls.estimators.mean(
        lambda noise, here, there: square_difference(here, there) + noise,
        16,
        lambda key, count: jr.cauchy(key, (count,)),
    )
    with pytest.warns(ls.LockstepWarning, match="heavy tails"):
        advice = ls.advise(noisy, ls.RandomWalk(2.0), 0.0, calls=6000)
    assert advice.rule is None and "heavy tails" in repr(advice)
    with pytest.raises(ValueError, match="no rule can be advised"):
        advice.kernel  # noqa: B018


def test_what_cannot_be_advised_is_a_finding():
    """No noise; and a variance that differs by direction, for an estimator that cannot be told both ways."""
    exactly = ls.estimators.mean(
        lambda noise, here, there: square_difference(here, there) + 0 * noise,
        8,
        lambda key, count: jr.normal(key, (count,)),
    )
    advice = ls.advise(exactly, ls.RandomWalk(2.0), 0.0, calls=3000)
    assert any("the estimate has no noise: the kernel is `standard`" in sentence for sentence in advice.findings)
    assert advice.options[0].expected_separations == 0
    with pytest.warns(ls.LockstepWarning, match="no rule can be advised: .* differs by direction"):
        advice = ls.advise(Lopsided(4), ls.RandomWalk(2.0), 0.0, calls=40_000)
    assert advice.rule is None and "Advice" in repr(advice)


@ls.part
class Lopsided:
    """Normal noise that is larger forward than back, without a claim about its variance."""

    count: int = ls.static()

    has_variance = False

    def noise(self, key, position, shape=()):
        return jr.normal(key, shape)

    def __call__(self, noise, position, candidate):
        scale = jnp.exp(jnp.tanh(candidate)) / self.count
        return ls.Estimate(square_difference(position, candidate) + scale * noise, 0.0, jnp.nan, 0.0, self.count)

    def with_count(self, count):
        return Lopsided(count)


@pytest.mark.study
def test_the_log_of_an_unbiased_ratio_is_recognised():
    noisy = noise_laws.estimator("lognormal", 2, square_difference, 0.8)
    advice = ls.advise(noisy, ls.RandomWalk(2.0), 0.0, updates=20_000, separations=20)
    assert advice.rule == "naive"
    assert any("log of an unbiased ratio" in sentence for sentence in advice.findings)
    assert any("pseudo_marginal" in sentence for sentence in advice.findings)
    penalty = next(option for option in advice.options if option.rule == "penalty")
    assert penalty.count > advice.count


def test_bad_input():
    noisy = noise_laws.estimator("normal", 4, square_difference)
    with pytest.raises(ValueError, match="separations is 0"):
        ls.advise(noisy, ls.RandomWalk(1.0), 0.0, separations=0)
    with pytest.raises(TypeError, match="proposal must be"):
        ls.advise(noisy, 1.0, 0.0)
    with pytest.raises(TypeError, match="has no with_count"):
        ls.advise(Fixed(1.0), ls.RandomWalk(1.0), 0.0)


@ls.part
class Fixed:
    scale: float

    is_variance_known = True

    def noise(self, key, position, shape=()):
        return jr.normal(key, shape)

    def __call__(self, noise, position, candidate):
        return ls.Estimate(square_difference(position, candidate) + self.scale * noise, 0.0, self.scale**2, 0.0, 1)


def test_a_users_own_estimator_is_predicted_from_its_estimates():
    """Without a ``pooled``: normal noise of known variance 1 is what the penalty method is exact for."""
    run = ls.sample(ls.naive(Fixed(0.3), ls.RandomWalk(2.0)), 0.0, draws=5000, chains=4, seed=1)
    predicted = ls.separation.predict(run, calls=16_000)
    assert np.isnan(predicted["penalty"].rho) and predicted["penalty"].at_least > 5 * predicted.rho
    rng = np.random.default_rng(0)
    here, step, noise = rng.standard_normal((3, 200_000))
    log_ratio = square_difference(here, here + 2 * step) + 0.3 * noise
    naive, exact = (np.exp(np.minimum(log_ratio - penalty, 0)) for penalty in (0, 0.3**2 / 2))
    assert predicted.rho == pytest.approx(1 / np.mean(np.abs(naive - exact)), rel=0.1)
