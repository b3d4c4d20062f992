"""Every way to make a kernel gives pairs that meet, and estimates that are right; what cannot meet says why."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from covering import chosen

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.lagged.pairs import _tasks
from lockstep.lagged.start import law_after_fit, law_of_start
from lockstep.starts.fit import fitted_parts
from lockstep.starts.start import initial_positions

OBSERVED = 0.9  # with variance 1, and N(0, 1) before: N(0.45, 1/2) after
MEAN, SQUARE = OBSERVED / 2, OBSERVED**2 / 4 + 1 / 2
WALK = ls.RandomWalk(1.2)


def log_prior(theta):
    return -0.5 * theta**2


def log_likelihood(theta, x):
    return -0.5 * (x - theta) ** 2


def log_posterior(theta):
    return log_prior(theta) + log_likelihood(theta, OBSERVED)


def simulate(key, theta):
    return theta + jr.normal(key)


def reversible(key, theta, x):
    return theta + 0.6 * (x - theta) + 0.8 * jr.normal(key)


def anew(key, theta, x):
    """A transition that forgets: inner chains of it are exact."""
    return theta + jr.normal(key)


def log_estimate(z, theta):
    """The likelihood as an average over a latent variable of variance 0.36."""
    return log_prior(theta) + jax.nn.logsumexp(-0.5 * ((OBSERVED - theta - 0.6 * z) / 0.8) ** 2)


def draw(key):
    return jr.normal(key, (20,))


def bounded(key, position, candidate):
    return log_posterior(candidate) - log_posterior(position) + jr.uniform(key, minval=-0.4, maxval=0.4)


def boxed_estimate(z, theta):
    values = -0.5 * ((OBSERVED - theta - 0.6 * z) / 0.8) ** 2
    return float(-0.5 * theta**2 + np.log(np.exp(values).sum()))


EXCHANGE = ls.exchange(log_prior, log_likelihood, simulate, OBSERVED, WALK)
STANDARD = ls.standard(log_posterior, WALK)
# Kernel, and after how many updates nearly all pairs have met: lag and start of the average.
KERNELS = {
    "correlated pseudo-marginal": (ls.pseudo_marginal(log_estimate, WALK, 0.9, draw), 80),
    "inner chains": (ls.exchange(log_prior, log_likelihood, anew, OBSERVED, WALK, inner=2), 25),
    "bridged exchange": (ls.bridged_exchange(log_prior, log_likelihood, simulate, OBSERVED, WALK, 3, reversible), 25),
    "universal": (ls.universal(ls.estimators.mean(bounded, 2), 0.4, WALK), 40),
    "Student": (ls.standard(log_posterior, ls.IndependentStudent(0.0, 1.0)), 10),
    "Crank–Nicolson": (ls.standard(log_posterior, ls.CrankNicolson(0.3, 1.0, 0.8)), 20),
    "mixture": (ls.Mixture([STANDARD, EXCHANGE], [0.3, 0.7]), 25),
    "cycle": (ls.Cycle([STANDARD, EXCHANGE]), 20),
}
HERE = {"cycle"}


def start(key):
    return 3 * jr.normal(key)


def moments(theta):
    return jnp.stack([theta, theta**2])


def found_right(kernel, begin, updates, pairs=128, **options):
    found = ls.unbiased(kernel, begin, moments, pairs, updates, updates, 10 * updates, seed=3, **options)
    assert (found.meeting_times > updates).all() and np.median(found.meeting_times) < 3 * updates
    assert np.all(np.abs(found.estimate - [MEAN, SQUARE]) < 4 * found.standard_error)
    assert np.all(found.standard_error < 0.05)
    return found


@pytest.mark.parametrize("name", chosen(KERNELS, HERE))
def test_kernels(name):
    kernel, updates = KERNELS[name]
    found_right(kernel, start, updates)


def test_a_correlated_black_box():
    """Interpreted, the noise is NumPy's, and the second chain is a chain of its kernel all the same."""
    kernel = ls.pseudo_marginal(ls.blackbox(boxed_estimate), WALK, 0.9, draw)
    compiled, updates = KERNELS["correlated pseudo-marginal"]
    boxed = ls.unbiased(kernel, start, pairs=3, lag=updates, start=0, end=120, seed=3)
    same = ls.unbiased(compiled, start, pairs=3, lag=updates, start=0, end=120, seed=3)
    assert np.array_equal(boxed.meeting_times, same.meeting_times)
    assert np.allclose(boxed.values, same.values, rtol=0, atol=1e-9)


# --- parts of positions, and steps that were learned ------------------------------------------------------------------
def log_two(theta):
    return -0.5 * jnp.sum((theta["a"] - 1) ** 2) - 0.5 * (theta["b"] / 50) ** 2


def start_two(key):
    return {"a": 2 * jr.normal(key, (2,)), "b": 80 * jr.normal(jr.fold_in(key, 1))}


@pytest.mark.parametrize("name", ["components", pytest.param("adapted", marks=pytest.mark.study)])
def test_badly_scaled_dicts(name):
    if name == "components":
        parts = (ls.Component("a", ls.RandomWalk(1.5)), ls.Component("b", ls.RandomWalk(80.0)))
        kernel = ls.Cycle([ls.standard(log_two, part) for part in parts])
    else:
        plain = ls.standard(log_two, ls.RandomWalk(1.0))
        kernel = ls.sample(plain, start_two, draws=500, chains=4, warmup=1000, adapt=True, seed=1).kernel
    found = ls.unbiased(kernel, start_two, pairs=128, lag=40, start=40, end=400, seed=2)
    apart = [
        (found.estimate[part] - mean) / found.standard_error[part] for part, mean in (("a", np.ones(2)), ("b", 0.0))
    ]
    assert np.all(np.abs(np.append(*apart)) < 4) and found.standard_error["b"] < 5


# --- large data -------------------------------------------------------------------------------------------------------
ROWS = 2000
X = np.random.default_rng(0).normal(size=ROWS)
Y = np.random.default_rng(1).random(ROWS) < 1 / (1 + np.exp(-0.7 * X))


def log_row(theta, row):
    logit = row["x"] * theta[0]
    return row["y"] * logit - jnp.logaddexp(0.0, logit)


def exact():
    """The posterior mean and standard deviation, by a grid."""
    grid = np.linspace(0.2, 1.2, 2001)
    logs = grid * (X * Y).sum() - np.logaddexp(0, grid[:, None] * X).sum(axis=1)
    weights = np.exp(logs - logs.max())
    mean = weights @ grid / weights.sum()
    return mean, np.sqrt(weights @ (grid - mean) ** 2 / weights.sum())


DATA = {"x": X, "y": Y.astype(float)}
LARGE = {
    "subsampled": lambda: ls.subsampled(None, log_row, DATA, count=100),
    "tunamh": lambda: ls.tunamh(None, log_row, DATA, ls.subsampling.logistic(lambda row: row["x"][None])),
}


@pytest.mark.study
@pytest.mark.parametrize("name", LARGE)
def test_kernels_that_are_fitted_first(name):
    """From one position: the mode is found from it, and pairs begin around it, as the chains of ls.sample do."""
    mean, spread = exact()
    found = ls.unbiased(LARGE[name](), np.zeros(1), pairs=64, lag=20, start=20, end=200, seed=1)
    assert abs(found.estimate[0] - mean) < 4 * found.standard_error[0] < spread / 4
    task, *_ = _tasks(found.setting, [64], 20)
    with double_precision():
        starts = np.asarray(initial_positions(task.initial, 64, jr.key(0)).first)
    assert np.all(np.abs(starts - mean) < 6 * spread) and starts.std() > spread / 2


def test_what_is_fitted_first_and_cannot_meet_is_refused_at_once():
    @ls.part
    class Stubborn(ls.Proposal):
        def noise(self, key, position, shape=()):
            return jr.normal(key, (*shape, 1))

        def __call__(self, noise, position):
            return position + 0.1 * noise, 0.0

    kernel = ls.subsampled(None, log_row, DATA, proposal=Stubborn())
    with pytest.raises(ValueError, match="never meet: its proposal, Stubborn"):
        ls.unbiased(kernel, np.zeros(1))


def test_starts_far_from_a_mode_are_told():
    kernel = ls.subsampled(None, log_row, DATA, count=100)
    law = law_of_start(kernel, lambda key: 2 + jr.normal(key, (1,)))
    with double_precision():
        _, start = fitted_parts(kernel, law, jr.key(0))
        with pytest.warns(ls.LockstepWarning, match="standard deviations from the mode"):
            assert law_after_fit(law, start, jr.key(0)) is law
