"""Supports and priors: Jacobians by differentiation, SciPy's log densities, and priors given back exactly."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import lockstep as ls
from lockstep.core.parts import part
from lockstep.core.precision import canonical, double_precision
from lockstep.parameters.numpyro_priors import of_numpyro
from lockstep.parameters.scipy_priors import FORMULAS, of_scipy
from lockstep.parameters.supports import HalfLine, Support

SUPPORTS = {
    "real": ls.real.with_shape(2),
    "positive": ls.positive,
    "below": ls.interval(-np.inf, 2.0),
    "above": ls.interval(-1.5, np.inf).with_shape(3),
    "interval": ls.interval(-1.0, 3.0).with_shape(2, 2),
    "simplex": ls.simplex(4),
    "ordered": ls.ordered(3),
    "simplexes": ls.simplex(3).with_shape(2),
}


@pytest.mark.parametrize("support", SUPPORTS.values(), ids=SUPPORTS)
def test_jacobians_and_inverses(support):
    free = np.random.default_rng(1).normal(size=support.free_shape)
    with double_precision():
        value, log_jacobian = support(jnp.asarray(free))

        def coordinates(flat):
            found = support(flat.reshape(support.free_shape))[0]
            # The density of a point of a simplex is that of all components but the last.
            return (found[..., :-1] if "simplex" in repr(support) else found).ravel()

        matrix = jax.jacfwd(coordinates)(jnp.ravel(jnp.asarray(free)))
        np.testing.assert_allclose(log_jacobian, np.linalg.slogdet(matrix)[1], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(support.inverse(value), free, rtol=1e-10, atol=1e-10)
        assert value.shape == support.shape and bool(support.contains(value))
    on_host, log_on_host = support(free if free.ndim else np.float64(free))
    assert not isinstance(on_host, jax.Array)
    np.testing.assert_allclose(on_host, value, rtol=1e-14)
    np.testing.assert_allclose(log_on_host, log_jacobian, rtol=1e-13)


def test_values_that_round_to_a_bound_are_outside():
    far = np.float64(800.0)
    with np.errstate(over="ignore"):
        for support, free in ((ls.positive, -far), (ls.positive, far), (ls.interval(0, 1), far), (ls.real, np.inf)):
            assert not support.contains(support(np.float64(free))[0])
        assert not ls.simplex(2).contains(ls.simplex(2)(np.array([far]))[0])
        assert not ls.ordered(2).contains(ls.ordered(2)(np.array([1.0, -far]))[0])


FROZEN = {
    "norm": stats.norm(1.0, 2.0),
    "halfnorm": stats.halfnorm(0.5, 2.0),
    "truncnorm": stats.truncnorm(-1.0, 2.0, 0.5, 1.5),
    "uniform": stats.uniform(-1.0, 3.0),
    "expon": stats.expon(0.0, 2.0),
    "gamma": stats.gamma(2.5, 0.0, 0.7),
    "invgamma": stats.invgamma(3.0, scale=2.0),
    "beta": stats.beta(2.0, 3.5, -1.0, 4.0),
    "lognorm": stats.lognorm(0.6, scale=1.3),
    "t": stats.t(4.0, 0.3, 1.2),
    "cauchy": stats.cauchy(0.2, 0.8),
    "halfcauchy": stats.halfcauchy(scale=1.5),
    "laplace": stats.laplace(0.4, 1.1),
    "logistic": stats.logistic(-0.2, 0.9),
    "weibull_min": stats.weibull_min(1.7, scale=2.0),
}


def test_every_formula_is_that_of_scipy():
    assert set(FROZEN) == set(FORMULAS)
    shares = np.linspace(0.01, 0.99, 7)
    with double_precision():
        for name, frozen in FROZEN.items():
            prior = canonical(of_scipy(frozen, name, None), "prior")
            points = frozen.ppf(shares)
            on_jax = jax.vmap(prior)(jnp.asarray(points))
            np.testing.assert_allclose(on_jax, frozen.logpdf(points), rtol=1e-12, atol=1e-12, err_msg=name)
            on_host = [of_scipy(frozen, name, None)(np.float64(point)) for point in points]
            np.testing.assert_allclose(on_host, frozen.logpdf(points), rtol=1e-12, atol=1e-12, err_msg=name)


def test_vectors_of_scipy_are_called():
    share, plane = stats.dirichlet([2.0, 1.0]), stats.multivariate_normal([0.0, 1.0], [[1.0, 0.3], [0.3, 2.0]])
    with double_precision():
        for frozen, point in ((share, np.array([0.3, 0.7])), (plane, np.array([0.3, 0.7]))):
            prior = of_scipy(frozen, "a", None)
            assert float(prior(point)) == float(jax.jit(prior)(jnp.asarray(point))) == frozen.logpdf(point)
            assert prior.draw(jr.key(0)).shape == (2,)


def ordered_normals(rising):
    return jnp.sum(-0.5 * rising**2)


MANY = {
    **FROZEN,
    "skewnorm": stats.skewnorm(3.0),  # no formula: SciPy is called
    "pair": stats.norm([0.0, 5.0], [1.0, 2.0]),
    "gamma_": dist.Gamma(2.0, 3.0),
    "beta_": dist.Beta(0.7, 2.0),
    "uniform_": dist.Uniform(-2.0, 5.0),
    "above_": dist.TruncatedNormal(0.0, 1.0, low=0.5),
    "share": dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])),
    "correlation": dist.LKJCholesky(2, 1.5),
}
LAWS = {
    **{name: [frozen.cdf] for name, frozen in FROZEN.items()},
    "skewnorm": [stats.skewnorm(3.0).cdf],
    "pair": [stats.norm(0.0, 1.0).cdf, stats.norm(5.0, 2.0).cdf],
    "gamma_": [stats.gamma(2.0, scale=1 / 3).cdf],
    "beta_": [stats.beta(0.7, 2.0).cdf],
    "uniform_": [stats.uniform(-2.0, 7.0).cdf],
    "above_": [stats.truncnorm(0.5, np.inf).cdf],
    "share": [stats.beta(1, 5).cdf, stats.beta(2, 4).cdf, stats.beta(3, 3).cdf],
    "correlation": [lambda x: x >= 1, lambda x: x >= 0, stats.beta(1.5, 1.5, -1, 2).cdf, None],
}
THRESHOLD = 1e-6
CHAINS = 2000


def last_draws(parameters, scale, steps, chains=CHAINS, initial=None, seed=2):
    kernel = parameters.posterior(ls.standard(lambda theta: 0.0, ls.RandomWalk(scale)))
    return ls.sample(kernel, initial, draws=1, thin=steps, chains=chains, seed=seed).positions


def test_a_flat_likelihood_gives_the_prior_back():
    """Chains that begin at draws from the prior end at such: exact quantiles of every prior."""
    positions = last_draws(ls.Parameters(**MANY), 0.35, 40)
    for name, laws in LAWS.items():
        columns = positions[name].reshape(CHAINS, -1).T
        for law, column in zip(laws, columns, strict=True):
            if law is not None and np.ptp(column) > 0:
                assert stats.kstest(column, law).pvalue > THRESHOLD, name


def test_supports_alone_with_a_joint_prior_give_it_back():
    """Started from exact draws: an exponential, a uniform, a flat simplex, and ordered normal variables."""

    def log_prior(rate, share, simplex, rising):
        return -rate + ordered_normals(rising)

    supports = {"rate": ls.positive, "share": ls.interval(0, 2), "simplex": ls.simplex(3), "rising": ls.ordered(2)}
    rng = np.random.default_rng(5)
    starts = {
        "rate": rng.exponential(size=CHAINS),
        "share": rng.uniform(0, 2, size=CHAINS),
        "simplex": rng.dirichlet(np.ones(3), size=CHAINS),
        "rising": np.sort(rng.normal(size=(CHAINS, 2)), axis=1),
    }
    positions = last_draws(ls.Parameters(**supports, log_prior=log_prior), 0.7, 40, initial=ls.Starts(starts))
    laws = {
        "rate": [stats.expon.cdf],
        "share": [stats.uniform(0, 2).cdf],
        "simplex": [stats.beta(1, 2).cdf] * 3,
        "rising": [lambda x: 1 - stats.norm.sf(x) ** 2, lambda x: stats.norm.cdf(x) ** 2],
    }
    for name, own in laws.items():
        for law, column in zip(own, positions[name].reshape(CHAINS, -1).T, strict=True):
            assert stats.kstest(column, law).pvalue > THRESHOLD, name


@part
class Wrong(Support):
    """A support with a Jacobian that is wrong by a factor in its logarithm."""

    right: Support
    factor: float

    shape = property(lambda self: self.right.shape)
    free_shape = property(lambda self: self.right.free_shape)

    def __call__(self, free):
        value, log_jacobian = self.right(free)
        return value, self.factor * log_jacobian

    def inverse(self, value):
        return self.right.inverse(value)

    def contains(self, value):
        return self.right.contains(value)


@pytest.mark.parametrize("factor", [0.0, -1.0, 0.5])
def test_a_wrong_jacobian_is_rejected(factor):
    """The same test on the same priors, each with a wrong Jacobian, fails for each."""
    some = ("gamma", "beta", "share", "uniform_", "lognorm")
    parameters = ls.Parameters(**{name: MANY[name] for name in some})
    wrong = tuple(dataclasses.replace(prior, support=Wrong(prior.support, factor)) for prior in parameters.priors)
    object.__setattr__(parameters, "priors", wrong)
    positions = last_draws(parameters, 0.9, 40)
    for name in some:
        columns = positions[name].reshape(CHAINS, -1).T
        found = [stats.kstest(column, law).pvalue for column, law in zip(columns, LAWS[name], strict=True)]
        assert min(found) < THRESHOLD, name


def test_draws_are_from_the_prior_and_named_axes_repeat_it():
    coords = {"school": ["A", "B", "C"], "way": 2}
    dims = {"effect": ["school"], "slope": ["school", "way"], "weights": ["school"], "noise_scale": "school"}
    parameters = ls.Parameters(
        effect=stats.norm(3, 2),
        slope=dist.Normal(0.0, 1.0),
        weights=ls.simplex(3),
        noise_scale=ls.positive,
        dims=dims,
        coords=coords,
    )
    shapes = {"effect": (3,), "slope": (3, 2), "weights": (3,), "noise_scale": (3,)}
    assert {
        name: prior.support.shape for name, prior in zip(parameters.names, parameters.priors, strict=True)
    } == shapes
    with pytest.raises(ValueError, match="weights, noise_scale: a support alone is no law to draw from"):
        parameters.draw(jr.key(0))
    some = ls.Parameters(effect=stats.norm(3, 2), slope=dist.Normal(0.0, 1.0), dims={"effect": "school"}, coords=coords)
    with double_precision():
        drawn = jax.vmap(some.draw)(jr.split(jr.key(1), 2000))
    assert drawn["effect"].shape == (2000, 3)
    assert stats.kstest(np.ravel(drawn["effect"]), stats.norm(3, 2).cdf).pvalue > THRESHOLD
    assert stats.kstest(np.ravel(drawn["slope"]), stats.norm.cdf).pvalue > THRESHOLD


WRONG = {
    "no parameter": (dict, TypeError, "Parameters has no parameter"),
    "no prior": (lambda: {"a": 3}, TypeError, "a is 3; it must be a prior, such as"),
    "not frozen": (lambda: {"a": stats.norm}, TypeError, "without parameters; call it"),
    "discrete": (lambda: {"a": stats.poisson(3)}, TypeError, "discrete distribution of SciPy"),
    "discrete, NumPyro": (lambda: {"a": dist.Poisson(3.0)}, TypeError, "discrete distribution of NumPyro"),
    "class": (lambda: {"a": dist.Normal}, TypeError, "class Normal of NumPyro; give an instance"),
    "taken": (lambda: {"rng": ls.real}, ValueError, "cannot be called 'rng'"),
    "dims": (lambda: {"a": ls.real, "dims": {"b": ["x"]}}, ValueError, "which is no parameter"),
    "coords": (lambda: {"a": ls.real, "dims": {"a": ["x"]}}, ValueError, "give its labels or their number"),
    "shape": (
        lambda: {"a": stats.norm([0, 1], 1), "dims": {"a": ["x"]}, "coords": {"x": 3}},
        ValueError,
        r"lengths \(3,\), but its prior is of shape \(2,\)",
    ),
    "range": (lambda: {"a": stats.gamma(-1.0)}, ValueError, "parameters out of their range"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_no_parameter_is_refused(case):
    make, error, match = case
    with pytest.raises(error, match=match):
        ls.Parameters(**make())
    assert of_numpyro(3, "a", None) is None and isinstance(ls.positive, HalfLine)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), ("a", 1), (np.nan, 1)])
def test_intervals_are_refused(bounds):
    with pytest.raises(ValueError, match="interval"):
        ls.interval(*bounds)
