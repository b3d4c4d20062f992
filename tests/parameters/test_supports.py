"""Supports and priors: Jacobians by differentiation, SciPy's log densities, and priors given back exactly."""

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
from lockstep.parameters.numpyro_priors import of_numpyro
from lockstep.parameters.scipy_priors import FORMULAS, of_scipy
from lockstep.parameters.supports import HalfLine

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


def test_what_has_no_formula_is_called():
    share, plane = stats.dirichlet([2.0, 1.0]), stats.multivariate_normal([0.0, 1.0], [[1.0, 0.3], [0.3, 2.0]])
    with double_precision():
        for frozen, point in ((share, np.array([0.3, 0.7])), (plane, np.array([0.3, 0.7]))):
            prior = of_scipy(frozen, "a", None)
            assert float(prior(point)) == float(jax.jit(prior)(jnp.asarray(point))) == frozen.logpdf(point)
            assert prior.draw(jr.key(0)).shape == (2,)
        edge = of_scipy(stats.dirichlet([0.5, 1.0]), "a", None)  # where SciPy itself raises
        both = jax.jit(jax.vmap(edge))(jnp.array([[0.0, 1.0], [0.3, 0.7]]))
        assert both[0] == -np.inf and both[1] == stats.dirichlet([0.5, 1.0]).logpdf([0.3, 0.7])
        skewed = of_scipy(stats.skewnorm(3.0), "a", None)  # no formula
        many = jax.jit(jax.vmap(skewed))(jnp.linspace(-1.0, 2.0, 5))
        np.testing.assert_allclose(many, stats.skewnorm(3.0).logpdf(np.linspace(-1.0, 2.0, 5)), rtol=1e-12)


THRESHOLD = 1e-6


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
