"""The normal approximation at a mode: its height, its factor, what is refused."""

import re

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import polygamma

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.host.functions import Scalar, wrapped
from lockstep.host.prior import prior_of
from lockstep.subsampling.mode import _laplace
from lockstep.subsampling.objective import Objective, covariance_factor
from lockstep.subsampling.rows import as_rows
from lockstep.subsampling.sums import all_values, block_derivatives, block_values

COVARIANCE = np.array([[2.0, 0.9, 0.0], [0.9, 1.0, -0.3], [0.0, -0.3, 0.5]])
PRECISION = np.linalg.inv(COVARIANCE)
MEAN = np.array([1.0, -2.0, 0.5])
HEIGHT = 7.0


def log_likelihood(theta, row):
    """Ten rows that come to a normal log density of a known height."""
    apart = theta - MEAN
    return HEIGHT / 10 - 0.05 * apart @ PRECISION @ apart + 0.0 * row


def objective(center, function=log_likelihood):
    found = Objective(
        canonical(prior_of(None), "log_prior"), canonical(wrapped(Scalar, function, "log_likelihood"), "l"),
        as_rows(np.ones(10)), canonical(center, "initial"), 10, False,
    )  # fmt: skip
    found.center = np.asarray(center, float)
    return found


def test_the_approximation_of_a_normal_density_is_itself_wherever_the_search_ends():
    """Half a standard deviation beside the mode: mean, height and factor are those of the density all the same."""
    center = MEAN + 0.5 * np.linalg.cholesky(COVARIANCE) @ [0.6, -0.5, 0.4]
    with double_precision():
        mode = _laplace(objective(center))
    np.testing.assert_allclose(mode.center, center)
    np.testing.assert_allclose(mode.mean, MEAN, atol=1e-10)
    np.testing.assert_allclose(mode.factor, np.linalg.cholesky(COVARIANCE), atol=1e-10)
    assert mode.height == pytest.approx(HEIGHT, abs=1e-10)


def test_a_search_that_has_not_arrived_is_no_mode():
    with double_precision(), pytest.raises(ValueError, match="ended after 1 passes without finding it"):
        _laplace(objective(MEAN + 1.1 * np.linalg.cholesky(COVARIANCE)[:, 0]))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_tail_that_does_not_fall_off_is_refused_on_either_side(sign):
    def flat(theta, row):
        """Normal within six standard deviations, flat beyond them on one side of the first component."""
        return 0.1 * jnp.where(sign * theta[0] > 6, -0.01, -0.5 * theta[0] ** 2) + 0.0 * row

    with double_precision():
        with pytest.raises(ValueError, match=rf"does not fall off in the direction .*\[{'-' if sign < 0 else ''}1"):
            _laplace(objective(np.zeros(1), flat))
        _laplace(objective(np.zeros(1), lambda theta, row: -0.05 * theta[0] ** 2 + 0.0 * row))


def test_the_factor_of_a_precision():
    np.testing.assert_allclose(covariance_factor(PRECISION), np.linalg.cholesky(COVARIANCE), atol=1e-12)
    assert covariance_factor(np.diag([1.0, -1e-9])) is None and covariance_factor(np.zeros((2, 2))) is None
    assert covariance_factor(np.array([[1.0, np.nan], [np.nan, 1.0]])) is None


def test_a_first_search_on_some_rows_stands_for_all():
    """The sum over a few of many rows is weighed up: the unit of length is that of all rows."""
    values = np.random.default_rng(1).normal(3.0, size=200)
    with double_precision():
        few = as_rows(values).some(50)
        one = Objective(
            canonical(prior_of(None), "log_prior"),
            canonical(wrapped(Scalar, lambda theta, row: -0.5 * (theta - row) ** 2, "log_likelihood"), "l"),
            few, canonical(0.0, "initial"), 200, False,
        )  # fmt: skip
        one.search()
    assert few.size == 50 and len(np.unique(np.asarray(few.arrays))) == 50
    assert one.center == pytest.approx(np.asarray(few.arrays).mean(), abs=1e-6)
    assert one.factor == pytest.approx(200**-0.5, rel=1e-9)


def test_the_mode_of_many_rows_is_that_of_all_of_them():
    """More rows than the first search takes: it ends at the mode of all."""
    values = np.random.default_rng(2).normal(-4.0, 2.0, size=70_000)
    mode = ls.subsampling.find_mode(None, lambda theta, row: -0.5 * (theta - row) ** 2, values, 10.0)
    assert mode.mean == pytest.approx(values.mean(), abs=1e-9)
    assert mode.height == pytest.approx(-0.5 * np.sum((values - values.mean()) ** 2), abs=1e-5)


def product(theta, row):
    """Of a and b only the product is seen: a saddle at the origin, a mode on either side of it."""
    return -0.5 * (row - theta[0] * theta[1]) ** 2


def normal_prior(theta):
    return -0.5 * jnp.sum(theta**2)


def test_a_search_that_begins_at_a_saddle_goes_elsewhere():
    mode = ls.subsampling.find_mode(normal_prior, product, np.full(10, 2.0), np.zeros(2))
    # The gradient is 0 where a = b and 10 (2 - a²) = 1, or both with the other sign.
    np.testing.assert_allclose(np.abs(mode.mean), np.sqrt(1.9), atol=1e-3)
    assert mode.mean[0] * mode.mean[1] > 0


def test_a_hierarchical_model_without_a_mode_is_told_how_to_write_it():
    """Effects θ_j ~ N(0, τ) with a proper prior of log τ: the density grows without end as τ goes to 0."""

    def log_prior(position):
        scale = position["log_scale"]
        return -0.5 * scale**2 / 100 - 0.5 * jnp.sum(position["effects"] ** 2) * jnp.exp(-2 * scale) - 8 * scale

    def log_likelihood(position, row):
        return -0.5 * (row["y"] - position["effects"][row["group"]]) ** 2

    data = {"y": 0.1 * np.sin(np.arange(40.0)), "group": np.arange(40) % 8}
    start = {"effects": np.zeros(8), "log_scale": np.zeros(())}
    with pytest.raises(ValueError, match=r"no proper maximum.*scale goes to 0.*mean \+ scale \* z.*ls\.standard"):
        ls.subsampling.find_mode(log_prior, log_likelihood, data, start)


def test_tails_that_a_normal_proposal_misses_are_held_by_a_student_one():
    """The log scale of five normal numbers falls off as e^{-5t} to the right: a normal law is far below it there."""
    squares = np.array([0.5, 1.3, 0.2, 2.0, 1.0])
    with pytest.warns(ls.LockstepWarning, match="all of them are used") as caught:
        kernel = ls.subsampled(
            None, lambda t, row: -t - 0.5 * row * jnp.exp(-2 * t), squares, initial=np.zeros(())
        )  # fmt: skip
    assert caught[0].filename == __file__  # of the user's program, no line of ours or of JAX
    assert isinstance(kernel.proposal, ls.IndependentStudent)
    run = ls.sample(kernel, np.zeros(()), draws=2000, chains=8, seed=1)
    # e^{-2t} has a Gamma law of shape 5/2: the variance of its logarithm is the trigamma function of that.
    deviations = run.positions.std(axis=1)
    exact = np.sqrt(polygamma(1, 2.5)) / 2
    assert abs(deviations.mean() - exact) < 4.5 * deviations.std(ddof=1) / np.sqrt(8)
    assert deviations.std(ddof=1) < 0.05 * exact


def test_a_posterior_that_is_far_from_normal_is_told_in_plain_words():
    """A banana: its mode says nothing of its arms."""

    def bent(theta, row):
        return -0.5 * (theta[0] ** 2 + ((theta[1] - 4 * theta[0] ** 2) / 0.05) ** 2) + 0.0 * row

    with pytest.warns(ls.LockstepWarning) as caught:
        ls.subsampled(None, bent, np.ones(4), initial=np.array([0.1, 0.1]))
    told = r"wrong tool.*mean \+ scale \* z.*ls\.RandomWalk.*adapt=True"
    assert any(re.search(told, str(one.message)) for one in caught)


@pytest.mark.parametrize("length", [1, 3, 7, 10, 64])
def test_blocks_are_of_one_length_and_count_every_row_once(length):
    rows = as_rows(np.arange(10.0))
    seen = []
    for first, skipped, block in rows.blocks(length):
        assert len(block) == min(length, 10)
        np.testing.assert_array_equal(block, np.arange(first, first + len(block)))
        seen += np.asarray(block)[skipped:].tolist()
    assert seen == list(range(10))


def test_what_is_skipped_is_not_summed():
    likelihood = wrapped(Scalar, lambda theta, row: theta * row, "log_likelihood")
    with double_precision():
        block, vector = jnp.array([1.0, 2.0, 4.0]), jnp.array([3.0])
        sums = block_derivatives(likelihood, block, 1, vector, jnp.zeros(()))
        values = block_values(likelihood, block, 2, jnp.array([[3.0], [5.0], [7.0]]), 2, jnp.zeros(()))
    assert float(sums.value) == 18.0 and sums.gradient.tolist() == [6.0] and values.tolist() == [12.0, 20.0, 0.0]


@pytest.mark.parametrize("size", [1, 63, 64, 100, 128, 1000])
def test_pieces_of_blocks_count_every_row_once(monkeypatch, size):
    """Pieces of 64 rows, blocks of 300: whole numbers, whose sums are exact, in any precision in which they come."""
    monkeypatch.setattr("lockstep.subsampling.sums.PIECE_NUMBERS", 64)
    monkeypatch.setattr("lockstep.subsampling.sums.MOST_NUMBERS", 300)
    for program in (block_derivatives, block_values):
        program.clear_cache()  # of pieces of another size
    likelihood = wrapped(Scalar, lambda theta, row: row["a"] * theta**2 - row["b"] * row["b"] * theta, "l")
    data = {"a": np.arange(size), "b": 1025 * np.arange(size, dtype=np.float32)}  # squares have 40 bits
    with double_precision():
        rows, like = as_rows(data), jnp.zeros(())
        objective = Objective(
            wrapped(Scalar, lambda theta: 0.0 * theta, "log_prior"), likelihood, rows, like, size, False
        )
        found, _ = objective.at(np.array([3.0]))
        values = all_values(likelihood, rows, jnp.array([[3.0], [5.0]]), like)
    a, b = sum(range(size)), sum((1025 * i) ** 2 for i in range(size))
    assert values.tolist() == [9 * a - 3 * b, 25 * a - 5 * b]
    assert float(found.value) == 9 * a - 3 * b
    assert found.gradient.tolist() == [6 * a - b] and found.hessian.tolist() == [[2 * a]]


def test_a_large_sample_takes_few_passes():
    """From the mode of some rows one step goes to that of all of them; what is left is to see that it has arrived."""
    generator = np.random.default_rng(1)
    x = generator.normal(size=(300_000, 3)).astype(np.float32)
    y = (generator.uniform(size=len(x)) < 1 / (1 + np.exp(-x @ [0.5, -0.3, 1.0]))).astype(np.float32)

    def log_likelihood(theta, row):
        logit = jnp.dot(row["x"], theta)
        return row["y"] * logit - jnp.logaddexp(0.0, logit)

    mode = ls.subsampling.find_mode(None, log_likelihood, {"x": x, "y": y}, np.zeros(3))
    assert mode.passes <= 3
    residual = y - 1 / (1 + np.exp(-x.astype(float) @ mode.mean))
    assert np.linalg.norm(mode.factor.T @ (x.T @ residual)) < 1e-3
