"""Which rows are looked at for a bound that does not hold, and what counts as a break of it."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.ratios import bound_check
from lockstep.ratios.bound_check import is_asymmetric, is_broken, is_usable, require_few_rows, watched_row
from lockstep.ratios.tuna import Arrivals, Process


def process(uniform):
    """Whose first arrival has this uniform number, and whose others have quite another one."""
    keeps = jnp.asarray([uniform, *[0.999 if uniform < 0.5 else 0.001] * 3])
    return Process(Arrivals(jnp.ones(4), jnp.zeros(4, int), keeps), None)


def test_every_row_is_watched_with_the_same_probability():
    minibatch = SimpleNamespace(estimator=SimpleNamespace(rows=SimpleNamespace(size=4)))
    with double_precision():
        rows = [int(watched_row(minibatch, process((i + 0.5) / 16))) for i in range(16)]
        ends = [int(watched_row(minibatch, process(uniform))) for uniform in (0.0, 1.0)]
    assert rows == np.repeat(np.arange(4), 4).tolist() and ends == [0, 3]


def test_rows_that_are_looked_at_are_those_of_the_smallest_bounds_and_some_of_all(monkeypatch):
    monkeypatch.setattr(bound_check, "MOST_ROWS", 40)
    assert bound_check._rows(np.ones(40)).tolist() == list(range(40))
    coefficients = np.ones(1000)
    small = np.random.default_rng(0).choice(1000, 20, replace=False)
    coefficients[small] = 0.1
    rows = bound_check._rows(coefficients)
    assert set(small) <= set(rows) and len(set(rows)) == len(rows) <= 40
    # The others are spread over the data from the first row to the last.
    others = np.setdiff1d(rows, small)
    assert others[0] <= 50 and others[-1] >= 949 and np.diff(others).max() < 200
    large = bound_check._rows(-coefficients)
    assert {0, 999} <= set(large) and np.diff(large).max() <= 53


def test_one_row_without_a_bound_among_thousands_is_found():
    slopes = np.full(6000, 1e-3)
    kernel = ls.tunamh(
        None,
        lambda theta, row: row["slope"] * theta,
        {"slope": slopes, "bound": np.where(np.arange(6000) == 4321, 0.0, slopes)},
        ls.subsampling.Bound(lambda row: row["bound"], lambda a, b: jnp.abs(b - a)),
        ls.RandomWalk(1.0),
        None,
    )
    with double_precision():
        minibatch = canonical(kernel, "kernel").ratio.randomization
        with pytest.raises(ValueError, match=r"row 4,321 changes by 0\.002.*coefficient 0 times the distance 2"):
            minibatch.require_start(None, jnp.asarray(0.0), jnp.asarray([1.0, 2.0]))


@pytest.mark.parametrize("make", [ls.tunamh, ls.poisson_product])
def test_rare_events_that_would_take_all_rows_at_each_update_are_refused(make):
    """Steps as long as the posterior of rare events is wide, and rows of which each may change by as much."""
    data = {"x": np.random.default_rng(0).normal(size=(1000, 2)), "y": np.arange(1000) < 2}

    def log_likelihood(theta, row):
        logit = jnp.dot(row["x"], theta) - 6.0
        return row["y"] * logit - jnp.logaddexp(0.0, logit)

    bound = ls.subsampling.logistic(lambda row: row["x"])
    kernel = make(None, log_likelihood, data, bound, ls.RandomWalk(2.0), None, initial=np.zeros(2))
    told = r"would draw about .* rows at each update, of the 1,000 .*ls\.standard.*cheaper"
    with pytest.raises(ValueError, match=told):
        ls.sample(kernel, np.zeros(2), draws=4, chains=1)


def test_many_rows_an_update_are_told_and_few_are_not():
    require_few_rows([1000.0] * 3, 100, "tunamh")
    with pytest.warns(ls.LockstepWarning, match="tunamh would draw about 2e\\+03 rows at each update, of the 10,000"):
        require_few_rows([2000.0] * 3, 10_000, "tunamh")
    with pytest.raises(ValueError, match=r"would draw about 1\.01e"):
        require_few_rows([5.0, 10_100.0, 1e9], 10_000, "tunamh")


class Slopes:
    """Rows whose log likelihood is a large constant and a slope."""

    class estimator:
        class rows:
            size = 2

            @staticmethod
            def take(index):
                return jnp.asarray([3.0, -2.0])[index]

        @staticmethod
        def log_likelihood(theta, row):
            return 1e8 + row * theta

        remainder = log_likelihood

    coefficients = np.array([3.0, 2.0])  # in double precision, which JAX does not know outside of its scope


@pytest.mark.parametrize("share, is_found", [(1.0, False), (0.99, True)])
def test_a_bound_may_be_met_and_no_more(share, is_found):
    """Rounding of numbers near 1e8 is no break; a hundredth of the bound is one."""
    with double_precision():
        for row in range(2):
            for here in 0.013 + 0.1 * np.arange(10):  # of differences that are rounded up and down
                for pair in ((here, here + 0.37), (here + 0.37, here)):
                    found = is_broken(Slopes, jnp.asarray(row), 0.37 * share, *map(jnp.asarray, pair))
                    assert bool(found) is is_found


def test_distances():
    with double_precision():
        assert not is_asymmetric(1.0, 1.0 + 1e-12) and not is_asymmetric(0.0, 0.0)
        assert is_asymmetric(1.0, 1.001) and is_asymmetric(1.001, 1.0) and is_asymmetric(0.0, 1e-3)
        assert is_asymmetric(jnp.nan, 1.0)
        found = [bool(is_usable(*pair)) for pair in ((0.0, 0.0), (-1.0, 1.0), (jnp.nan, 1.0), (1.0, 1e9), (1.0, 1e7))]
    assert found == [True, False, False, False, True]


@pytest.mark.parametrize("make", [ls.tunamh, ls.poisson_product])
@pytest.mark.parametrize("boxed", ["log_prior", "log_likelihood", "distance", "row"])
def test_black_boxes_are_refused_by_name(make, boxed):
    """Rows arrive in a loop of compiled code, whose number nobody knows before."""

    def given(name, function):
        return ls.blackbox(function) if name == boxed else function

    def row_bound(row):
        return 0.5 * abs(row)

    def distance(position, candidate):
        return abs(candidate - position)

    bound = ls.subsampling.Bound(given("row", row_bound), given("distance", distance))
    log_prior, log_likelihood = given("log_prior", lambda t: -(t**2)), given("log_likelihood", lambda t, row: t * row)
    with pytest.raises(TypeError, match=r"runs in compiled code alone, where blackbox.* cannot be called"):
        make(log_prior, log_likelihood, np.ones(10), bound)
