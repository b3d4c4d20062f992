"""No two consumers of noise see the same random key: kernels, couplings, proposals, starts, memory, adaptation."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import registry
from covering import chosen, in_turn
from keys import Uses, recorded

import lockstep as ls
from lockstep.core.declared import Part
from lockstep.core.precision import canonical, double_precision
from lockstep.engine import pace
from lockstep.proposals.mixtures import StudentMixture
from lockstep.starts.fit import fitted
from lockstep.starts.states import initial_states

E, WALK = ls.estimators, ls.RandomWalk(2.5)
CENTER = np.zeros(2)


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def by_key(key, position, candidate):
    return log_density(candidate) - log_density(position) + jr.normal(key, (), float)


def with_noise(noise, position, candidate):
    return log_density(candidate) - log_density(position) + 6**0.5 * noise


def normals(key, count):
    return jr.normal(key, (count,), float)


def log_estimate(key, theta):
    return log_density(theta) + 0.1 * jr.normal(key, (), float)


def simulate(key, theta):
    return theta + jr.normal(key, (2,), float)


def log_likelihood(theta, x):
    return -0.5 * jnp.sum((x - theta) ** 2)


def transition(key, theta, x):
    """An update of x that leaves the likelihood alone."""
    return theta - (x - theta) + 0 * jr.normal(key, (), float)


PROPOSALS = {
    "RandomWalk": WALK,
    "UniformWalk": ls.UniformWalk(1.0),
    "IndependentNormal": ls.IndependentNormal(0.0, 1.5),
    "IndependentUniform": ls.IndependentUniform(-3.0, 3.0),
    "IndependentStudent": ls.IndependentStudent(CENTER, np.eye(2)),
    "Independent": ls.Independent(lambda key: jr.normal(key, (2,), float), log_density),
    "CrankNicolson": ls.CrankNicolson(CENTER, np.eye(2), 0.5),
    "Component": ls.Component(0, WALK),
    "StudentMixture": StudentMixture(np.zeros((2, 2)), np.stack([np.eye(2)] * 2), np.log([0.5, 0.5])),
}

ESTIMATORS = {
    "mean of keys": E.mean(by_key, 3),
    "mean": E.mean(with_noise, 3, normals),
    "smooth": E.smooth(by_key, lambda average, position, candidate: average, 3),
    "log_mean_exp": E.log_mean_exp(by_key, 3),
    "batch_means": E.batch_means(lambda key, a, b: jr.normal(key, (4,), float), 4, 2),
    "gaussianized": E.gaussianized(lambda a, b: 0.0 * a[0], lambda noise: noise.mean(), 1.0, 3, normals),
    "two_sided": E.two_sided(E.mean(by_key, 3)),
    "difference": E.difference(E.mean(by_key, 3), E.mean(by_key, 3)),
    "black box": E.mean(ls.blackbox(lambda rng, a, b: rng.normal()), 3),
    "subsample": E.subsample(
        None, lambda theta, row: -row @ theta, np.ones((7, 2)), 3, control=None, weights=np.arange(1, 8)
    ),
}


def exact():
    return ls.standard(log_density, WALK)


def penalty():
    return ls.penalty(E.known_variance(E.mean(with_noise, 1, normals), 6.0), WALK)


EXCHANGES = {
    "exchange": lambda: ls.exchange(log_density, log_likelihood, simulate, CENTER, WALK),
    "noisy exchange": lambda: ls.noisy_exchange(log_density, log_likelihood, simulate, CENTER, WALK, 3),
    "averaged exchange": lambda: ls.averaged_exchange(log_density, log_likelihood, simulate, CENTER, WALK, 3),
    "bridged exchange": lambda: ls.bridged_exchange(
        log_density, log_likelihood, simulate, CENTER, WALK, 2, transition=transition
    ),
    "auxiliary variable": lambda: ls.auxiliary_variable(
        log_density, log_likelihood, simulate, lambda x: -0.5 * jnp.sum(x**2), CENTER, WALK
    ),
    "screened": lambda: ls.screened(ls.exchange(log_density, log_likelihood, simulate, CENTER, WALK), log_density),
    "pseudo-marginal": lambda: ls.pseudo_marginal(log_estimate, WALK),
    "universal": lambda: ls.universal(E.mean(by_key, 3), 3.0, WALK),
}
COMPOSED = {
    "cycle": lambda: ls.Cycle([exact(), penalty(), EXCHANGES["exchange"]()]),
    "mixture": lambda: ls.Mixture([exact(), penalty()], [0.4, 0.6]),
    "lagged": lambda: ls.Lagged(penalty(), 3),
    "lagged cycle": lambda: ls.Lagged(ls.Cycle([exact(), penalty()]), 3),
    "mixture of cycles": lambda: ls.Mixture([ls.Cycle([exact(), penalty()]), ls.Cycle([penalty(), exact()])]),
}
CONTINUOUS: dict[str, Any] = {
    **{name: lambda p=p: ls.standard(log_density, p) for name, p in PROPOSALS.items()},
    **{name: lambda e=e: ls.naive(e, WALK) for name, e in ESTIMATORS.items()},
    **EXCHANGES,
    **COMPOSED,
}
COUPLED = {
    "Coupled": lambda: ls.Coupled(exact(), penalty()),
    "Shadowed": lambda: ls.Shadowed(exact(), penalty()),
    "MaximallyCoupled": lambda: ls.MaximallyCoupled(exact(), penalty()),
    "MaximallyCoupled, keys": lambda: ls.MaximallyCoupled(penalty(), ls.naive(E.mean(by_key, 3), WALK)),
}


def noise_of(kernel, position, shape):
    """The uses of keys in the noise of some updates."""
    with double_precision():
        kernel, position = canonical(kernel, "kernel"), canonical(position, "position")
        with recorded() as record:
            kernel.noise(jr.key(5), position, shape)
    return record


# The others are kernels of vectors below.
HERE = {"TunaMH", "Poisson product", "particle marginal", "vector x, swapped", "mixed: exchange over pseudo-marginal"}


@pytest.mark.parametrize("case", chosen(registry.CASES, HERE | {"screened universal"}))
def test_kernels_of_the_registry(case):
    whole = noise_of(case.make(registry.PROPOSALS["hastings"]), np.array(0), (3,)).whole
    assert len(whole.drawn) >= 2 and not whole.faults()


# Three updates draw all that one does.
SHAPES = pytest.mark.parametrize("shape", [(3,), pytest.param((), marks=pytest.mark.study)], ids=["three", "one"])


@SHAPES
@pytest.mark.parametrize("name", in_turn(CONTINUOUS, 0, 2))
def test_kernels_on_vectors(name, shape):
    whole = noise_of(CONTINUOUS[name](), CENTER, shape).whole
    assert len(whole.drawn) >= 2 and not whole.faults()


def faults_of_coupling(kernel, shape=(3,)):
    """Both legs draw from the same keys, but what belongs to neither must not."""
    record = noise_of(kernel, ls.Pair(CENTER, CENTER), shape)
    assert len(record.legs) == 2
    return [fault for leg in record.legs for fault in (record.own + leg).faults()]


@SHAPES
@pytest.mark.parametrize("name", COUPLED)
def test_couplings(name, shape):
    assert not faults_of_coupling(COUPLED[name](), shape)


@ls.part
class Mixed:
    """A coupling whose own noise comes from a number folded into the key that both legs split."""

    first: Any
    second: Any

    def noise(self, key, position, shape=()):
        here = position.first
        meet = -jr.exponential(jr.fold_in(key, 1), shape, float)
        return self.first.noise(key, here, shape), self.second.noise(key, here, shape), meet


def test_a_number_folded_into_a_key_that_is_split_is_found_out():
    faults = faults_of_coupling(Mixed(exact(), penalty()))
    assert any("drawn from 2 times" in fault for fault in faults)
    assert any("made by ['random_fold_in', 'random_split']" in fault for fault in faults)


def test_faults_are_told():
    a, b, c = (0, 1), (0, 2), (0, 3)
    assert not Uses([(a, "noise"), (b, "noise")], [(a, c, "random_split"), (b, c, "random_split")]).faults()
    assert Uses([(a, "start"), (a, "noise")]).faults() == [f"{a} is drawn from 2 times: ['start', 'noise']"]
    assert Uses([(a, "noise"), (c, "noise")], [(b, a, "random_split"), (c, b, "random_split")]).faults() == [
        f"{a} is drawn from, and so is a key that is made of it"
    ]
    assert not Uses([(a, "noise")], [(b, a, "random_split")]).faults()


@pytest.mark.parametrize("adapt", [False, True])
def test_starts_memory_adaptation_and_updates_of_a_run(adapt, monkeypatch):
    """What is drawn for different purposes, or in different updates, comes from different keys."""
    monkeypatch.setattr(pace, "FIRST_STEPS", 64)  # a cell is drawn in each block that has steps of it: one block
    kernel = ls.pseudo_marginal(log_estimate, ls.RandomWalk(1.0))
    options = {"draws": 2, "chains": 2, "seed": 1, "warmup": 64 if adapt else 0, "adapt": adapt, "progress": False}
    with recorded() as record:
        ls.sample(kernel, lambda key: jr.normal(key, (2,), float), **options)
    whole = record.whole
    roles: dict[Any, set[str]] = {}
    for key, role in whole.drawn:
        roles.setdefault(key, set()).add(role)
    assert not [(key, sorted(found)) for key, found in roles.items() if len(found) > 1]
    expected = {"start", "memory", "update"}
    if adapt:
        expected = {"memory", "update", *(f"{role} of the adaptation" for role in expected)}
    assert expected <= set().union(*roles.values())
    updates = [key for key, role in whole.drawn if role.startswith("update")]
    assert len(set(updates)) == len(updates) >= 8  # proposal, estimate and decision of two chains, and keys left over
    assert not whole.mixed()


@ls.part
class Fitted(Part):
    """A walk that is fitted to where a run begins, and begins there."""

    walk: Any

    def fit(self, position, progress):
        assert np.shape(position) == (2,)
        return self.walk, position


def test_a_fit_looks_at_the_start_of_the_first_chain():
    seen = []

    def initial(key):
        seen.append(jr.normal(key, (2,), float))
        return seen[-1]

    with double_precision(), recorded() as record:
        kernel = ls.MetropolisHastings(WALK, exact().ratio)
        object.__setattr__(kernel, "proposal", Fitted(WALK))
        kernel, start, began = fitted(kernel, initial, 2, jr.key(3))
        states = initial_states(kernel, start, 2, jr.key(3))
    np.testing.assert_array_equal(seen[0], states.position[0])
    assert kernel.proposal is WALK and began is None and not record.whole.mixed()


@pytest.mark.optimized  # compiled quickly it runs for half a minute
def test_the_second_of_maximally_coupled_chains_is_its_kernel():
    """The second moment of N(0, 1) from 2,000 pairs: 0.94 where one key makes the meeting and the noise."""
    kernel = ls.MaximallyCoupled(exact(), penalty())
    run = ls.sample(kernel, ls.Starts(jr.normal(jr.key(1), (2000, 1))), draws=200, chains=2000, seed=2)
    squares = np.mean(run.positions.second**2, axis=(1, 2))
    error = squares.std(ddof=1) / np.sqrt(len(squares))
    assert error < 0.01 and abs(squares.mean() - 1) < 4.5 * error
