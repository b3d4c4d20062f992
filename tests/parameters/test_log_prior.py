"""The log prior of a position: prior, joint prior and Jacobian of all parameters together, and draws from it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.estimators.samples import pooled
from lockstep.estimators.within import Within, WithinEvaluation
from lockstep.parameters.numpyro_priors import of_numpyro
from lockstep.parameters.wrapping import AtValues, PriorOfPosition
from lockstep.ratios.posterior import Posterior
from lockstep.starts.placing import placed
from lockstep.starts.start import Walked

PRIORS = {"a": stats.norm(1.0, 2.0), "b": stats.gamma(2.5), "c": stats.uniform(-1.0, 4.0)}


def joint(a, b, c):
    return -0.3 * a * b + c


PARAMETERS = ls.Parameters(**PRIORS, log_prior=joint)
HERE = {name: np.float64(number) for name, number in {"a": 0.3, "b": -0.4, "c": 0.9}.items()}
THERE = {name: np.float64(number) for name, number in {"a": 1.1, "b": 0.7, "c": -0.2}.items()}
FAR = {**HERE, "c": np.float64(800.0)}  # rounds to the upper bound


def log_likelihood(a, b, c):
    return jnp.sin(a) - b + 0.2 * c**2


def exact(position):
    """The log prior by SciPy, with the Jacobian by differences of the values of one parameter after another."""
    total = 0.0
    for name, frozen in PRIORS.items():
        values = [
            float(PARAMETERS.values({**position, name: position[name] + step})[name]) for step in (0, -1e-5, 1e-5)
        ]
        total += frozen.logpdf(values[0]) + np.log((values[2] - values[1]) / 2e-5)
    return total + joint(**{name: float(value) for name, value in PARAMETERS.values(position).items()})


@pytest.mark.parametrize("position", [HERE, THERE])
def test_prior_joint_prior_and_jacobian(position):
    with double_precision():
        for made in (position, jax.tree.map(jnp.asarray, position)):
            values, log_prior = canonical(PARAMETERS, "parameters").evaluate(made)
            np.testing.assert_allclose(log_prior, exact(position), atol=1e-8)
            np.testing.assert_allclose(values["b"], np.exp(position["b"]), rtol=1e-14)


def test_what_rounds_to_a_bound_has_no_prior():
    assert PARAMETERS.evaluate(FAR)[1] == -np.inf
    # The order of parameters is no matter: those after one that is outside do not bring it back.
    others = ls.Parameters(c=PRIORS["c"], a=PRIORS["a"])
    assert others.evaluate({"c": np.float64(800.0), "a": np.float64(0.0)})[1] == -np.inf


def test_each_parameter_draws_with_a_key_of_its_own():
    two = ls.Parameters(a=dist.Normal(0.0, 1.0), b=dist.Normal(0.0, 1.0))
    drawn = jax.vmap(two.draw)(jr.split(jr.key(0), 400))
    assert abs(np.corrcoef(drawn["a"], drawn["b"])[0, 1]) < 5 / np.sqrt(400)


NUMPYRO = {
    "half normal": dist.HalfNormal(2.0),
    "beta": dist.Beta(2.0, 3.0),
    "uniform": dist.Uniform(-1.0, 3.0),
    "above": dist.LeftTruncatedDistribution(dist.Normal(0.0, 1.0), 0.5),
    "below": dist.RightTruncatedDistribution(dist.Normal(0.0, 1.0), 0.5),
    "simplex": dist.Dirichlet(jnp.array([2.0, 1.0, 3.0])),
    "vector": dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
    "positive": dist.Gamma(2.0, 1.0).expand([3]).to_event(1),
    "many": dist.Normal(jnp.arange(3.0), 2.0),
    "foreign": dist.LKJCholesky(2, 1.5),
}


@pytest.mark.parametrize("law", NUMPYRO.values(), ids=NUMPYRO)
def test_supports_of_numpyro_s_distributions(law):
    """Every draw is the value of some free numbers, and free numbers give values of the support, near its ends too."""
    with double_precision():
        prior = of_numpyro(law, "a", None)

        @jax.jit
        def there_and_back(key):
            value = jnp.asarray(law.sample(key), float)
            free = prior.support.inverse(value)
            return value, free, prior.support(free)[0], prior(value), law.log_prob(value)

        @jax.jit
        def elsewhere(key, scale):
            found, log_jacobian = prior.support(scale * jr.normal(key, prior.support.free_shape))
            return law.support(found), log_jacobian

        for key in jr.split(jr.key(1), 3):
            value, free, again, ours, theirs = there_and_back(key)
            assert free.shape == prior.support.free_shape and np.all(np.isfinite(free))
            np.testing.assert_allclose(again, value, rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(ours, np.sum(theirs), rtol=1e-12)
            for scale in (1.0, -1.0, 8.0, -8.0):
                is_inside, log_jacobian = elsewhere(key, scale)
                assert np.all(is_inside) and np.isfinite(log_jacobian)


# --- the prior inside of ratios and estimators ------------------------------------------------------------------------
def noisy(noise, a, b, c):
    return log_likelihood(a, b, c) + 0.1 * noise


def difference(noise, position, candidate):
    return log_likelihood(**candidate) - log_likelihood(**position) + noise


@pytest.fixture
def here_and_there():
    with double_precision():
        yield jax.tree.map(jnp.asarray, (HERE, THERE, FAR))


def posterior(position):
    values = PARAMETERS.values(position)
    return exact(position) + float(log_likelihood(**values))


def test_a_ratio_remembers_the_prior_of_its_candidate(here_and_there):
    here, there, far = here_and_there
    ratio = PARAMETERS.posterior(ls.standard(log_likelihood, ls.RandomWalk(1.0))).ratio
    assert isinstance(ratio, Posterior)
    memory = ratio.init(None, here)
    found = ratio(None, here, memory, there, jnp.asarray(0.25))
    np.testing.assert_allclose(found.log_ratio, 0.25 + posterior(THERE) - posterior(HERE), atol=1e-7)
    np.testing.assert_allclose(jnp.stack(jax.tree.leaves(found.memory)), jax.tree.leaves(ratio.init(None, there)))
    # BACK again, from what was remembered
    back = ratio(None, there, found.memory, here, jnp.asarray(-0.25))
    np.testing.assert_allclose(back.log_ratio, -found.log_ratio, atol=1e-10)
    outside = ratio(None, here, memory, far, jnp.asarray(0.0))
    assert outside.log_ratio == -np.inf and not outside.is_violated


def test_only_a_candidate_inside_can_break_a_bound(here_and_there):
    here, there, far = here_and_there
    estimator = ls.estimators.mean(difference, 4, lambda key, count: jnp.ones(count))
    ratio = PARAMETERS.posterior(ls.universal(estimator, 0.01, ls.RandomWalk(1.0))).ratio
    noise = ratio.noise(jr.key(0), here)
    memory = ratio.init(noise, here)
    assert ratio(noise, here, memory, there, jnp.asarray(0.0)).is_violated
    assert not ratio(noise, here, memory, far, jnp.asarray(0.0)).is_violated


def test_estimators_have_the_prior_in_every_form(here_and_there):
    here, there, far = here_and_there
    estimator = PARAMETERS.posterior(ls.estimators.mean(difference, 6, lambda key, count: jr.normal(key, (count,))))
    assert isinstance(estimator, Within)
    noise = estimator.noise(jr.key(1), here)
    d = posterior(THERE) - posterior(HERE) + float(noise.mean())
    for found in (estimator(noise, here, there).value, estimator.value(noise, here, there)):
        np.testing.assert_allclose(found, d, atol=1e-7)
    two = jnp.stack([noise, noise + 1.0])
    np.testing.assert_allclose(pooled(estimator, two, here, there).estimate.value, d + 0.5, atol=1e-7)
    assert estimator(noise, here, far).value == estimator.value(noise, here, far) == -np.inf
    assert pooled(estimator, two, here, far).estimate.value == -np.inf
    np.testing.assert_allclose(estimator(noise, here, there).variance, noise.var(ddof=1) / 6, rtol=1e-10)


def test_evaluations_and_functions_are_those_of_values(here_and_there):
    here, _, far = here_and_there
    near = ls.abc(lambda noise, theta: theta["b"] + noise, jnp.abs, 0.5, 4, draw=lambda key, n: jr.normal(key, (n,)))
    evaluation = PARAMETERS.posterior(near)
    assert isinstance(evaluation, WithinEvaluation)
    noise = evaluation.noise(jr.key(2), here)
    values = PARAMETERS.values(HERE)
    np.testing.assert_allclose(evaluation(noise, here), exact(HERE) + near(noise, values), atol=1e-7)
    assert evaluation(noise, far) == -np.inf
    assert evaluation.with_count(2).count == 2
    with_own = PriorOfPosition(PARAMETERS, lambda theta: theta["b"])
    np.testing.assert_allclose(with_own(here), exact(HERE) + np.exp(HERE["b"]), atol=1e-7)
    at_values = AtValues(PARAMETERS, lambda theta, other: theta["b"] + other)
    np.testing.assert_allclose(at_values(here, 3.0), np.exp(HERE["b"]) + 3.0, rtol=1e-12)


# --- starts -----------------------------------------------------------------------------------------------------------
def same(found, values):
    """Whether a position has these values."""
    shown = PARAMETERS.values(found)
    return all(np.allclose(shown[name], values[name], rtol=1e-10) for name in values)


def test_starts_are_placed_where_chains_walk(here_and_there):
    kernel = PARAMETERS.posterior(ls.standard(log_likelihood, ls.RandomWalk(1.0)))
    one = {"a": 0.5, "b": 2.0, "c": 1.0}
    other = {"a": -0.5, "b": 3.0, "c": 0.0}
    assert same(placed(kernel, one), one)
    assert same(placed(kernel, lambda key: one)(jr.key(0)), one)
    # LEFT OUT: a draw from the prior
    drawn = PARAMETERS.draw(jr.key(7))
    assert same(placed(kernel, None)(jr.key(7)), drawn)
    # STARTS of each chain, and pairs
    both = jax.tree.map(lambda *values: np.array(values), one, other)
    starts = placed(kernel, ls.Starts(both))
    for chain, values in enumerate((one, other)):
        assert same(jax.tree.map(lambda leaf: leaf[chain], starts.positions), values)  # noqa: B023
    pair = placed(ls.Coupled(kernel, kernel), ls.Pair(one, other))
    assert same(pair.first, one) and same(pair.second, other)
    # POSITIONS as chains walk stay as they are
    walked = Walked(lambda key: HERE)
    assert placed(kernel, walked) is walked and walked(None) == HERE
