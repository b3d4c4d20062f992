"""Subsampled posteriors: identities of the estimate, the mode, rows on disk, and the one-line kernel."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import registry
from matrices import errors
from scipy import optimize

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.ratios.tuna import PoissonProduct
from lockstep.subsampling.rows import as_rows

GENERATOR = np.random.default_rng(0)
N, TRUTH = 400, np.array([0.5, -0.8, 0.3])
X = GENERATOR.normal(size=(N, 3))
DATA = {"x": X, "y": GENERATOR.uniform(size=N) < 1 / (1 + np.exp(-X @ TRUTH))}
HERE, THERE = np.array([0.4, -0.7, 0.1]), np.array([0.6, -0.9, 0.5])


def log_likelihood(theta, row):
    logit = jnp.dot(row["x"], theta)
    return row["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2) / 4


def log_posterior(theta):
    logits = X @ theta
    return np.sum(DATA["y"] * logits - np.logaddexp(0.0, logits)) - 0.5 * np.sum(theta**2) / 4


def linear(theta, row):
    """A crude surrogate: the log likelihood's tangent at 0."""
    return (row["y"] - 0.5) * jnp.dot(row["x"], theta)


SURROGATE = ls.subsampling.Surrogate(linear, lambda theta: jnp.dot(X.T @ (DATA["y"] - 0.5), theta))
WEIGHTS = 0.1 + np.linalg.norm(X, axis=1) ** 3


def subsample(count=N, control="taylor", **options):
    initial = np.zeros(3) if control == "taylor" else None
    return ls.estimators.subsample(log_prior, log_likelihood, DATA, count, control, initial, **options)


@pytest.fixture(scope="module")
def fitted():
    return subsample()


# --- the estimate ----------------------------------------------------------------------------------------------------
def each_row_once(estimator, position, candidate):
    """The estimate from a sample that is the whole data set."""
    with double_precision():
        return estimator(jnp.arange(N), jnp.asarray(position), jnp.asarray(candidate))


@ls.part
class Tangent:
    """A control of a user's own: the two methods, and no base."""

    slope: object

    def of_row(self, log_likelihood, position, row):
        return linear(position, row)

    def of_all(self, position):
        return jnp.dot(self.slope, position)


TANGENT = Tangent(X.T @ (DATA["y"] - 0.5))


def test_a_control_needs_two_methods_and_no_base():
    own, ours = (each_row_once(subsample(control=control), HERE, THERE) for control in (TANGENT, SURROGATE))
    assert jax.tree.map(float, own) == jax.tree.map(float, ours)
    assert repr(subsample(control=TANGENT).control) == repr(TANGENT)


@pytest.mark.parametrize("control", [None, "taylor", SURROGATE, TANGENT], ids=["none", "taylor", "own", "class"])
def test_the_estimate_of_all_rows_is_the_difference(control, fitted):
    estimator = fitted if control == "taylor" else subsample(control=control)
    difference = log_posterior(THERE) - log_posterior(HERE)
    forward, back = each_row_once(estimator, HERE, THERE), each_row_once(estimator, THERE, HERE)
    assert float(forward.value) == pytest.approx(difference, abs=1e-10)
    # The same rows in reverse: the estimate changes its sign, its variance stays.
    assert float(back.value) == pytest.approx(-float(forward.value), abs=1e-10)
    assert float(back.variance) == pytest.approx(float(forward.variance), rel=1e-9)


def test_a_control_lowers_the_variance(fitted):
    variances = [
        float(each_row_once(estimator, HERE, THERE).variance)
        for estimator in (subsample(control=None), subsample(control=SURROGATE), fitted)
    ]
    assert variances[0] > 3 * variances[1] > 30 * variances[2]


def test_rows_drawn_with_weights_are_unbiased(fitted):
    estimator = subsample(weights=WEIGHTS)
    with double_precision():
        indices = jnp.arange(N)
        each = jax.vmap(
            lambda row, weight: (
                estimator.with_count(1)(
                    (jax.tree.map(lambda leaf: leaf[None], row), weight[None]), jnp.asarray(HERE), jnp.asarray(THERE)
                ).value
            )
        )(estimator.rows.take(indices), estimator._weights(indices))
    chances = WEIGHTS / WEIGHTS.sum()
    difference = log_posterior(THERE) - log_posterior(HERE)
    assert float(chances @ np.asarray(each)) == pytest.approx(difference, abs=1e-10)
    # ... and here they pay: long rows have the large remainders.
    equal = float(each_row_once(fitted, HERE, THERE).variance) * N
    assert float(chances @ (np.asarray(each) - difference) ** 2) < equal


def test_drawn_rows_follow_their_weights():
    estimator = subsample(count=50, control=None, weights=WEIGHTS)
    with double_precision():
        rows, weights = estimator.noise(jax.random.key(1), jnp.zeros(3), (2000,))
    assert rows["x"].shape == (2000, 50, 3)
    # E 1/p = number of rows squared over ... : the mean of 1/(N p) is 1.
    inverse = np.asarray(weights).ravel() / N
    assert abs(inverse.mean() - 1) < 5 * inverse.std() / np.sqrt(inverse.size)


def test_the_taylor_control_is_the_taylor_expansion(fitted):
    control, delta = fitted.control, THERE - fitted.control.center
    p = 1 / (1 + np.exp(-X @ control.center))
    by_hand = (DATA["y"] - p) * (X @ delta) - p * (1 - p) * (X @ delta) ** 2 / 2
    with double_precision():
        rows = jax.vmap(lambda row: control.of_row(log_likelihood, jnp.asarray(THERE), row))(fitted.rows.arrays)
        total = control.of_all(jnp.asarray(THERE))
    np.testing.assert_allclose(np.asarray(rows), by_hand, atol=1e-12)
    assert float(total) == pytest.approx(by_hand.sum(), abs=1e-9)


@pytest.mark.parametrize("control", ["taylor", "surrogate"])
def test_the_change_of_a_control_is_the_difference_of_its_values(control, fitted):
    control = fitted.control if control == "taylor" else SURROGATE
    with double_precision():
        here, there = jnp.asarray(HERE), jnp.asarray(THERE)
        row = {"x": jnp.asarray(X[3]), "y": jnp.asarray(DATA["y"][3])}
        change = control.change_of_row(log_likelihood, here, there, row)
        difference = control.of_row(log_likelihood, there, row) - control.of_row(log_likelihood, here, row)
        assert float(change) == pytest.approx(float(difference), abs=1e-13)
        assert float(control.change_of_all(here, there)) == pytest.approx(
            float(control.of_all(there) - control.of_all(here)), abs=1e-10
        )


def test_structured_positions(fitted):
    def structured(theta, row):
        return log_likelihood(jnp.concatenate([theta["a"], theta["b"][None]]), row)

    estimator = ls.estimators.subsample(
        lambda theta: log_prior(theta["a"]) + log_prior(theta["b"]), structured, DATA, 8, initial=as_dict(np.zeros(3))
    )
    np.testing.assert_allclose(estimator.control.center, fitted.control.center, atol=1e-3)


def as_dict(theta):
    return {"a": theta[:2], "b": theta[2]}


# --- the mode --------------------------------------------------------------------------------------------------------
def test_the_mode_is_the_mode():
    mode = ls.subsampling.find_mode(log_prior, log_likelihood, DATA, np.full(3, 2.0))
    best = optimize.minimize(lambda theta: -log_posterior(theta), np.zeros(3), tol=1e-10).x
    spread = np.sqrt(np.sum(mode.factor**2, axis=1))
    assert np.max(np.abs(mode.mean - best) / spread) < 1e-2
    p = 1 / (1 + np.exp(-X @ mode.center))
    precision = (X * (p * (1 - p))[:, None]).T @ X + np.eye(3) / 4
    np.testing.assert_allclose(mode.factor @ mode.factor.T, np.linalg.inv(precision), rtol=1e-8)


def test_blocks_do_not_change_the_sums(monkeypatch, fitted):
    monkeypatch.setattr("lockstep.subsampling.sums.MOST_NUMBERS", 64 * 4)
    mode = ls.subsampling.find_mode(log_prior, log_likelihood, DATA, np.zeros(3))
    np.testing.assert_allclose(mode.center, fitted.control.center, rtol=1e-9)


def test_progress_of_the_passes_is_shown(capsys):
    ls.subsampling.find_mode(log_prior, log_likelihood, DATA, np.zeros(3), progress=True)
    assert "pass 1 over the data" in capsys.readouterr().err


# --- rows in memory and on disk --------------------------------------------------------------------------------------
def on_disk(folder, data):
    def store(name, array):
        np.save(folder / f"{name}.npy", array)
        return np.load(folder / f"{name}.npy", mmap_mode="r")

    return {name: store(name, array) for name, array in data.items()}


def test_rows_keep_their_precision_and_are_not_copied():
    rows = as_rows({"x": X.astype(np.float32), "y": DATA["y"]})
    assert rows.arrays["x"].dtype == np.float32
    with double_precision():
        assert rows.take(jnp.array([3]))["x"].dtype == np.float64
        assert canonical(rows, "rows").arrays["x"] is rows.arrays["x"]


def test_runs_from_disk_are_runs_from_memory(tmp_path):
    """One compiled kernel each: the very same draws."""
    runs = []
    for data in (DATA, on_disk(tmp_path, DATA)):
        kernel = ls.subsampled(log_prior, log_likelihood, data, count=20, proposal="normal")
        runs.append(ls.sample(kernel, np.zeros(3), draws=300, chains=2, seed=3))
    memory, disk = runs
    assert memory.kernel.ratio.estimator.rows.files is None and disk.kernel.ratio.estimator.rows.files is not None
    np.testing.assert_allclose(memory.positions, disk.positions, rtol=1e-9)
    assert np.array_equal(memory.info.is_accepted, disk.info.is_accepted)


# --- fitting, and errors ---------------------------------------------------------------------------------------------
def test_a_mode_that_is_not_known_yet():
    estimator = subsample(count=16, control="taylor").with_count(4)
    assert estimator.is_fitted
    lazy = ls.estimators.subsample(log_prior, log_likelihood, DATA, 16)
    with pytest.raises(ValueError, match=r"mode .* is not known yet.*initial=position"):
        lazy.noise(jax.random.key(0), np.zeros(3))
    with pytest.raises(ValueError, match="mode of the posterior is not known yet"):
        ls.subsampled(None, log_likelihood, DATA).init(np.zeros(3))
    both, start = lazy.fit(np.zeros(3))
    np.testing.assert_allclose(start.mode.position, both.control.center)


def separable():
    x = np.linspace(-1, 1, 50)[:, None]
    return {"x": x, "y": x[:, 0] > 0}


BOUND = ls.subsampling.logistic(lambda row: row["x"])
WALK = ls.RandomWalk(0.1)


class Doubled:
    """A bound of a user's own that is no part."""

    def at(self, factor):
        return self

    def coefficient(self, row, is_controlled):
        return 2 * BOUND.coefficient(row, is_controlled)

    def distance(self, position, candidate, center):
        return BOUND.distance(position, candidate, center)


WITH_NAN = {"x": np.where(np.arange(N)[:, None] == 7, np.nan, X), "y": DATA["y"]}
BAD = [
    (lambda: subsample(count=N + 1), "count of subsample is 401, but the data have only 400 rows"),
    (lambda: subsample(count=0), "count of subsample is 0"),
    (lambda: subsample(control="tailor"), "control of subsample is 'tailor'.*must be 'taylor'"),
    (lambda: subsample(weights=-WEIGHTS), "weights of subsample.*positive numbers, one a row"),
    (
        lambda: ls.estimators.subsample(None, log_likelihood, WITH_NAN, 10),
        r"data\['x'\] holds nan in row 7.*leave such rows out",
    ),
    (
        lambda: ls.estimators.subsample(None, log_likelihood, {"x": X, "y": DATA["y"][:-1]}, 10),
        r"data is ragged.*'x'\] has 400.*'y'\] has 399",
    ),
    (
        lambda: ls.estimators.subsample(None, log_likelihood, {"x": X, "n": 3.0}, 10),
        r"data\['n'\] is the single number",
    ),
    (lambda: ls.estimators.subsample(None, log_likelihood, {}, 10), "data is {}, which holds no array"),
    (lambda: ls.estimators.subsample(None, log_likelihood, X[:0], 1), "there is no row in it"),
    (
        lambda: ls.estimators.subsample(None, log_likelihood, separable(), 10, initial=np.zeros(1)),
        "no proper maximum.*separable.*proper log_prior",
    ),
    (
        lambda: ls.estimators.subsample(None, lambda theta, row: 0.0 * theta[0], DATA, 10, initial=np.zeros(1)),
        "no proper maximum.*not identified",
    ),
    (
        lambda: ls.estimators.subsample(
            None, lambda theta, row: jnp.log(theta[0] + row["x"][0]), DATA, 10, initial=np.zeros(1)
        ),
        "log_likelihood returned nan for row .* of the data",
    ),
    (
        lambda: ls.estimators.subsample(lambda theta: -jnp.inf, log_likelihood, DATA, 10, initial=np.zeros(3)),
        "log_prior returned -inf .* inside the support",
    ),
    (lambda: ls.subsampled(None, log_likelihood), "data of subsampled is None"),
    (lambda: ls.tunamh(log_prior, log_likelihood, DATA), "bound of tunamh is None"),
    (lambda: ls.subsampled(None, log_likelihood, DATA, proposal="laplace"), "proposal is 'laplace'.*normal, student"),
    (lambda: ls.tunamh(None, log_likelihood, DATA, 3.0), "bound of tunamh is 3.0"),
    (lambda: ls.tunamh(None, log_likelihood, DATA, ls.subsampling.logistic(lambda row: row["x"]), chi=0), "chi is 0"),
    (lambda: ls.tunamh(None, log_likelihood, DATA, type(BOUND)), "bound of tunamh is <class .*it must be a bound"),
    (lambda: ls.poisson_product(None, log_likelihood, DATA, Doubled), "bound of poisson_product is <class .*Doubled"),
    (
        lambda: ls.tunamh(None, log_likelihood, DATA, Doubled(), WALK, control=None),
        "bound is <.*Doubled object.*decorated with @ls.part",
    ),
    (
        lambda: subsample(control=ls.subsampling.Surrogate),
        "control of subsample must be 'taylor', None, or .*got <class",
    ),
    (
        lambda: ls.subsampling.find_mode(None, log_likelihood, DATA, np.array([0.0, np.nan, 0.0])),
        r"initial is \[0.0, nan, 0.0\]; give finite numbers",
    ),
    (lambda: ls.CrankNicolson(0.0, 1.0, 1.5), "step of CrankNicolson is 1.5"),
    (lambda: ls.IndependentStudent(0.0, 1.0, -2.0), "degrees of IndependentStudent is -2"),
]


@pytest.mark.parametrize("call, message", BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_is_refused(call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert re.search(message, str(caught.value), re.DOTALL), caught.value


# The prior comes first everywhere; a call that leaves it out, or has it elsewhere, is told the order.
CALLS = {
    "ls.estimators.subsample(log_prior, log_likelihood, data, count)": [
        lambda: ls.estimators.subsample(log_likelihood, DATA, 10),
        lambda: ls.estimators.subsample(log_likelihood, DATA, count=10),
    ],
    "ls.subsampled(log_prior, log_likelihood, data)": [
        lambda: ls.subsampled(log_likelihood, DATA, log_prior),
        lambda: ls.subsampled(log_likelihood, DATA),
        lambda: ls.subsampled(log_likelihood),
    ],
    "ls.tunamh(log_prior, log_likelihood, data, bound, proposal)": [
        lambda: ls.tunamh(log_likelihood, DATA, BOUND),
        lambda: ls.tunamh(log_likelihood, DATA, BOUND, None, log_prior),
    ],
    "ls.poisson_product(log_prior, log_likelihood, data, bound, proposal)": [
        lambda: ls.poisson_product(log_likelihood, DATA, BOUND, None, log_prior),
    ],
    "ls.subsampling.find_mode(log_prior, log_likelihood, data, initial)": [
        lambda: ls.subsampling.find_mode(log_likelihood, DATA, np.zeros(3), log_prior),
    ],
}


@pytest.mark.parametrize("right", CALLS)
def test_another_order_of_the_arguments_is_told_the_right_call(right):
    for call in CALLS[right]:
        with pytest.raises(TypeError, match=r"log_likelihood is (None|a dict of arrays).*second argument") as caught:
            call()
        assert f"{right}, with None as log_prior for a flat one" in str(caught.value)


def test_a_proper_prior_makes_separable_data_proper():
    found = ls.estimators.subsample(log_prior, log_likelihood, separable(), 10, initial=np.zeros(1))
    assert 1 < found.control.center[0] < 10


# --- the diagnosis ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tail", ["normal", "heavy"])
def test_the_diagnosis_tells_heavy_tails_from_light_ones(tail):
    """Rows that say nothing, and a prior with known tails."""

    def prior(theta):
        return {"normal": -0.5 * theta[0] ** 2, "heavy": -jnp.log1p(theta[0] ** 2)}[tail]

    def nothing(theta, row):
        return 0.0 * theta[0] * row

    estimator, (mode, *_) = ls.estimators.subsample(prior, nothing, np.ones(50), 1).fit(np.array([0.5]))

    def diagnosis(proposal):
        return ls.subsampling.diagnose(estimator, proposal, mode.position, mode.mean, mode.factor)

    normal = diagnosis(ls.IndependentNormal(mode.mean, mode.factor))
    student = diagnosis(ls.IndependentStudent(mode.mean, 1.2 * mode.factor, 1.0))
    assert normal.variance == pytest.approx(0, abs=1e-20) and student.is_normal_enough
    if tail == "normal":
        assert normal.is_normal_enough and normal.acceptance == pytest.approx(1)
    else:
        assert normal.shape > 0.7 > student.shape and not normal.is_normal_enough


def test_both_modes_are_found():
    rows = 0.7 * GENERATOR.choice([-1, 1], 300) + GENERATOR.normal(size=300)

    def two_places(theta, row):
        return jnp.logaddexp(-0.5 * (row - theta[0]) ** 2, -0.5 * (row + theta[0]) ** 2)

    with pytest.warns(ls.LockstepWarning) as caught:
        kernel = ls.subsampled(log_prior, two_places, rows, initial=np.array([0.5]))
    assert "2 modes or more" in str(caught[0].message) and "all of them are used" in str(caught[1].message)
    means = kernel.proposal.means[:, 0]
    assert means[0] == pytest.approx(-means[1]) and kernel.exact_when == "always"


# --- bounds of TunaMH ------------------------------------------------------------------------------------------------
def robust_log_likelihood(theta, row):
    u2 = (row["y"] - jnp.dot(row["x"], theta)) ** 2 / (4.0 * 0.7**2)
    return -2.5 * jnp.log1p(u2)


@pytest.mark.parametrize("is_controlled", [True, False])
@pytest.mark.parametrize("name", ["logistic", "robust"])
def test_bounds_hold_and_are_not_far_too_wide(name, is_controlled):
    """Over many pairs near and far: no row breaks the bound, and some row comes within a factor of it."""
    features = {"features": lambda row: row["x"]}
    make, density = {
        "logistic": (ls.subsampling.logistic(**features), log_likelihood),
        "robust": (ls.subsampling.robust(**features, degrees=4.0, scale=0.7), robust_log_likelihood),
    }[name]
    generator = np.random.default_rng(3)
    data = {"x": X, "y": DATA["y"] if name == "logistic" else X @ TRUTH + generator.standard_t(4, N)}
    estimator = ls.estimators.subsample(
        log_prior, density, data, 1, "taylor" if is_controlled else None, np.zeros(3) if is_controlled else None
    )
    factor = np.array([[0.2, 0, 0], [0.05, 0.1, 0], [0.0, -0.1, 0.3]])
    bound = make.at(factor)
    center = estimator.control.center if is_controlled else None
    middle = np.zeros(3) if center is None else center
    pairs = middle + (generator.normal(size=(40, 2, 3)) * 10.0 ** generator.uniform(-1, 1, (40, 1, 1))) @ factor.T
    with double_precision():

        def shares(pair):
            def of_row(row):
                change = estimator.remainder(pair[1], row) - estimator.remainder(pair[0], row)
                return jnp.abs(change) / bound.coefficient(row, is_controlled)

            return jax.vmap(of_row)(estimator.rows.arrays) / bound.distance(pair[0], pair[1], center)

        found = np.asarray(jax.jit(jax.vmap(shares))(jnp.asarray(pairs)))
    assert found.max() <= 1
    assert found.max() > 0.1


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_the_poisson_product_is_unbiased_and_a_cut_off_one_is_not(is_cut_off):
    kernel = registry.poisson_product(ls.Finite(registry.SYMMETRIC))
    process, weights = registry.POISSON_LAW
    if is_cut_off:
        process = registry.cut_off(process)
    with double_precision():
        evaluate = canonical(kernel, "kernel").ratio.evaluate
        process = jax.tree.map(jnp.asarray, process)
        log_estimates = jax.vmap(jax.vmap(evaluate, in_axes=(0, None)), in_axes=(None, 0))(process, jnp.arange(5))
        means = np.log(np.exp(np.asarray(log_estimates)) @ weights)
    error = np.max(np.abs(means - means[0] - registry.LOG_TUNA + registry.LOG_TUNA[0]))
    # What the law leaves out beyond 12 arrivals is of the order 1e-13.
    assert error > 1e-3 if is_cut_off else error < 1e-12


# Rows of the registry plus a part that a surrogate of one's own takes off: what is left has the registry's bounds.
SLOPES, SHAPE = np.array([0.9, -0.4]), np.array([0.0, 1.0, -0.5, 0.3, 2.0])
SLOPED_ROWS = registry.TUNA_ROWS | {"slope": SLOPES}
TOTAL_SLOPES = SLOPES.sum() * SHAPE
LOG_SLOPED = registry.LOG_TUNA + TOTAL_SLOPES


def sloped(state, row):
    return row["slope"] * jnp.asarray(SHAPE)[state]


def sloped_kernel(make, **options):
    surrogate = ls.subsampling.Surrogate(row=sloped, total=lambda state: jnp.asarray(TOTAL_SLOPES)[state])
    bound = ls.subsampling.Bound(distance=lambda position, candidate: 1.0, row=lambda row: row["size"])
    return lambda proposal: make(
        registry.log_pi,
        lambda state, row: row["value"][state] + sloped(state, row),
        SLOPED_ROWS,
        bound,
        proposal,
        surrogate,
        **options,
    )


SURROGATE_CASES = {
    "tunamh": (ls.tunamh, {"chi": registry.TUNA_EXTRA / registry.TUNA_TOTAL**2}, registry.TUNA_LAW),
    "poisson_product": (ls.poisson_product, {"initial": np.array(0)}, registry.POISSON_LAW),
}


@pytest.mark.parametrize("name", SURROGATE_CASES)
def test_minibatches_are_exact_with_a_surrogate_of_ones_own(name):
    make, options, law = SURROGATE_CASES[name]
    for proposal in registry.PROPOSALS.values():
        right = registry.Case(name, sloped_kernel(make, **options), law, LOG_SLOPED)
        assert max(errors(right, proposal).values()) < 1e-14


@pytest.mark.parametrize("make", [ls.tunamh, ls.poisson_product])
def test_bounds_of_a_taylor_control_are_refused_for_a_surrogate(make):
    bound = ls.subsampling.logistic(lambda row: row["x"])
    with pytest.raises(ValueError, match=r"Taylor control or of none.*Surrogate.*subsampling\.Bound\(row, distance\)"):
        make(log_prior, log_likelihood, DATA, bound, ls.RandomWalk(0.1), SURROGATE, np.zeros(3))


def test_poisson_product_needs_a_position_to_count_from():
    bound = ls.subsampling.Bound(lambda row: 1.0, lambda position, candidate: 1.0)
    for control in (None, SURROGATE):
        with pytest.raises(ValueError, match="initial of poisson_product is None"):
            ls.poisson_product(log_prior, log_likelihood, DATA, bound, ls.RandomWalk(0.1), control)


@pytest.mark.study
def test_a_run_of_tunamh_with_a_surrogate_finds_the_posterior():
    """Logistic regression on one covariate, with the tangent at 0 as the control, against a sum over a grid."""
    data = {"x": X[:60, :1], "y": DATA["y"][:60]}
    slope = data["x"].T @ (data["y"] - 0.5)
    bound = ls.subsampling.Bound(row=lambda row: 0.5 * jnp.abs(row["x"][0]), distance=lambda a, b: jnp.abs(b - a)[0])
    surrogate = ls.subsampling.Surrogate(linear, lambda theta: jnp.dot(slope, theta))
    kernel = ls.tunamh(log_prior, log_likelihood, data, bound, ls.RandomWalk(0.5), surrogate)
    run = ls.sample(kernel, np.zeros(1), draws=300, chains=32, seed=1, warmup=50)
    grid = np.linspace(-4, 4, 4001)
    logits = data["x"] * grid
    log_target = np.sum(data["y"][:, None] * logits - np.logaddexp(0, logits), axis=0) - grid**2 / 8
    weights = np.exp(log_target - log_target.max())
    for power in (1, 2):
        exact = np.sum(grid**power * weights) / weights.sum()
        means = (run.positions**power).mean(axis=(1, 2))
        assert abs(means.mean() - exact) < 4.5 * means.std(ddof=1) / np.sqrt(len(means))


def test_a_broken_bound_is_counted():
    bound = ls.subsampling.Bound(lambda row: 1e-3, lambda position, candidate: jnp.abs(candidate - position)[0])
    kernel = ls.tunamh(log_prior, log_likelihood, {"x": X[:, :1], "y": DATA["y"]}, bound, ls.RandomWalk(0.5), None)
    with double_precision():
        minibatch = canonical(kernel, "kernel").ratio.randomization
        noise = minibatch.noise(jax.random.key(2), jnp.zeros(1))
        x = minibatch.sample(noise, jnp.zeros(1), jnp.ones(1))
        assert np.isnan(float(minibatch.log_weight(x, jnp.zeros(1), jnp.ones(1))))


def a_minibatch(coefficient):
    """Of rows whose log likelihoods are slopes times θ: the bound |slope| |θ' - θ| is met with equality."""
    data = {"slope": np.array([0.5, -1.0, 2.0])}
    bound = ls.subsampling.Bound(
        lambda row: coefficient * jnp.abs(row["slope"]), lambda position, candidate: jnp.abs(candidate - position)
    )
    kernel = ls.tunamh(
        log_likelihood=lambda theta, row: row["slope"] * theta,
        data=data,
        bound=bound,
        proposal=ls.RandomWalk(1.0),
        log_prior=lambda theta: 0.0,
        control=None,
    )
    return canonical(kernel, "kernel").ratio.randomization


def test_further_arrivals_are_new_ones():
    """Of 50 chunks or so, no gap and no uniform number comes twice."""
    seen = []

    def look(arrivals):
        jax.debug.callback(lambda gaps, keeps: seen.append((gaps, keeps)), arrivals.gaps, arrivals.keeps)
        return jnp.zeros_like(arrivals.gaps)

    with double_precision():
        minibatch = a_minibatch(1.0)
        minibatch.sum_over_arrivals(minibatch.noise(jax.random.key(1), jnp.zeros(())), 400.0, look)
        jax.effects_barrier()
    numbers = np.array(seen).reshape(-1)
    assert len(seen) > 40 and len(np.unique(numbers)) == numbers.size


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_a_bound_is_enforced_without_slack(share):
    """A bound that is met with equality holds; one percent less is broken, and seen by both algorithms."""
    with double_precision():
        minibatch = a_minibatch(share)
        here, there = jnp.zeros(()), jnp.asarray(3.0)
        process = minibatch.noise(jax.random.key(2), here)
        weight = minibatch.log_weight(minibatch.sample(process, here, there), here, there)
        estimate = PoissonProduct(minibatch, here)(process, there)
    assert np.isfinite(weight) == np.isfinite(estimate) == (share == 1.0)


# --- bounds that do not hold
SLOPE_ROWS = {"slope": np.concatenate([np.full(50, 0.05), [1.5]])}


def slope_log_likelihood(theta, row):
    return row["slope"] * theta - 0.1 * theta**2


def slope_kernel(make, row, distance):
    bound = ls.subsampling.Bound(row, distance)
    return make(
        log_likelihood=slope_log_likelihood,
        data=SLOPE_ROWS,
        bound=bound,
        proposal=ls.RandomWalk(0.5),
        log_prior=lambda theta: 0.0,
        control=None,
        initial=0.0,
    )


def slope_distance(position, candidate):
    return jnp.abs(candidate - position) * (1 + jnp.abs(candidate) + jnp.abs(position))


def slope_coefficient(row):
    return jnp.abs(row["slope"]) + 0.1


BROKEN_BOUNDS = {
    "coefficient 0 for the row that matters": (
        lambda row: jnp.where(row["slope"] > 1, 0.0, slope_coefficient(row)), slope_distance,
        r"bound does not hold.*row 50 changes by .*coefficient 0 times.*1 of the 51 rows",
    ),
    "all coefficients 0": (lambda row: 0.0, slope_distance, "bound does not hold"),
    "too small": (lambda row: 0.2 * slope_coefficient(row), slope_distance, "bound does not hold"),
    "distance 0": (slope_coefficient, lambda position, candidate: 0.0, "bound does not hold.*the distance 0 is less"),
    "distance NaN": (slope_coefficient, lambda position, candidate: jnp.nan, "distance of the bound is nan"),
    "distance infinite": (slope_coefficient, lambda position, candidate: jnp.inf, "distance of the bound is inf"),
    "distance negative": (slope_coefficient, lambda old, new: new - old, "distance of the bound is -"),
}  # fmt: skip


@pytest.mark.parametrize("make", [ls.tunamh, ls.poisson_product])
@pytest.mark.parametrize("name", BROKEN_BOUNDS)
def test_a_bound_that_does_not_hold_is_refused_when_a_run_starts(name, make):
    row, distance, message = BROKEN_BOUNDS[name]
    with pytest.raises(ValueError, match=message):
        ls.sample(slope_kernel(make, row, distance), 0.0, draws=16, chains=2)


def test_a_distance_must_be_the_same_in_both_directions():
    def lopsided(position, candidate):
        return slope_distance(position, candidate) * jnp.where(candidate > position, 2.0, 1.0)

    with pytest.raises(ValueError, match=r"distance of the bound is .* but .* back; it must be the same in both"):
        ls.sample(slope_kernel(ls.tunamh, slope_coefficient, lopsided), 0.0, draws=16, chains=2)


@pytest.mark.parametrize("make", [ls.poisson_product, pytest.param(ls.tunamh, marks=pytest.mark.study)])
def test_bounds_that_fail_later_are_counted(make):
    """Right near the start, and 0 for every row beyond |θ| = 1: rows that are not drawn cannot tell, others do."""

    def short(position, candidate):
        return jnp.where(
            jnp.maximum(jnp.abs(position), jnp.abs(candidate)) < 1, slope_distance(position, candidate), 0.0
        )

    kernel = slope_kernel(make, slope_coefficient, short)
    kernel = ls.MetropolisHastings(ls.RandomWalk(0.2), kernel.ratio)
    with pytest.warns(ls.LockstepWarning, match=r"at \d+ updates .* a row changed by more than its bound"):
        run = ls.sample(kernel, 0.0, draws=300, chains=4, seed=1)
    far = np.abs(run.positions) > 1
    assert run.info.is_violated[far].mean() > 0.5 and far.any()


@pytest.mark.parametrize("make", [ls.tunamh, pytest.param(ls.poisson_product, marks=pytest.mark.study)])
def test_a_bound_that_holds_is_let_pass(make):
    run = ls.sample(slope_kernel(make, slope_coefficient, slope_distance), 0.0, draws=100, chains=4, seed=1)
    assert not run.info.is_violated.any() and run.info.is_valid.all()
