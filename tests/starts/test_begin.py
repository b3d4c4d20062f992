"""Chains of a kernel whose mode is searched begin scattered around it, or where the user puts each of them."""

import logging

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.core.precision import double_precision
from lockstep.starts.fit import fitted
from lockstep.starts.start import initial_positions, warn_of_many_starts
from lockstep.subsampling import scatter

ROWS = np.random.default_rng(0).normal([1.0, -2.0], size=(200, 2))
DEVIATION = 1 / np.sqrt(200)  # of the posterior, in each component
MODE = ROWS.mean(axis=0)


def log_likelihood(theta, row):
    return -0.5 * jnp.sum((theta - row) ** 2)


def kernel(log_prior=None, likelihood=log_likelihood, rows=ROWS):
    return ls.corrected(ls.estimators.subsample(log_prior, likelihood, rows, 8), ls.RandomWalk(0.1))


def begin(initial, chains, seed=0, **model):
    """Where chains begin, and what is said of it."""
    with double_precision():
        _, starts, began = fitted(kernel(**model), initial, chains, jr.key(seed))
    return starts.positions if began else starts, began


@pytest.fixture(scope="module")
def many():
    return begin(np.zeros(2), 400)


def test_chains_begin_more_widely_than_the_posterior(many):
    starts, began = many
    steps = (starts - MODE) / DEVIATION
    # Normal with twice the scale: 400 chains tell its mean and its standard deviation to within 0.1 and 0.07.
    np.testing.assert_allclose(steps.mean(axis=0), 0.0, atol=0.45)
    np.testing.assert_allclose(steps.std(axis=0), 2.0, atol=0.32)
    assert "around the mode" in began and "not at `initial`" in began


def test_a_kernel_whose_mode_is_known_begins_around_it_too(many):
    """All its chains would begin at the user's position, here 14 and 28 standard deviations away."""
    estimator = ls.estimators.subsample(None, log_likelihood, ROWS, 8, initial=np.zeros(2))
    with double_precision():
        one, starts, began = fitted(ls.corrected(estimator, ls.RandomWalk(0.1)), np.zeros(2), 400, jr.key(0))
    np.testing.assert_allclose(starts.positions, many[0], atol=1e-6)
    assert began == many[1] and one.ratio.estimator is estimator


def test_a_start_is_a_function_of_the_seed_and_the_chain_alone(many):
    few, _ = begin(np.zeros(2), 3)
    np.testing.assert_array_equal(few, many[0][:3])
    assert not np.any(np.isclose(begin(np.zeros(2), 3, seed=1)[0], few))


PRECISION = np.array([[4.0, -1.2, 0.3], [-1.2, 1.0, 0.2], [0.3, 0.2, 0.5]])


def correlated(height=0.0):
    """The surroundings of the mode of a normal posterior of three components that depend on each other."""
    center = np.array([1.0, -2.0, 3.0])

    def log_density(theta, row):
        return height - 0.5 * (theta - center) @ PRECISION @ (theta - center) + 0.0 * row

    estimator = ls.estimators.subsample(None, log_density, np.ones(1), 1)
    return estimator.fit(center + 0.1)[1]


def test_steps_have_the_directions_of_the_posterior():
    """Twice L z, with L L^T the covariance and z the normal numbers of the chain's key, to the last digits."""
    scattered, keys = correlated(height=40.0), jr.split(jr.key(5), 6)
    with double_precision():
        normals = np.stack([np.asarray(ls.random.normal(key, (3,))) for key in keys])
    steps = scattered.draw(keys) - scattered.mode.center
    np.testing.assert_allclose(steps, 2 * normals @ np.linalg.cholesky(np.linalg.inv(PRECISION)).T, rtol=1e-6)
    distances = scattered.distances(scattered.mode.center + steps)
    np.testing.assert_allclose(distances, 2 * np.sqrt(np.mean(normals**2, axis=1)), rtol=1e-6)


def test_starts_are_inside_the_support():
    """The mode lies half a standard deviation from the border of the support: most wide steps would lead out of it."""
    border = MODE - 0.5 * DEVIATION

    def log_prior(theta):
        return jnp.where(jnp.all(theta > border), 0.0, -jnp.inf)

    starts, _ = begin(MODE, 50, log_prior=log_prior)
    assert np.all(starts > border)
    is_moved = np.any(np.abs(starts - MODE) > 1e-3, axis=1)
    assert 10 < is_moved.sum() < 50  # some are at the mode, where no step stayed inside
    np.testing.assert_array_equal(begin(MODE, 7, log_prior=log_prior)[0], starts[:7])  # each chain has its own step


def test_no_chain_begins_where_independent_candidates_would_stick():
    """A posterior with tails like |θ|⁻²: twice the scale of its mode is far above the normal approximation there."""

    def log_prior(theta):
        return -jnp.log1p(theta**2)

    starts, _ = begin(
        np.array(0.3), 50, log_prior=log_prior, likelihood=lambda theta, row: 0.0 * theta, rows=np.ones(9)
    )
    above = np.asarray(log_prior(starts)) + starts**2  # the normal approximation has the variance 1/2
    assert np.all(above < 2.01) and np.std(starts) > 0.5


def test_a_share_of_many_rows_tells_what_all_of_them_tell(monkeypatch):
    """A skewed posterior of as much information as ten rows of a Poisson law, in 4,000 rows of which 500 are seen."""
    counts = np.random.default_rng(3).poisson(3.0, 4000).astype(float)

    def tempered(theta, row):
        return (row * theta - jnp.exp(theta)) / 400

    def log_prior(theta):
        return -jnp.log(jnp.cosh(theta - 1.0))

    estimator = ls.estimators.subsample(log_prior, tempered, counts, 8)
    scattered = estimator.fit(np.array(1.0))[1]
    places = np.linspace(0.0, 2.2, 9)[:, None]
    exact = np.array([float(np.sum(tempered(x, counts))) + float(log_prior(x)) for x in places[:, 0]])
    white = (places[:, 0] - scattered.mode.mean[0]) / scattered.mode.factor[0, 0]
    above = exact - (scattered.mode.height - 0.5 * white**2)
    assert np.ptp(above) > 1.0  # there is something to tell
    with double_precision():
        np.testing.assert_allclose(scattered._above(places), above, atol=1e-5)
        monkeypatch.setattr(scatter, "ENOUGH", 500)
        # What is left of the noise of 500 rows: the remainder of exp(θ) is the same in each.
        np.testing.assert_allclose(scattered._above(places), above, atol=1e-5)


def test_positions_of_any_structure_are_scattered():
    def structured(theta, row):
        return log_likelihood(jnp.stack([theta["a"], theta["b"][0]]), row)

    starts, _ = begin({"a": 0.0, "b": np.zeros(1)}, 5, likelihood=structured)
    assert starts["a"].shape == (5,) and starts["b"].shape == (5, 1)
    assert len(np.unique(starts["a"])) == 5


OWN = {
    "starts": lambda places: ls.Starts(places),
    "function": lambda places: lambda key: jnp.asarray(places[0]) + 0.0 * jr.normal(key, (2,)),
    "pair": lambda places: ls.Pair(places[0], places[1]),
}


@pytest.mark.parametrize("kind", OWN)
def test_starts_for_each_chain_are_kept(kind):
    given = OWN[kind](MODE + DEVIATION * np.array([[1.0, 0.0], [0.0, -1.0]]))
    starts, began = begin(given, 2)
    assert starts is given and began is None


def test_a_start_of_ones_own_that_is_far_away_is_told():
    places = MODE + DEVIATION * np.array([[0.0, 0.0], [30.0, -30.0]])
    with pytest.warns(ls.LockstepWarning, match="chain 1 begins 30 standard deviations from the mode.*one position"):
        begin(ls.Starts(places), 2)


def test_an_array_with_a_row_for_each_chain_is_one_position_and_that_is_said():
    told = r"initial has .*\(3, 2\).* 3 chains.*one position.*ls\.Starts\(initial\)"
    normal = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), ls.RandomWalk(1.0))
    with pytest.warns(ls.LockstepWarning, match=told):
        run = ls.sample(normal, np.zeros((3, 2)), draws=2, chains=3)
    assert run.positions.shape == (3, 2, 3, 2)
    with pytest.warns(ls.LockstepWarning, match=told):
        warn_of_many_starts({"a": np.zeros((3, 2)), "b": np.zeros(3)}, 3)
    # What is meant is not warned of: starts, a function, vectors, other shapes.
    for initial in (ls.Starts(np.zeros((3, 2))), lambda key: jnp.zeros((3, 2)), np.zeros(3), np.zeros((2, 3)), 0.0, []):
        warn_of_many_starts(initial, 3)
    warn_of_many_starts(np.zeros((1, 2)), 1)


def test_a_run_says_where_it_began(tmp_path):
    run = ls.sample(kernel(), np.zeros(2), draws=40, chains=2, directory=tmp_path / "run")
    for one in (run, ls.load(tmp_path / "run")):
        assert "around the mode" in one.began and one.began in repr(one)
    assert run.began in run.summary().findings
    again = ls.sample(kernel(), np.zeros(2), draws=60, chains=2, directory=tmp_path / "run")
    np.testing.assert_array_equal(again.positions[:, :40], run.positions)


def test_coupled_chains_of_a_pair_begin_together():
    both = ls.Coupled(kernel(), kernel())
    run = ls.sample(both, np.zeros(2), draws=20, chains=3)
    assert jax.tree.all(jax.tree.map(np.array_equal, run.positions.first, run.positions.second))
    assert len(np.unique(run.positions.first[:, 0, 0])) == 3


def test_groups_begin_where_all_chains_do_and_compile_nothing_of_their_own(caplog):
    """A task of few chains takes less than compiling does: where they begin must not depend on how many there are."""

    def draw(key):
        return jr.normal(key, (2,))

    with double_precision():
        together = np.asarray(initial_positions(draw, 24, jr.key(1)))
        first = initial_positions(draw, 6, jr.key(1), 0, 6)
        with jax.log_compiles(), caplog.at_level(logging.WARNING, logger="jax"):
            groups = [first, *(initial_positions(draw, begin + 6, jr.key(1), begin, 6) for begin in (6, 12, 18))]
    assert "Compiling" not in caplog.text
    assert np.array_equal(np.concatenate(groups), together)


def test_chains_of_named_parameters_begin_around_the_mode_unless_the_user_says_where(recwarn):
    """Draws from a wide prior are hundreds of standard deviations away, where estimates are of no use."""
    data = np.random.default_rng(0).normal(3.0, 1.0, size=4000)
    kernel = ls.subsampled(None, lambda mean, row: -0.5 * (row - mean) ** 2, data)
    parameters = ls.Parameters(mean=stats.norm(0, 20))
    run = ls.sample(parameters.posterior(kernel), draws=20, chains=4, seed=1)
    assert np.all(abs(run.positions["mean"] - data.mean()) < 6 / np.sqrt(4000))
    assert "around the mode that was found from a draw of the prior" in run.began
    assert not [one for one in recwarn if "standard deviations from the mode" in str(one.message)]


@ls.part
class InPlace:
    """A proposal of one's own that computes with NumPy arrays alone: it changes a copy of the position."""

    wrong: float = 0.0
    computes_on_numpy = True

    def noise(self, key, position, shape=()):
        return ls.RandomWalk(1.0).noise(key, position, shape)

    def __call__(self, noise, position):
        candidate = position.copy()
        candidate[:] += noise
        return (np.append(candidate, self.wrong) if self.wrong else candidate), 0.0


def test_a_proposal_that_computes_with_numpy_is_tried_with_numbers():
    """Where black boxes are called straight; compiled, it is told that it cannot be traced."""
    calls = []

    def log_density(theta):
        calls.append(theta)
        return -0.5 * float(theta @ theta)

    kernel = ls.standard(ls.blackbox(log_density), InPlace())
    run = ls.sample(kernel, np.zeros(2), draws=20, chains=2, seed=1, progress=False)
    walk = ls.standard(ls.blackbox(log_density), ls.RandomWalk(1.0))
    assert 0 < run.acceptance < 1 and run.positions.shape == (2, 20, 2)
    assert np.array_equal(
        run.positions, ls.sample(walk, np.zeros(2), draws=20, chains=2, seed=1, progress=False).positions
    )
    calls.clear()
    with pytest.raises(ValueError, match=r"proposal returned a candidate of shape \(3,\)"):
        ls.sample(ls.standard(ls.blackbox(log_density), InPlace(1.0)), np.zeros(2), draws=20, progress=False)
    assert not calls
    with pytest.raises(TypeError, match="immutable"):
        ls.sample(ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), InPlace()), np.zeros(2), draws=20)
