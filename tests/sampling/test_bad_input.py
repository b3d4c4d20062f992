"""Bad input: every error names the argument, says what was wrong with its value, and what to do.

The table `CASES` is meant to be read. A case is a call that a clumsy user might make, the type of the error, and
regular expressions that must all be found in its message: the argument, its value, the remedy.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.warnings import LockstepWarning

# --- good parts, to be combined with one bad one ---------------------------------------------------------------------
WALK = ls.RandomWalk(1.0)
DATA = np.array([0.3, 1.2, -0.4])


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def one_sample(noise, position, candidate):
    return -0.5 * (candidate**2 - position**2) + noise


def normals(key, count):
    return jr.normal(key, (count,))


def combine(average, position, candidate):
    return average


def log_estimate(z, theta):
    return -0.5 * theta**2 + 0.1 * jnp.sum(z)


def draw_three(key):
    return jr.normal(key, (3,))


def never_called(theta):
    raise AssertionError("the proposal comes first")


STANDARD = ls.standard(log_density, WALK)
TWO_STATES = ls.standard(lambda state: jnp.array([0.2, 0.8])[state], ls.Finite([[0.5, 0.5], [0.5, 0.5]]))


def mean(sample=one_sample, count=4, draw=normals):
    return ls.estimators.mean(sample, count, draw)


def smooth(sample=one_sample, combine=combine, count=4, draw=normals):
    return ls.estimators.smooth(sample, combine, count, draw)


def gaussianized(variance):
    return ls.estimators.gaussianized(lambda position, candidate: candidate - position, jnp.sum, variance, 4, normals)


def naive(estimator):
    return ls.naive(estimator, WALK)


def standard(function=log_density, proposal=WALK):
    return ls.standard(function, proposal)


def exchange(
    log_likelihood=lambda theta, x: -0.5 * jnp.sum((x - theta) ** 2),
    simulate=lambda key, theta: theta + jr.normal(key, (3,)),
    data=DATA,
):
    return ls.exchange(lambda theta: -0.5 * theta**2, log_likelihood, simulate, data, WALK)


def auxiliary(auxiliary_log_density):
    return ls.auxiliary_variable(
        lambda theta: -0.5 * theta**2,
        lambda theta, x: -0.5 * jnp.sum((x - theta) ** 2),
        lambda key, theta: theta + jr.normal(key, (3,)),
        auxiliary_log_density,
        DATA,
        WALK,
    )


def density(
    sample=lambda key, position, candidate: jr.normal(key),
    log_density=lambda x, position, candidate: -0.5 * x**2,
    involution=None,
    draw=None,
):
    return ls.Density(sample, log_density, ls.Identity() if involution is None else involution, draw)


def randomized(**options):
    return ls.randomized(log_density, WALK, density(**options))


def pseudo_marginal(correlation=0.5, draw=draw_three):
    return ls.pseudo_marginal(log_estimate, WALK, correlation, draw)


def run(kernel=STANDARD, initial=0.0, **options):
    return ls.sample(kernel, initial, **{"draws": 8, "chains": 2, **options})


@ls.part
class ConstantEstimator:
    """An estimator of one's own that returns whatever it was given."""

    result: Any

    def noise(self, key, position, shape=()):
        return jnp.zeros(shape)

    def __call__(self, noise, position, candidate):
        return self.result


class UndecoratedEstimator:
    def noise(self, key, position, shape=()):
        return jnp.zeros(shape)

    def __call__(self, noise, position, candidate):
        return ls.Estimate(0.0, 0.0, 0.0, 0.0, 1)


@ls.part
class Shifted:
    """A proposal of one's own whose candidates are not like the position."""

    def noise(self, key, position, shape=()):
        return jnp.zeros((*shape, 2))

    def __call__(self, noise, position):
        return position + noise, 0.0


# --- the table -------------------------------------------------------------------------------------------------------
class Case(NamedTuple):
    """A call, the error that it must end with, and what its message must say."""

    name: str
    call: Callable[[], Any]
    error: type[Exception]
    message: tuple[str, ...]


def case(name: str, call: Callable[[], Any], error: type[Exception], *message: str) -> Case:
    return Case(name, call, error, message)


PROPOSALS = [
    case("scale zero", lambda: ls.RandomWalk(0.0), ValueError, "scale of RandomWalk", "0.0", "must be positive"),
    case("scale negative", lambda: ls.RandomWalk([1.0, -2.0]), ValueError, "scale", r"\[1.0, -2.0\]", "positive"),
    case("scale NaN", lambda: ls.RandomWalk(math.nan), ValueError, "scale of RandomWalk is nan", "finite"),
    case("scale infinite", lambda: ls.RandomWalk(math.inf), ValueError, "scale of RandomWalk is inf", "finite"),
    case("scale a string", lambda: ls.RandomWalk("wide"), TypeError, "scale of RandomWalk", "'wide'", "real numbers"),
    case("scale None", lambda: ls.RandomWalk(None), TypeError, "scale of RandomWalk is None", "real numbers"),
    case("scale True", lambda: ls.RandomWalk(True), TypeError, "scale of RandomWalk is True", "real numbers"),
    case("scale complex", lambda: ls.RandomWalk(1j), TypeError, "scale of RandomWalk is 1j", "real numbers"),
    case("scale empty", lambda: ls.RandomWalk([]), ValueError, r"scale of RandomWalk is \[\]", "at least one"),
    case(
        "scale a covariance",
        lambda: ls.RandomWalk([[1.0, 0.5], [0.5, 1.0]]),
        ValueError,
        "scale of RandomWalk",
        r"\(2, 2\) that is not lower triangular",
        r"np.linalg.cholesky\(covariance\)",
    ),
    case("scale not square", lambda: ls.RandomWalk(np.ones((2, 3))), ValueError, "scale", r"\(2, 3\)", "cholesky"),
    case(
        "scale with a zero on the diagonal",
        lambda: ls.RandomWalk([[1.0, 0.0], [0.5, 0.0]]),
        ValueError,
        "scale of RandomWalk has the diagonal",
        r"\[1.0, 0.0\]",
        "positive",
    ),
    case("scale a cube", lambda: ls.RandomWalk(np.ones((2, 2, 2))), ValueError, "scale", r"\(2, 2, 2\)", "a matrix"),
    case(
        "scale of another size",
        lambda: run(standard(proposal=ls.RandomWalk([1.0, 1.0, 1.0])), np.zeros(2)),
        ValueError,
        r"scale of RandomWalk has shape \(3,\)",
        "the position has 2 components",
        "a vector of 2",
    ),
    case("half width zero", lambda: ls.UniformWalk(0.0), ValueError, "half_width of UniformWalk", "0.0", "positive"),
    case("half width a matrix", lambda: ls.UniformWalk(np.eye(2)), ValueError, "half_width", r"\(2, 2\)", "vector"),
    case("mean NaN", lambda: ls.IndependentNormal(math.nan, 1.0), ValueError, "mean of Indep", "nan", "finite"),
    case(
        "mean of another size",
        lambda: run(standard(proposal=ls.IndependentNormal(np.zeros(3), 1.0)), np.zeros(2)),
        ValueError,
        r"mean of IndependentNormal has shape \(3,\)",
        "2 components",
        "give a number or a vector of 2",
    ),
    case("low above high", lambda: ls.IndependentUniform(2.0, 1.0), ValueError, "low of", "2.0", "high, 1.0", "swap"),
    case(
        "low and high of different shapes",
        lambda: ls.IndependentUniform([0.0, 0.0], [1.0, 1.0, 1.0]),
        ValueError,
        r"low of IndependentUniform has shape \(2,\)",
        r"high has shape \(3,\)",
        "for each component",
    ),
    case("high infinite", lambda: ls.IndependentUniform(0.0, math.inf), ValueError, "high of", "inf", "finite"),
    case(
        "start outside the box",
        lambda: run(standard(proposal=ls.IndependentUniform(1.0, 2.0)), 0.0),
        ValueError,
        r"initial is \[0.0\]",
        "IndependentUniform",
        "start inside",
    ),
    case(
        "independent sample of another shape",
        lambda: run(standard(proposal=ls.Independent(lambda key: jr.normal(key, (3,)), log_density))),
        ValueError,
        "sample of Independent",
        r"shape \(3,\)",
        r"the position is an array of shape \(\)",
        "like the position",
    ),
    case(
        "independent sample of another structure",
        lambda: run(standard(proposal=ls.Independent(lambda key: (jr.normal(key),), log_density))),
        ValueError,
        "sample of Independent returned a tuple",
        "like the position",
    ),
    case(
        "independent sample that would be cut to integers",
        lambda: run(standard(proposal=ls.Independent(lambda key: jr.normal(key), log_density)), 0),
        ValueError,
        "sample of Independent",
        "dtype float64",
        "dtype int64",
        "like the position",
    ),
    case("matrix not square", lambda: ls.Finite(np.ones((2, 3)) / 3), ValueError, "matrix of", r"\(2, 3\)", "square"),
    case("matrix empty", lambda: ls.Finite(np.zeros((0, 0))), ValueError, "matrix of Finite", "holds no number"),
    case(
        "matrix not stochastic",
        lambda: ls.Finite([[0.5, 0.6], [0.5, 0.5]]),
        ValueError,
        "matrix of Finite: row 0",
        "1.1",
        "divide it by its sum",
    ),
    case(
        "matrix negative",
        lambda: ls.Finite([[1.5, -0.5], [0.5, 0.5]]),
        ValueError,
        "matrix of Finite",
        "negative entry, -0.5",
        "make them 0 or positive",
    ),
    case(
        "matrix with a one-way move",
        lambda: ls.Finite([[0.5, 0.5], [0.0, 1.0]]),
        ValueError,
        "matrix of Finite proposes 1 from 0 but never 0 from 1",
        "make both",
    ),
    case("Finite from a float", lambda: run(TWO_STATES, 0.0), TypeError, "Finite", "float64", "start from an integer"),
    case("Finite from a vector", lambda: run(TWO_STATES, np.array([0, 1])), TypeError, "Finite", r"\(2,\)", "integer"),
    case("Finite from no state", lambda: run(TWO_STATES, 5), ValueError, "initial is 5", "0 to 1", "start at one"),
    case("Finite from a negative state", lambda: run(TWO_STATES, -1), ValueError, "initial is -1", "0 to 1"),
    case("a walk from an integer", lambda: run(initial=0), TypeError, "RandomWalk", "int64", r"0\.0 instead of 0"),
    case("a walk from a boolean", lambda: run(initial=True), TypeError, "RandomWalk", "bool", "decimal points"),
    case(
        "component that is not there",
        lambda: run(standard(lambda p: -(p["a"] ** 2), ls.Component("b", WALK)), {"a": 0.0}),
        ValueError,
        "where of Component is 'b'",
        "a dict",
        "give one that it has",
    ),
    case(
        "component beyond the end",
        lambda: run(standard(proposal=ls.Component(5, WALK)), np.zeros(2)),
        ValueError,
        "where of Component is 5",
        r"shape \(2,\)",
        "give one that it has",
    ),
    case("component arguments swapped", lambda: ls.Component(WALK, "a"), TypeError, "where of", "RandomWalk", "key"),
    case("component without a proposal", lambda: ls.Component("a", 1.0), TypeError, "proposal of", "1.0", "ls.Random"),
    case(
        "candidate unlike the position",
        lambda: run(standard(lambda t: -jnp.sum(t**2), Shifted())),
        ValueError,
        "proposal returned a candidate of shape",
        r"\(2,\)",
        r"position has shape \(\)",
    ),
    case(
        "candidate unlike the position of a black box",
        lambda: run(standard(ls.blackbox(never_called), Shifted())),
        ValueError,
        "proposal returned a candidate of shape",
        r"\(2,\)",
        r"position has shape \(\)",
    ),
]

KERNELS = [
    case("standard, swapped", lambda: standard(WALK, log_density), TypeError, "log_density", "RandomWalk", "order"),
    case(
        "standard, a class as proposal", lambda: standard(proposal=ls.RandomWalk), TypeError, "proposal", "got <class"
    ),
    case("standard, a number as proposal", lambda: standard(proposal=1.0), TypeError, "proposal", "got 1.0", "ls.Ran"),
    case("standard, no density", lambda: standard(None), TypeError, "log_density must be a function", "not None"),
    case("standard, a class as density", lambda: standard(dict), TypeError, "log_density", "class dict", "an instance"),
    case("naive, swapped", lambda: ls.naive(WALK, mean()), TypeError, "estimator", "got RandomWalk", "right order"),
    case(
        "naive, a function", lambda: naive(one_sample), TypeError, "estimator", "one_sample", r"mean\(sample, count\)"
    ),
    case("naive, undecorated", lambda: naive(UndecoratedEstimator()), TypeError, "estimator", "Undecor", "ls.part"),
    case("penalty, the constructor", lambda: ls.penalty(ls.estimators.mean, WALK), TypeError, "estimator", "mean at"),
    case(
        "penalty, count 1",
        lambda: ls.penalty(mean(count=1), WALK),
        ValueError,
        "estimator Mean",
        "count=1",
        "count >= 2",
        "known_variance",
    ),
    case("corrected, count 1", lambda: ls.corrected(smooth(count=1), WALK), ValueError, "count=1", "count >= 2"),
    case(
        "corrected, two-sided of count 1",
        lambda: ls.corrected(ls.estimators.two_sided(mean(count=1)), WALK),
        ValueError,
        "estimator TwoSided",
        "count >= 2",
    ),
    case("a rule that is none", lambda: ls.Estimated(mean(), max), TypeError, "rule", "max", "ls.rules.corrected"),
    case("universal, bound 0", lambda: ls.universal(mean(), 0, WALK), ValueError, "bound is 0", "positive"),
    case("universal, bound NaN", lambda: ls.universal(mean(), math.nan, WALK), ValueError, "bound is nan", "positive"),
    case("universal, bound a string", lambda: ls.universal(mean(), "c", WALK), ValueError, "bound is 'c'", "positive"),
    case("universal, bound None", lambda: ls.universal(mean(), None, WALK), ValueError, "bound is None", "positive"),
    case("universal, swapped", lambda: ls.universal(mean(), WALK, 1.0), ValueError, "bound is RandomWalk", "positive"),
    case("correlation 1", lambda: pseudo_marginal(1.0), ValueError, "correlation is 1.0", "below 1"),
    case("correlation negative", lambda: pseudo_marginal(-0.1), ValueError, "correlation is -0.1", "at least 0"),
    case("correlation NaN", lambda: pseudo_marginal(math.nan), ValueError, "correlation is nan", "at least 0"),
    case("correlation a string", lambda: pseudo_marginal("high"), ValueError, "correlation is 'high'", "one number"),
    case(
        "correlation without draw", lambda: pseudo_marginal(0.5, None), TypeError, "correlation is 0.5", "give a draw"
    ),
    case(
        "correlation with integer noise",
        lambda: run(pseudo_marginal(0.5, lambda key: jr.randint(key, (3,), 0, 9))),
        TypeError,
        "correlation: draw",
        "int64",
        "standard normal",
    ),
    case(
        "correlation of a known density",
        lambda: ls.Carried(STANDARD.ratio.evaluate, 0.5),
        ValueError,
        "correlation is 0.5",
        "leave it out",
    ),
    case("a function to carry", lambda: ls.Carried(log_density), TypeError, "evaluate of Carried", "ls.standard"),
    case("pseudo-marginal, draw a number", lambda: pseudo_marginal(0.5, 3), TypeError, "draw must be a function", "3"),
    case("pseudo-marginal, init without key", lambda: pseudo_marginal(0.0).init(0.0), ValueError, "init needs a key"),
    case(
        "randomized by an involution",
        lambda: ls.randomized(log_density, WALK, ls.Reflection(1.0)),
        TypeError,
        "randomization",
        "got Reflection",
        "ls.Density",
    ),
    case("exchange without data", lambda: exchange(data=None), TypeError, "data is None", "must be an array"),
    case("exchange of text", lambda: exchange(data="abc"), TypeError, "data is 'abc'", "must be an array"),
    case("exchange of a list", lambda: exchange(data=[0.1, 0.2]), TypeError, "data is a list of 2", "np.asarray"),
    case("exchange, simulate no function", lambda: exchange(simulate=DATA), TypeError, "simulate must be a function"),
    case(
        "exchange, simulate of another shape",
        lambda: run(exchange(simulate=lambda key, theta: jr.normal(key, (4,)))),
        ValueError,
        r"simulate returned an array of shape \(4,\)",
        r"data are an array of shape \(3,\)",
        "a data set like them",
    ),
    case(
        "exchange, simulate of another structure",
        lambda: run(exchange(simulate=lambda key, theta: (jr.normal(key, (3,)),))),
        ValueError,
        "simulate returned a tuple",
        "a data set like them",
    ),
    case(
        "exchange, simulate with NumPy's generator",
        lambda: run(exchange(simulate=lambda key, theta: np.random.default_rng(0).normal(size=3))),
        TypeError,
        "simulate",
        "does not come from its key",
        "jax.random",
    ),
    case(
        "exchange, likelihood a vector",
        lambda: run(exchange(log_likelihood=lambda theta, x: -((x - theta) ** 2))),
        ValueError,
        r"log_likelihood returned an array of shape \(3,\)",
        "jnp.sum",
    ),
    case("auxiliary density a number", lambda: auxiliary(1.0), TypeError, "auxiliary_log_density", "function", "1.0"),
    case("no kernel to cycle", lambda: ls.Cycle([]), ValueError, "kernels of Cycle", "empty", "at least one kernel"),
    case("a cycle of proposals", lambda: ls.Cycle([WALK]), TypeError, "kernels of Cycle", "got Random", "ls.standard"),
    case("no kernel to mix", lambda: ls.Mixture([]), ValueError, "Mixture", "at least one kernel"),
    case(
        "weights that do not sum to 1",
        lambda: ls.Mixture([STANDARD, STANDARD], [0.5, 0.6]),
        ValueError,
        "weights of Mixture",
        r"\[0.5, 0.6\]",
        "2 positive numbers that sum to 1",
    ),
    case("weights too few", lambda: ls.Mixture([STANDARD] * 2, [1.0]), ValueError, "weights", r"\[1.0\]", "give 2"),
    case("weights NaN", lambda: ls.Mixture([STANDARD] * 2, [math.nan, 1.0]), ValueError, "weights", "nan", "finite"),
    case(
        "different random memories",
        lambda: ls.Cycle([pseudo_marginal(0.5), pseudo_marginal(0.7)]),
        ValueError,
        "Cycle",
        "random estimate",
        "give each the same log_estimate and draw",
    ),
    case(
        "random and known memories",
        lambda: ls.Mixture([STANDARD, pseudo_marginal()]),
        ValueError,
        "Mixture",
        "the very same estimate",
    ),
]

INVOLUTIONS = [
    case(
        "Mobius constant", lambda: ls.Mobius(0.0, 1.0, 0.0), ValueError, "Mobius", "a=0.0, b=1.0, c=0.0", "change one"
    ),
    case("Mobius NaN", lambda: ls.Mobius(1.0, math.nan, 0.0), ValueError, "b of Mobius is nan", "finite"),
    case("Reflection of text", lambda: ls.Reflection("s"), TypeError, "total of Reflection", "'s'", "real numbers"),
    case("involution text", lambda: density(involution="flip"), TypeError, "involution", "'flip'", r"ls.Identity\(\)"),
    case(
        "involution a class", lambda: density(involution=ls.Identity), TypeError, "involution", "Identity", "instance"
    ),
    case(
        "involution of another shape",
        lambda: run(randomized(involution=lambda x: jnp.stack([x, x]))),
        ValueError,
        r"involution returned an array of shape \(2,\)",
        r"an array of shape \(\) as x is",
        "log_abs_jacobian",
    ),
    case(
        "involution returns None",
        lambda: run(randomized(involution=lambda x: None)),
        TypeError,
        "involution returned None",
        "`return` missing",
    ),
    case(
        "density with too few arguments",
        lambda: run(randomized(log_density=lambda x: -(x**2))),
        TypeError,
        "log_density of Density must take 3 positional arguments",
        r"\(x\)",
    ),
    case(
        "density sample returns None",
        lambda: run(randomized(sample=lambda key, position, candidate: None)),
        TypeError,
        "sample of Density returned None",
        "`return` missing",
    ),
    case("tempering of a number", lambda: ls.tempering(3.0), TypeError, "log_density must be a function", "3.0"),
]

ESTIMATORS = [
    *(
        case(
            f"count {count!r}",
            lambda count=count: mean(count=count),
            ValueError,
            f"count of mean is {count!r};",
            "whole",
        )
        for count in (0, -3, 2.0, True, "8", None)
    ),
    case("with_count 0", lambda: mean().with_count(0), ValueError, "count is 0", "at least 1"),
    case("no sample", lambda: ls.estimators.mean(None, 4), ValueError, "sample of mean is None", "give a sample"),
    case("sample and count swapped", lambda: ls.estimators.mean(4, one_sample), TypeError, "sample of mean", "not 4"),
    case("draw a number", lambda: mean(draw=4), TypeError, "draw of mean must be a function", "not 4"),
    case(
        "draw of too few rows",
        lambda: run(naive(mean(draw=lambda key, count: jr.normal(key, (3,))))),
        ValueError,
        r"draw of mean, called with \(key, 4\)",
        r"shape \(3,\)",
        "must have length 4",
    ),
    case(
        "draw of one number",
        lambda: run(naive(mean(draw=lambda key, count: jr.normal(key)))),
        ValueError,
        "draw of mean",
        r"shape \(\)",
        "one row a sample",
    ),
    case(
        "draw returns None",
        lambda: run(naive(mean(draw=lambda key, count: None))),
        TypeError,
        "draw of mean returned None",
        "`return` missing",
    ),
    case(
        "draw takes no count",
        lambda: run(naive(mean(draw=lambda key: jr.normal(key, (4,))))),
        TypeError,
        "draw of mean must take 2 positional arguments",
        r"\(key\)",
    ),
    case(
        "draw with NumPy's generator",
        lambda: run(naive(mean(draw=lambda key, count: np.random.default_rng(0).normal(size=count)))),
        TypeError,
        "draw of mean",
        "the same at every update",
        "jax.random",
    ),
    case(
        "draws that are no numbers",
        lambda: run(naive(ls.estimators.mean(None, 4, draw=lambda key, count: jr.normal(key, (count, 2))))),
        ValueError,
        "draw of mean",
        r"\(4, 2\)",
        "give a sample function",
    ),
    *(
        case(f"sample returns {name}", lambda r=r: run(naive(mean(lambda *_: r))), error, "sample of mean", *message)
        for name, r, error, message in [
            ("None", None, TypeError, ("returned None", "`return` missing")),
            ("a complex number", 1j, TypeError, ("complex", r"take \.real")),
            ("a tuple", (1.0, 2.0), TypeError, ("a tuple", "one real number")),
            ("a string", "x", TypeError, ("'x'", "one real number")),
            ("a vector", np.zeros(3), ValueError, (r"shape \(3,\)", "jnp.sum")),
            ("a key", jr.key(0), TypeError, ("a random key", "one real number")),
        ]
    ),
    case("no combine", lambda: smooth(combine=None), TypeError, "combine of smooth must be a function", "None"),
    case(
        "combine returns a vector",
        lambda: run(naive(smooth(lambda noise, position, candidate: noise * jnp.ones(2)))),
        ValueError,
        r"combine of smooth returned an array of shape \(2,\)",
        "one number",
    ),
    case(
        "smooth of tuples",
        lambda: run(naive(smooth(lambda noise, position, candidate: (noise, noise)))),
        ValueError,
        "the 4 samples of smooth",
        "a tuple",
        "flatten or concatenate",
    ),
    case(
        "smooth of complex numbers",
        lambda: run(naive(smooth(lambda noise, position, candidate: noise + 1j))),
        TypeError,
        "samples of smooth",
        "complex128",
        "real numbers",
    ),
    case(
        "no weights",
        lambda: ls.estimators.log_mean_exp(None, 4, normals),
        TypeError,
        "log_weight of log_mean_exp must be a function",
        "got None",
    ),
    case(
        "batches that do not divide",
        lambda: ls.estimators.batch_means(one_sample, 30),
        ValueError,
        "count of batch_means is 30",
        "no multiple of batches, 16",
        "take 16",
    ),
    case("one batch", lambda: ls.estimators.batch_means(one_sample, 8, 1), ValueError, "batches of", "1", "at least 2"),
    case(
        "batches of too few samples",
        lambda: run(naive(ls.estimators.batch_means(lambda key, p, c: jr.normal(key, (5,)), 8, 4))),
        ValueError,
        "samples of batch_means",
        r"shape \(5,\)",
        "the 8 consecutive samples",
    ),
    *(
        case(
            f"known variance {value!r}",
            lambda value=value: ls.estimators.known_variance(mean(), value),
            ValueError,
            "variance of known_variance is",
            re.escape(repr(value)),
            "finite, non-negative",
        )
        for value in (-1.0, math.nan, math.inf, "one", None, [1.0, 2.0])
    ),
    *(
        case(
            f"gaussianized variance {value!r}",
            lambda value=value: gaussianized(value),
            ValueError,
            "variance of gaussianized is",
            re.escape(repr(value)),
            "one positive number",
        )
        for value in (0.0, -1.0, math.nan, "one")
    ),
    case(
        "variance of a function", lambda: ls.estimators.known_variance(one_sample, 1.0), TypeError, "estimator", "mean"
    ),
    case("two sides of a function", lambda: ls.estimators.two_sided(one_sample), TypeError, "estimator", "one_sample"),
    case("difference of functions", lambda: ls.estimators.difference(mean(), max), TypeError, "at_candidate", "max"),
    case(
        "no estimate",
        lambda: run(naive(ConstantEstimator(1.0))),
        TypeError,
        "estimator returned",
        r"ls\.Estimate\(value, bias, variance, third, count\)",
    ),
    case(
        "no estimate, universal",
        lambda: run(ls.universal(ConstantEstimator(1.0), 1.0, WALK)),
        TypeError,
        "estimator returned",
        r"ls\.Estimate\(",
    ),
    case(
        "an estimate of a vector",
        lambda: run(naive(ConstantEstimator(ls.Estimate(np.zeros(2), 0.0, 0.0, 0.0, 1)))),
        ValueError,
        r"estimator returned value of shape \(2,\)",
        "one number",
    ),
]

DENSITIES = [
    *(
        case(f"density returns {name}", lambda r=r: run(standard(lambda t: r)), error, "log_density returned", *message)
        for name, r, error, message in [
            ("None", None, TypeError, ("None", "`return` missing")),
            ("a complex number", 1j, TypeError, ("complex", r"take \.real")),
            ("a tuple", (1.0, 2.0), TypeError, ("a tuple", "one real number")),
            ("a string", "x", TypeError, ("'x'", "one real number")),
            ("a boolean", True, TypeError, ("a boolean", r"jnp\.where")),
            ("a vector", np.zeros(3), ValueError, (r"shape \(3,\)", "jnp.sum")),
        ]
    ),
    *(
        case(
            f"density {name}", lambda f=f: run(standard(f)), TypeError, "log_density is not a JAX function", "jax.numpy"
        )
        for name, f in [
            ("with if", lambda theta: 0.0 if theta > 0 else -1.0),
            ("with math", lambda theta: math.exp(theta)),
            ("with numpy", lambda theta: np.sin(theta)),
            ("with float", lambda theta: float(theta)),
            ("with a boolean index", lambda theta: jnp.zeros(1)[theta[None] > 0].sum()),
        ]
    ),
    case(
        "density of two arguments",
        lambda: run(standard(lambda theta, data: 0.0)),
        TypeError,
        "log_density must take 1 positional argument",
        r"\(theta, data\)",
    ),
    case(
        "density of none",
        lambda: run(standard(lambda: 0.0)),
        TypeError,
        "log_density must take 1 positional argument",
        "too many",
    ),
    *(
        case(
            f"density {name} at the start",
            lambda f=f: run(standard(f), ls.Starts(np.array([2.0, 0.5]))),
            ValueError,
            f"log_density is {name} at the initial position 0.5 of chain 1",
            "start where it is finite",
        )
        for name, f in [
            ("nan", lambda theta: jnp.where(theta < 1, jnp.nan, 0.0)),
            ("-inf", lambda theta: jnp.where(theta < 1, -jnp.inf, 0.0)),
            ("inf", lambda theta: jnp.where(theta < 1, jnp.inf, 0.0)),
        ]
    ),
    case(
        "likelihood NaN at the start",
        lambda: run(exchange(data=np.array([0.0, math.nan, 1.0]))),
        ValueError,
        r"log_prior \+ log_likelihood is nan at the initial position 0.0",
    ),
]

SAMPLING = [
    *(
        case(
            f"{name} {value!r}",
            lambda name=name, value=value: run(**{name: value}),
            ValueError,
            f"{name} is {re.escape(repr(value))}",
            f"a whole number, at least {least}",
        )
        for name, least in [("draws", 1), ("chains", 1), ("thin", 1), ("warmup", 0), ("seed", 0)]
        for value in (least - 1, 1.5, 10.0, True, "10", None)
    ),
    case("seed too large", lambda: run(seed=2**70), ValueError, f"seed is {2**70}", f"at most {2**63 - 1}"),
    *(
        case(f"kernel {name}", lambda k=k: run(k), TypeError, "kernel must be a kernel", "ls.standard", "got", got)
        for name, k, got in [
            ("a class", ls.MetropolisHastings, "class"),
            ("a function", log_density, "log_density at"),
            ("a constructor", ls.standard, "standard at"),
            ("a proposal", WALK, "RandomWalk"),
            ("a ratio", STANDARD.ratio, "Carried"),
            ("an estimator", mean(), "Mean"),
            ("a list", [STANDARD, STANDARD], r"\["),
            ("None", None, "None"),
        ]
    ),
    case("kernel and initial swapped", lambda: ls.sample(0.0, STANDARD), TypeError, "kernel must be", "got 0.0"),
    case("initial None", lambda: run(initial=None), ValueError, "initial is None", "give a position"),
    case("initial empty", lambda: run(initial=np.zeros(0)), ValueError, "initial is array", "give a position"),
    case("initial a string", lambda: run(initial="zero"), TypeError, "initial is 'zero'", "real numbers"),
    case(
        "initial holds a string", lambda: run(initial={"a": "x"}), TypeError, r"initial\['a'\] is 'x'", "real numbers"
    ),
    case("initial complex", lambda: run(initial=1j), TypeError, "initial is 1j", "real numbers"),
    case("initial NaN", lambda: run(initial=math.nan), ValueError, "initial holds nan", "give finite numbers"),
    case("initial infinite", lambda: run(initial=math.inf), ValueError, "initial holds inf", "give finite numbers"),
    case("initial a key", lambda: run(initial=jr.key(0)), TypeError, "initial is a random key", "function of a key"),
    case("initial a class", lambda: run(initial=ls.Starts), TypeError, "initial is the class Starts", "instance"),
    case(
        "starts for other chains",
        lambda: run(initial=ls.Starts(np.zeros(3))),
        ValueError,
        r"initial: Starts holds an array of shape \(3,\)",
        "the 2 chains",
    ),
    case("starts as a list", lambda: run(initial=ls.Starts([0.0, 1.0])), ValueError, "Starts holds a list", "2 chains"),
    case(
        "one start NaN", lambda: run(initial=ls.Starts(np.array([0.0, np.nan]))), ValueError, "nan", "chain 1", "give"
    ),
    case("initial returns None", lambda: run(initial=lambda key: None), TypeError, "initial returned None", "`return`"),
    case("initial returns text", lambda: run(initial=lambda key: "x"), TypeError, "initial returned 'x'", "an array"),
    case("initial takes no key", lambda: run(initial=lambda: 0.0), TypeError, "initial must take 1", r"is \(\)"),
    case(
        "initial not of JAX",
        lambda: run(initial=lambda key: float(jr.normal(key))),
        TypeError,
        "initial is not a JAX function",
        "jax.random",
    ),
    case("initial draws integers", lambda: run(initial=lambda key: 0), TypeError, "RandomWalk", "int64", "0.0 instead"),
    case("initial draws NaN", lambda: run(initial=lambda key: jnp.nan), ValueError, "initial holds nan", "finite"),
    case(
        "initial of another structure",
        lambda: run(standard(lambda p: -(p["a"] ** 2)), lambda key: (jr.normal(key),)),
        TypeError,
        "indices",
        "log_density was called with a tuple of arrays",
    ),
]

CASES = [*PROPOSALS, *KERNELS, *INVOLUTIONS, *ESTIMATORS, *DENSITIES, *SAMPLING]


@pytest.mark.parametrize("bad", CASES, ids=[c.name for c in CASES])
def test_an_error_names_the_argument_its_value_and_the_remedy(bad):
    with pytest.raises(bad.error) as caught:
        bad.call()
    assert type(caught.value) is bad.error
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    for expression in bad.message:
        assert re.search(expression, message), f"{expression!r} is not in: {message}"


def test_the_names_of_the_cases_are_unique_and_they_are_many():
    assert len({c.name for c in CASES}) == len(CASES) >= 40


# --- what is no error ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("start", [np.float32(0.5), np.zeros((), np.float16), jnp.float32(0.5)])
def test_a_start_in_single_precision_runs_in_double(start):
    positions = run(initial=start).positions
    assert positions.dtype == np.float64
    assert np.any(positions != positions.astype(np.float32))


def test_an_error_of_the_users_own_arrives_as_itself():
    mistake = KeyError("mine")

    def failing(theta):
        raise mistake

    with pytest.raises(KeyError) as caught:
        run(standard(failing))
    assert caught.value is mistake
    assert "log_density was called with an array of shape ()." in caught.value.__notes__


def test_a_mean_in_the_shape_of_the_position_is_taken():
    proposal = ls.IndependentNormal(np.ones((2, 2)), 1.0)
    candidate, _ = proposal(proposal.noise(jr.key(0), jnp.zeros((2, 2))), jnp.zeros((2, 2)))
    assert candidate.shape == (2, 2)


# --- what is found only while running --------------------------------------------------------------------------------
def nan_sample(noise, position, candidate):
    return jnp.nan * noise


NOTHING_BUT_NAN = {
    "estimator returned value nan": naive(mean(nan_sample)),
    "log_density returned nan": standard(lambda theta: jnp.where(theta == 0, 0.0, jnp.nan)),
    "estimator returned variance -1": ls.penalty(ls.estimators.known_variance(mean(), lambda *_: -1.0), WALK),
    "the weight of the randomization is nan": exchange(lambda theta, x: jnp.where(x[0] == 0.3, 0.0, jnp.nan)),
    # One kernel that works does not hide another one that does not.
    r"estimator returned value (?=nan)": ls.Cycle([STANDARD, naive(mean(nan_sample))]),
}


@pytest.mark.parametrize("message", NOTHING_BUT_NAN)
def test_nothing_but_nan_is_an_error(message):
    with pytest.raises(FloatingPointError, match="every log ratio") as caught:
        run(NOTHING_BUT_NAN[message])
    assert re.search(message + r".* at candidate -?\d+\.\d+; .* must", str(caught.value))


def caught_warnings(*arguments, **options):
    """A run, and the texts of Lockstep's warnings about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(*arguments, **options)
    assert {w.category for w in caught} <= {LockstepWarning}
    assert all(w.filename == __file__ for w in caught)
    return result, [str(w.message) for w in caught]


LATER_NAN = standard(lambda theta: jnp.where(theta > 2, jnp.nan, -0.5 * theta**2))


def test_a_nan_later_is_counted_and_warned_about_once():
    result, messages = caught_warnings(LATER_NAN, 1.5, draws=128)
    bad = result.info.is_valid.size - result.info.is_valid.sum()
    assert bad > 0
    assert np.array_equal(~result.info.is_valid, np.isnan(result.info.log_ratio))
    assert not result.info.is_accepted[~result.info.is_valid].any()
    assert len(messages) == 1
    assert messages[0].startswith(f"{bad} log ratios ({bad / 256:.2%}) were NaN")
    where = re.search(r"log_density returned nan at candidate (\d\.\d+); it must return a number", messages[0])
    assert where is not None and float(where[1]) > 2
    assert "info.is_valid tells where" in messages[0]


def test_thinned_runs_count_every_nan():
    options = {"initial": 1.5, "draws": 128}
    every, _ = caught_warnings(LATER_NAN, **options)
    thinned, messages = caught_warnings(LATER_NAN, **{**options, "draws": 32}, thin=4)
    assert np.array_equal(every.info.is_valid.reshape(2, 32, 4).sum(axis=2), thinned.info.is_valid)
    bad = 256 - thinned.info.is_valid.sum()
    assert len(messages) == 1 and f"{bad} log ratios ({bad / 256:.2%})" in messages[0]


def test_a_nan_in_the_warm_up_is_not_forgotten():
    every, _ = caught_warnings(LATER_NAN, 1.5, draws=128)
    is_bad = ~every.info.is_valid
    # Forget all but a stretch at the end, which may or may not hold another one.
    kept, messages = caught_warnings(LATER_NAN, 1.5, draws=2, warmup=120, thin=4)
    in_warmup = is_bad[:, :120].sum()
    assert in_warmup > 0 and len(messages) == 1
    assert np.array_equal(kept.info.is_valid, (~is_bad[:, 120:]).reshape(2, 2, 4).sum(axis=2))
    assert re.search(rf"(^|and ){in_warmup} (log ratios of|in) the warm-up", messages[0])


def test_zero_density_is_an_honest_rejection():
    result, messages = caught_warnings(standard(lambda theta: jnp.where(theta > 2, -jnp.inf, -0.5 * theta**2)), 1.5)
    assert np.isneginf(result.info.log_ratio).any()
    assert result.info.is_valid.all()
    assert messages == []


def test_a_variance_that_is_negative_only_sometimes_is_counted():
    noisy = ls.estimators.known_variance(mean(), lambda position, candidate: jnp.where(candidate > 1, -0.3, 0.3))
    result, messages = caught_warnings(ls.penalty(noisy, WALK), draws=64)
    bad = (~result.info.is_valid).sum()
    assert 0 < bad < 128 and result.positions.max() <= 1
    assert len(messages) == 1
    assert f"{bad} log ratios ({bad / 128:.2%})" in messages[0]
    assert re.search(r"estimator returned variance -0\.3 at candidate \d.*a variance must be finite", messages[0])


def test_violations_of_the_universal_rule_are_counted():
    result, messages = caught_warnings(ls.universal(mean(), 0.5, WALK), draws=64)
    broken = result.info.is_violated.sum()
    assert 0 < broken < 128
    assert result.info.is_valid.all()
    assert len(messages) == 1
    assert f"{broken} errors ({broken / 128:.2%}) were above the bound" in messages[0]
    assert "raise the bound" in messages[0]


def test_chains_that_never_move_are_mentioned():
    stuck = standard(lambda theta: jnp.where(theta == 0, 0.0, -jnp.inf))
    result, messages = caught_warnings(stuck, draws=64)
    assert result.acceptance == 0 and len(messages) == 1
    assert "no candidate was accepted" in messages[0] and "scale of the proposal" in messages[0]


def test_hyperparameters_may_be_traced():
    """The checks look only at values that are known."""

    def traced(value):
        noisy = ls.estimators.known_variance(gaussianized(value), value)
        kernel = ls.universal(noisy, value, ls.RandomWalk(value))
        return kernel.ratio.bound + ls.Reflection(value).total + ls.IndependentUniform(-value, value).high

    assert jax.jit(traced)(1.0) == 3.0


# --- candidates outside the support are honest rejections, for every rule ---------------------------------------------
def gamma(theta):
    return jnp.where(theta > 0, 2 * jnp.log(jnp.maximum(theta, 1e-300)) - theta, -jnp.inf)


def test_a_candidate_of_zero_density_is_no_nan():
    def sample(noise, position, candidate):
        return gamma(candidate) - gamma(position) + noise

    walk = ls.RandomWalk(2.0)
    noisy = ls.estimators.mean(sample, 4, draw=lambda key, count: jr.normal(key, (count,)))

    def simulate(key, theta):
        return jnp.where(theta > 0, theta, jnp.nan) + jr.normal(key)

    def likelihood(theta, x):
        return -0.5 * (x - theta) ** 2

    for kernel in (
        ls.penalty(noisy, walk),
        ls.corrected(noisy, walk),
        ls.randomized(gamma, walk, ls.tempering(gamma)),
        ls.exchange(gamma, likelihood, simulate, jnp.array(2.0), walk),
        ls.auxiliary_variable(gamma, likelihood, simulate, lambda x: likelihood(2.0, x), jnp.array(2.0), walk),
    ):
        run = ls.sample(kernel, 2.0, draws=100, chains=2, seed=1)  # a warning would be an error here
        assert run.info.is_valid.all()
        assert (run.info.log_ratio == -np.inf).any()


def test_generators_other_than_the_key_are_refused():
    numbers = np.random.default_rng(0)
    target = ls.Independent(lambda key: numbers.normal(), lambda theta: -0.5 * theta**2)
    with pytest.raises(TypeError, match=r"sample of Independent .* does not come from its key"):
        ls.sample(ls.standard(lambda theta: -0.5 * theta**2, target), 0.0, draws=10, chains=2)
    with pytest.raises(TypeError, match=r"initial .* come from its key"):
        kernel = ls.standard(lambda theta: -0.5 * theta**2, ls.RandomWalk(1.0))
        ls.sample(kernel, lambda key: numbers.normal(), draws=10, chains=2)


def test_a_series_for_a_known_variance_is_refused():
    noisy = ls.estimators.mean(lambda key, a, b: b - a + jr.normal(key), 4)
    with pytest.raises(ValueError, match="series"):
        ls.penalty(ls.estimators.known_variance(noisy, 0.25), ls.RandomWalk(1.0), series=True)
