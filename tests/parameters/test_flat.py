"""With a flat likelihood the posterior is the prior: for every prior and support, and with no wrong Jacobian.

Thousands of independent chains begin at draws of SciPy's and NumPyro's own and are moved, one parameter at a time. A
kernel of the prior leaves their law as it is, exactly: what is tested are probabilities of values, which must be
uniform. That chains from anywhere come to the prior is another matter, which the study at the end shows.
"""

from __future__ import annotations

import copy
import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions.transforms import OrderedTransform
from scipy import stats
from test_supports import FROZEN

import lockstep as ls
from lockstep.core.parts import set_field
from lockstep.core.precision import canonical, double_precision
from lockstep.parameters.supports import Support

THRESHOLD = 1e-6
CHAINS, MOVES = 4096, 4  # updates of each parameter, on average


@dataclasses.dataclass(frozen=True)
class Law:
    """A prior as a user gives it, exact draws from it, and what of a value is uniform under it (a column each)."""

    given: object
    draw: object
    uniform: object
    log_prior: object = None  # where a support alone is given


def one(given, law, log_prior=None):
    """A prior of one number, with the frozen distribution of SciPy that it is."""
    return Law(given, lambda rng, count: law.rvs(count, random_state=rng), lambda x: law.cdf(x)[:, None], log_prior)


def shares(given, weights):
    """A Dirichlet distribution, whose components are beta."""
    rest = sum(weights)
    laws = [stats.beta(weight, rest - weight) for weight in weights]
    return Law(
        given,
        lambda rng, count: rng.dirichlet(weights, count),
        lambda x: np.stack([law.cdf(x[:, k]) for k, law in enumerate(laws)], axis=1),
    )


PLANE = np.array([[1.0, 0.6], [0.6, 2.0]])


def plane(given):
    """Two normal numbers; their sum is normal as well."""

    def uniform(x):
        total = x.sum(axis=1) / np.sqrt(PLANE.sum())
        return stats.norm.cdf(np.column_stack([x / np.sqrt(np.diag(PLANE)), total]))

    return Law(given, lambda rng, count: rng.multivariate_normal(np.zeros(2), PLANE, count), uniform)


def rising(values):
    """The steps of rising numbers, each normal or lognormal."""
    return stats.norm.cdf(np.column_stack([values[:, 0], np.log(np.diff(values, axis=1))]))


def steps(rng, count):
    first, *others = rng.normal(size=(3, count))
    return np.cumsum([first, *np.exp(others)], axis=0).T


def sorted_normals(rng, count):
    return np.sort(rng.normal(size=(count, 3)), axis=1)


def order_statistics(values):
    return np.stack([stats.beta(k + 1, 3 - k).cdf(stats.norm.cdf(values[:, k])) for k in range(3)], axis=1)


def log_normal(x):
    return -0.5 * jnp.sum(x**2)


SCIPY = {name: one(frozen, frozen) for name, frozen in FROZEN.items()}
CALLED = {  # those that have no formula: compiled code calls SciPy
    "skewnorm": one(stats.skewnorm(3.0), stats.skewnorm(3.0)),
    "powerlaw": one(stats.powerlaw(2.5), stats.powerlaw(2.5)),
    "dirichlet": shares(stats.dirichlet([2.0, 0.7, 1.5]), (2.0, 0.7, 1.5)),
    "multivariate_normal": plane(stats.multivariate_normal([0.0, 0.0], PLANE)),
}
NUMPYRO = {
    "Normal": one(dist.Normal(1.0, 2.0), stats.norm(1.0, 2.0)),
    "HalfNormal": one(dist.HalfNormal(2.0), stats.halfnorm(0.0, 2.0)),
    "LogNormal": one(dist.LogNormal(0.3, 0.5), stats.lognorm(0.5, scale=np.exp(0.3))),
    "Gamma": one(dist.Gamma(2.0, 3.0), stats.gamma(2.0, scale=1 / 3)),
    "InverseGamma": one(dist.InverseGamma(3.0, 2.0), stats.invgamma(3.0, scale=2.0)),
    "Beta": one(dist.Beta(2.0, 0.8), stats.beta(2.0, 0.8)),
    "Uniform": one(dist.Uniform(-1.0, 2.0), stats.uniform(-1.0, 3.0)),
    "Pareto": one(dist.Pareto(1.5, 3.0), stats.pareto(3.0, scale=1.5)),
    "below": one(dist.TruncatedNormal(0.0, 1.0, high=0.5), stats.truncnorm(-np.inf, 0.5)),
    "between": one(dist.TruncatedNormal(0.0, 1.0, low=-0.5, high=2.0), stats.truncnorm(-0.5, 2.0)),
    "StudentT": one(dist.StudentT(4.0, 0.3, 1.2), stats.t(4.0, 0.3, 1.2)),
    "Dirichlet": shares(dist.Dirichlet(jnp.array([0.8, 2.0, 3.0])), (0.8, 2.0, 3.0)),
    "MultivariateNormal": plane(dist.MultivariateNormal(jnp.zeros(2), jnp.asarray(PLANE))),
    "rising": Law(
        dist.TransformedDistribution(dist.Normal(0.0, 1.0).expand([3]).to_event(1), OrderedTransform()),
        steps,
        rising,
    ),
    "LKJ": Law(  # a correlation of two is that of a beta variable, stretched
        dist.LKJ(2, 1.7),
        lambda rng, count: (2 * rng.beta(1.7, 1.7, count) - 1)[:, None, None] * (1 - np.eye(2)) + np.eye(2),
        lambda x: stats.beta(1.7, 1.7).cdf((x[:, 0, 1:] + 1) / 2),
    ),
    "LKJCholesky": Law(
        dist.LKJCholesky(2, 0.8),
        lambda rng, count: np.stack(
            [np.array([[1.0, 0.0], [r, np.sqrt(1 - r**2)]]) for r in 2 * rng.beta(0.8, 0.8, count) - 1]
        ),
        lambda x: stats.beta(0.8, 0.8).cdf((x[:, 1, :1] + 1) / 2),
    ),
}
SUPPORTS = {  # alone, with a joint log prior
    "real": one(ls.real, stats.norm(), log_normal),
    "positive": one(ls.positive, stats.expon(), lambda x: -x),
    "above": one(ls.interval(-1.5, np.inf), stats.gamma(2.0, -1.5), lambda x: jnp.log(x + 1.5) - x),
    "below_2": one(ls.interval(-np.inf, 2.0), stats.truncnorm(-np.inf, 2.0), log_normal),
    "interval": one(ls.interval(-1.0, 3.0), stats.uniform(-1.0, 4.0)),  # flat
    "simplex": shares(ls.simplex(3), (1.0, 1.0, 1.0)),  # flat
    "ordered": Law(ls.ordered(3), sorted_normals, order_statistics, log_normal),
}


@ls.part
class OneOfMany(ls.Proposal):
    """A random walk of one parameter, chosen at random; the noise is that of the one that moves."""

    scales: dict

    def noise(self, key, position, shape=()):
        chosen, walked = jr.split(key)
        most = max(jnp.size(leaf) for leaf in position.values())
        return jr.randint(chosen, shape, 0, len(self.scales)), jr.normal(walked, (*shape, most))

    def __call__(self, noise, position):
        chosen, steps = noise
        moved = {}
        for index, (name, scale) in enumerate(self.scales.items()):
            leaf = position[name]
            moved[name] = leaf + jnp.where(chosen == index, scale, 0.0) * steps[: leaf.size].reshape(leaf.shape)
        return moved, 0.0


def flat(theta):
    return 0.0


def parameters_of(laws):
    def log_prior(theta):
        return sum(law.log_prior(theta[name]) for name, law in laws.items() if law.log_prior is not None)

    return ls.Parameters(**{name: law.given for name, law in laws.items()}, log_prior=log_prior)


@jax.jit
def advanced(kernel, positions, keys):
    """Positions after an update for each key, all chains at once."""
    one = jax.tree.map(lambda leaf: leaf[0], positions)
    chains = len(jax.tree.leaves(positions)[0])

    def update(states, key):
        return jax.vmap(kernel.move)(states, kernel.noise(key, one, (chains,)))[0], None

    return jax.lax.scan(update, jax.vmap(kernel.init)(positions), keys)[0].position


@jax.jit
def on_the_line(parameters, values):
    return jax.vmap(parameters.unconstrained)(values)


@jax.jit
def shown(parameters, positions):
    return jax.vmap(parameters.values)(positions)


def p_values(laws, parameters, chains=CHAINS):
    """Of the test that values are as the prior has them, after some updates of chains that began as draws from it."""
    rng = np.random.default_rng(1)
    starts = {name: law.draw(rng, chains) for name, law in laws.items()}
    with double_precision():
        walked = on_the_line(canonical(parameters, "parameters"), jax.tree.map(jnp.asarray, starts))
        sizes = {name: np.sqrt(value[0].size) for name, value in walked.items()}
        scales = {name: 1.5 * float(stats.iqr(np.asarray(value))) / sizes[name] for name, value in walked.items()}
        kernel = canonical(parameters.posterior(ls.standard(flat, OneOfMany(scales))), "kernel")
        moved = advanced(kernel, walked, jr.split(jr.key(2), MOVES * len(laws)))
        values = shown(canonical(parameters, "parameters"), moved)
    found = {}
    for name, law in laws.items():
        value = np.asarray(values[name])
        assert np.mean(np.any((value != starts[name]).reshape(chains, -1), axis=1)) > 0.7, name
        columns = law.uniform(value)
        worst = min(stats.kstest(column, "uniform").pvalue for column in columns.T)
        found[name] = min(1.0, worst * columns.shape[1])
    return found


# One of each support, of one number and of several; the study has all.
SOME = ("Gamma", "Beta", "below", "StudentT", "Dirichlet", "MultivariateNormal", "rising", "LKJCholesky")
ALL = {"SciPy": SCIPY, "called": CALLED, "some of NumPyro": {name: NUMPYRO[name] for name in SOME}, "NumPyro": NUMPYRO}


@pytest.mark.parametrize(
    "laws",
    [pytest.param(laws, id=name, marks=pytest.mark.study if laws is NUMPYRO else ()) for name, laws in ALL.items()],
)
def test_a_flat_likelihood_gives_the_prior_back(laws):
    found = p_values(laws, parameters_of(laws))
    assert all(p > THRESHOLD for p in found.values()), found


# --- what is wrong is found out ---------------------------------------------------------------------------------------
@ls.part
class Wrong(Support):
    """A support whose log Jacobian is ``factor`` times what it should be, and ``tilt`` times the free numbers more."""

    support: Support
    factor: float
    tilt: float

    shape = property(lambda self: self.support.shape)
    free_shape = property(lambda self: self.support.free_shape)

    def __call__(self, free):
        value, log_jacobian = self.support(free)
        return value, self.factor * log_jacobian + self.tilt * free.sum()

    def inverse(self, value):
        return self.support.inverse(value)

    def contains(self, value):
        return self.support.contains(value)


WRONGS = {"forgotten": (0.0, 0.0), "reversed": (-1.0, 0.0), "twice": (2.0, 0.0), "tilted": (1.0, 0.4)}


HALF = {**SUPPORTS, "LKJ": NUMPYRO["LKJ"]}
RIGHT = parameters_of(HALF)


def with_jacobians(factor, tilt):
    """The parameters with Jacobians that are wrong in one way, or right; numbers of one compiled program."""
    found = copy.copy(RIGHT)
    priors = [dataclasses.replace(prior, support=Wrong(prior.support, factor, tilt)) for prior in RIGHT.priors]
    set_field(found, "priors", tuple(priors))
    return found


def test_a_wrong_jacobian_is_rejected():
    """By the same test; that of the real numbers is 1, and cannot be forgotten."""
    right = p_values(HALF, with_jacobians(1.0, 0.0))
    assert all(p > THRESHOLD for p in right.values()), right
    for name, wrong in WRONGS.items():
        found = p_values(HALF, with_jacobians(*wrong))
        if wrong[1] == 0:
            assert found.pop("real") > THRESHOLD
        assert all(p < THRESHOLD for p in found.values()), (name, found)


def test_the_prior_on_numpy_is_that_of_compiled_code():
    """What black boxes see: values and log prior to rounding, wherever a part computes on NumPy."""
    laws = {**SCIPY, **CALLED, **{name: law for name, law in SUPPORTS.items() if law.log_prior is None}}
    parameters = ls.Parameters(**{name: law.given for name, law in laws.items()})
    rng = np.random.default_rng(3)
    for _ in range(5):
        values = {name: law.draw(rng, 1)[0] for name, law in laws.items()}
        with double_precision():
            position = parameters.unconstrained(values)
            there, log_prior = jax.jit(parameters.evaluate)(position)
        on_host = jax.tree.map(lambda leaf: np.asarray(leaf)[()], position)
        values_on_host, log_on_host = parameters.evaluate(on_host)
        assert not isinstance(log_on_host, jax.Array)
        assert log_on_host == pytest.approx(float(log_prior), rel=1e-11)
        for name in laws:
            np.testing.assert_allclose(values_on_host[name], there[name], rtol=1e-12, atol=1e-14)


@pytest.mark.study
@pytest.mark.optimized
def test_chains_from_one_point_come_to_the_prior():
    """Starts that are draws cannot show this: chains from one point, run until they have forgotten it."""
    start = {name: law.draw(np.random.default_rng(5), 1)[0] for name, law in HALF.items()}
    kernel = RIGHT.posterior(ls.standard(flat, OneOfMany(dict.fromkeys(HALF, 1.5))))
    run = ls.sample(kernel, start, draws=1, chains=CHAINS, thin=300 * len(HALF), seed=7)
    for name, law in HALF.items():
        for column in law.uniform(np.asarray(run.positions[name][:, 0])).T:
            assert stats.kstest(column, "uniform").pvalue > THRESHOLD, name
