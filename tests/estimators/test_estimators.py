"""Estimators: values and cumulants against formulas, brute force, and exact laws; hardly any Monte Carlo."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep import estimators

KEY = jr.key(3)
POSITION, CANDIDATE = 0.4, 1.1


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    with jax.enable_x64(True):
        yield


def log_difference(position, candidate):
    return -0.5 * (candidate**2 - position**2)


D = log_difference(POSITION, CANDIDATE)


def normal(key, count):
    return jr.normal(key, (count,))


def exponential(key, count):
    return jr.exponential(key, (count,))


def three_exponentials(key, count):
    return jr.exponential(key, (count, 3))


def one_sample(noise, position, candidate):
    return log_difference(position, candidate) + jnp.exp(0.5 * noise) * (1 + candidate)


def log_weight(noise, position, candidate):
    return log_difference(position, candidate) + 0.8 * noise - 0.32


def estimate_of(estimator, key=KEY):
    return jax.jit(lambda key: estimator(estimator.noise(key, POSITION), POSITION, CANDIDATE))(key)


def assert_estimate(estimate, value, bias, variance, third, count, tolerance=1e-12):
    assert estimate.count == count
    got = [float(x) for x in estimate[:4]]
    np.testing.assert_allclose(got, [value, bias, variance, third], rtol=tolerance, atol=tolerance)


def third_moment(samples):
    """The unbiased estimate of the third central moment, written out."""
    m, centred = len(samples), samples - np.mean(samples)
    return m / ((m - 1) * (m - 2)) * np.sum(centred**3)


def delta_method(samples, value, gradient, hessian):
    """The cumulants of g(average), by the formulas, with plain loops."""
    samples = samples.reshape(len(samples), -1)
    m, dimension = samples.shape
    centred = samples - samples.mean(axis=0)
    sigma = sum(np.outer(c, c) for c in centred) / (m - 1)
    bias = sum(hessian[i, j] * sigma[j, i] for i in range(dimension) for j in range(dimension)) / (2 * m)
    variance = gradient @ sigma @ gradient / m
    along = centred @ gradient
    third = (third_moment(along) + 3 * (sigma @ gradient) @ hessian @ (sigma @ gradient)) / m**2
    return value, bias, variance, third


# --- against brute force on the same samples


@pytest.mark.parametrize("m", [3, 8, 33])
def test_mean(m):
    samples = np.array([float(one_sample(z, POSITION, CANDIDATE)) for z in normal(KEY, m)])
    wanted = samples.mean(), 0.0, samples.var(ddof=1) / m, third_moment(samples) / m**2, m
    assert_estimate(estimate_of(estimators.mean(one_sample, m, draw=normal)), *wanted)
    assert third_moment(samples) == pytest.approx(stats.kstat(samples, 3), rel=1e-12)


@pytest.mark.parametrize("m", [3, 8, 33])
def test_smooth_of_numbers(m):
    def combine(average, position, candidate):
        return log_difference(position, candidate) - 1 + 1 / average

    w = np.asarray(exponential(KEY, m))
    mean = w.mean()
    wanted = delta_method(w, D - 1 + 1 / mean, np.array([-1 / mean**2]), np.array([[2 / mean**3]]))
    assert_estimate(estimate_of(estimators.smooth(None, combine, m, draw=exponential)), *wanted, m)
    sample = estimators.smooth(lambda noise, position, candidate: noise, combine, m, draw=exponential)
    assert_estimate(estimate_of(sample), *wanted, m)


@pytest.mark.parametrize("is_sample_given", [True, False])
def test_smooth_of_vectors(is_sample_given):
    m = 9

    def combine(w, position, candidate):
        return log_difference(position, candidate) + w[0] * w[1] ** 2 / w[2]

    sample = (lambda noise, position, candidate: noise) if is_sample_given else None
    samples = np.asarray(three_exponentials(KEY, m))
    a, b, c = samples.mean(axis=0)
    gradient = np.array([b**2 / c, 2 * a * b / c, -a * b**2 / c**2])
    hessian = np.array(
        [
            [0.0, 2 * b / c, -(b**2) / c**2],
            [2 * b / c, 2 * a / c, -2 * a * b / c**2],
            [-(b**2) / c**2, -2 * a * b / c**2, 2 * a * b**2 / c**3],
        ]
    )
    wanted = delta_method(samples, D + a * b**2 / c, gradient, hessian)
    estimator = estimators.smooth(sample, combine, m, draw=three_exponentials)
    assert_estimate(estimate_of(estimator), *wanted, m)


def test_a_vector_of_one_number_is_that_number():
    def draw(key, count):
        return jr.exponential(key, (count, 1))

    of_number = estimators.smooth(None, lambda w, position, candidate: jnp.log(w), 8, draw=exponential)
    of_vector = estimators.smooth(None, lambda w, position, candidate: jnp.log(w[0]), 8, draw=draw)
    assert_estimate(estimate_of(of_vector), *estimate_of(of_number))


def test_smooth_of_a_linear_function_is_the_mean():
    linear = estimators.smooth(one_sample, lambda w, position, candidate: w, 8, draw=normal)
    assert_estimate(estimate_of(linear), *estimate_of(estimators.mean(one_sample, 8, draw=normal)))


@pytest.mark.parametrize("shift", [0.0, 700.0, -700.0])
def test_log_mean_exp(shift):
    m = 12

    def shifted(noise, position, candidate):
        return shift + log_weight(noise, position, candidate)

    log_weights = np.array([float(log_weight(z, POSITION, CANDIDATE)) for z in normal(KEY, m)])
    value = np.log(np.mean(np.exp(log_weights)))
    r = np.exp(log_weights - value)
    s2 = r.var(ddof=1)
    wanted = value + shift, -s2 / (2 * m), s2 / m, (third_moment(r) - 3 * s2**2) / m**2, m
    estimate = estimate_of(estimators.log_mean_exp(shifted, m, draw=normal))
    assert_estimate(estimate, *wanted, tolerance=1e-11)
    assert estimate.bias + estimate.variance / 2 == 0.0


def test_log_mean_exp_is_smooth_with_a_logarithm():
    def weight(noise, position, candidate):
        return jnp.exp(log_weight(noise, position, candidate))

    smooth = estimators.smooth(weight, lambda w, position, candidate: jnp.log(w), 12, draw=normal)
    assert_estimate(estimate_of(estimators.log_mean_exp(log_weight, 12, draw=normal)), *estimate_of(smooth))


def test_log_mean_exp_of_weights_that_are_zero():
    def some(noise, position, candidate):
        return jnp.where(noise > 0, 0.0, -jnp.inf)

    estimator = estimators.log_mean_exp(some, 4, draw=normal)
    estimate = estimator(jnp.array([1.0, -1.0, -1.0, 1.0]), POSITION, CANDIDATE)
    assert float(estimate.value) == pytest.approx(np.log(0.5), abs=1e-15)
    assert np.isfinite(estimate.variance)
    nothing = estimator(-jnp.ones(4), POSITION, CANDIDATE)
    assert nothing.value == -jnp.inf
    for rule in (ls.rules.plug_in, ls.rules.penalty, ls.rules.corrected):
        assert rule(nothing) == -jnp.inf  # a certain rejection, no NaN


def test_batch_means():
    m, batches = 24, 6
    estimator = estimators.batch_means(
        lambda noise, position, candidate: log_difference(position, candidate) + jnp.cumsum(noise), m, batches, normal
    )
    samples = D + np.cumsum(np.asarray(normal(KEY, m)))
    averages = np.array([samples[i : i + 4].mean() for i in range(0, m, 4)])
    wanted = samples.mean(), 0.0, averages.var(ddof=1) / batches, third_moment(averages) / batches**2, batches
    assert_estimate(estimate_of(estimator), *wanted)


def test_batch_means_with_combine():
    m, batches = 24, 6

    def combine(w, position, candidate):
        return log_difference(position, candidate) + jnp.log(w[0]) * w[1]

    def first_two(noise, position, candidate):
        return noise[:, :2]

    estimator = estimators.batch_means(first_two, m, batches, three_exponentials, combine)
    samples = np.asarray(three_exponentials(KEY, m))[:, :2]
    averages = samples.reshape(6, 4, 2).mean(axis=1)
    a, b = averages.mean(axis=0)
    hessian = np.array([[-b / a**2, 1 / a], [1 / a, 0.0]])
    wanted = delta_method(averages, D + np.log(a) * b, np.array([b / a, np.log(a)]), hessian)
    assert_estimate(estimate_of(estimator), *wanted, batches)


def test_batch_means_of_one_sample_each_is_the_mean():
    def every(noise, position, candidate):
        return jax.vmap(one_sample, in_axes=(0, None, None))(noise, position, candidate)

    whole = estimators.batch_means(every, 8, batches=8, draw=normal)
    assert_estimate(estimate_of(whole), *estimate_of(estimators.mean(one_sample, 8, draw=normal)))


def test_batch_means_without_a_draw_gets_one_key():
    estimator = estimators.batch_means(lambda key, position, candidate: jr.normal(key, (8,)), 8, batches=4)
    assert float(estimate_of(estimator).value) == pytest.approx(float(jr.normal(KEY, (8,)).mean()), abs=1e-15)
    assert estimator.noise(KEY, POSITION, (5, 2)).shape == (5, 2)


@pytest.mark.parametrize("variance", [0.25, lambda position, candidate: 0.1 + (position - candidate) ** 2])
def test_known_variance(variance):
    noisy = estimators.mean(one_sample, 4, draw=normal)
    wanted = variance(POSITION, CANDIDATE) if callable(variance) else variance
    estimate = estimate_of(estimators.known_variance(noisy, variance))
    assert_estimate(estimate, float(estimate_of(noisy).value), 0.0, wanted, 0.0, 4)


def test_gaussianized():
    def score(noise):
        return noise.sum() / 4

    estimator = estimators.gaussianized(log_difference, score, 0.3, 16, draw=normal)
    wanted = D + np.sqrt(0.3) * np.asarray(normal(KEY, 16)).sum() / 4
    assert_estimate(estimate_of(estimator), wanted, 0.0, 0.3, 0.0, 16)


def test_gaussianized_shares_the_noise_of_the_estimator_it_is_coupled_with():
    noisy = estimators.mean(None, 16, draw=normal)
    coupled = estimators.gaussianized(
        lambda position, candidate: 0.0, lambda noise: noise.sum() / 4, 1 / 16, 16, draw=normal
    )
    for shape in ((), (5,), (3, 2)):
        noise, other = (e.noise(KEY, POSITION, shape) for e in (noisy, coupled))
        np.testing.assert_allclose(noise.mean, other / 4, rtol=0, atol=1e-14)


def test_two_sided():
    noisy = estimators.smooth(
        one_sample, lambda w, position, candidate: jnp.log1p(w**2) * (2 + candidate), 8, draw=normal
    )
    estimator = estimators.two_sided(noisy)
    noise = estimator.noise(KEY, POSITION)
    forward, reverse = noisy(noise[0], POSITION, CANDIDATE), noisy(noise[1], CANDIDATE, POSITION)
    assert not np.array_equal(noise[0], noise[1])
    wanted = [
        (float(forward.value) - float(reverse.value)) / 2,
        (float(forward.bias) - float(reverse.bias)) / 2,
        (float(forward.variance) + float(reverse.variance)) / 4,
        (float(forward.third) - float(reverse.third)) / 8,
    ]
    there = estimator(noise, POSITION, CANDIDATE)
    assert_estimate(there, *wanted, 8 + 8 - 1)
    # The theorem: with the halves of the noise swapped, the way back is the mirror image.
    back = estimator(noise[::-1], CANDIDATE, POSITION)
    assert_estimate(back, -there.value, -there.bias, there.variance, -there.third, 8 + 8 - 1)


def test_pooled_two_sided():
    """An average has no curvature: its linear part has the third cumulant of the whole, (forward - reverse)/8."""
    noisy = estimators.mean(one_sample, 8, draw=normal)
    estimator = estimators.two_sided(noisy)
    noise = estimator.noise(KEY, POSITION, (5,))
    found = estimator.pooled(noise, POSITION, CANDIDATE)
    forward, reverse = noisy.pooled(noise[0], POSITION, CANDIDATE), noisy.pooled(noise[1], CANDIDATE, POSITION)
    assert abs(float(found.third)) > 1e-6
    assert float(found.third) == pytest.approx(float(found.estimate.third), rel=1e-12)
    assert float(found.third) == pytest.approx((float(forward.third) - float(reverse.third)) / 8, rel=1e-12)
    np.testing.assert_allclose(found.linear, (forward.linear - reverse.linear) / 2, rtol=1e-12)


def test_difference():
    old = estimators.mean(lambda noise, position, candidate: -0.5 * position**2 + noise, 8, draw=normal)
    new = estimators.smooth(None, lambda w, position, candidate: jnp.log(w) * candidate, 6, draw=exponential)
    estimator = estimators.difference(old, new)
    noise = estimator.noise(KEY, POSITION)
    a, b = old(noise[0], POSITION, CANDIDATE), new(noise[1], POSITION, CANDIDATE)
    wanted = [float(x) for x in (b.value - a.value, b.bias - a.bias, b.variance + a.variance, b.third - a.third)]
    assert_estimate(estimator(noise, POSITION, CANDIDATE), *wanted, 8 + 6 - 1)


# --- against exact laws: two-point samples, whose number of successes is binomial


P_TWO, TWO_POINTS = 0.3, np.array([0.6, 1.7])


def smooth_inverse(m):
    return estimators.smooth(None, lambda w, position, candidate: 1 / w, m, draw=normal)


def smooth_pair(m):
    def pair(noise, position, candidate):
        return jnp.stack([noise, noise**2])

    return estimators.smooth(pair, lambda w, position, candidate: w[1] / w[0] ** 2 + jnp.log(w[0]), m, draw=normal)


def smooth_number(m):
    def number(noise, position, candidate):
        return noise

    return estimators.smooth(number, lambda w, position, candidate: 1 / w, m, draw=normal)


def log_mean_two_points(m):
    return estimators.log_mean_exp(lambda noise, position, candidate: jnp.log(noise), m, draw=normal)


def exact_and_expected(make, m):
    """The three cumulants of D̂ (about D at m = ∞), and the expectations of their estimates."""
    k = np.arange(m + 1)
    samples = np.where(np.arange(m) < k[:, None], TWO_POINTS[1], TWO_POINTS[0])
    estimator = make(m)
    if make is smooth_inverse:
        samples = ls.estimators.samples.moments(jnp.asarray(samples))
    estimates = jax.jit(jax.vmap(lambda s: estimator(s, 0.0, 0.0)[:4]))(samples)
    value, bias, variance, third = (np.asarray(x) for x in estimates)
    probability = stats.binom(m, P_TWO).pmf(k)
    mean = probability @ value
    centred = value - mean
    exact = mean, probability @ centred**2, probability @ centred**3
    return np.array(exact), probability @ np.stack([bias, variance, third], axis=1)


@pytest.mark.parametrize("make", [smooth_inverse, smooth_number, smooth_pair, log_mean_two_points])
def test_delta_method_is_right_to_first_order(make):
    mu = (1 - P_TWO) * TWO_POINTS[0] + P_TWO * TWO_POINTS[1]
    mu2 = (1 - P_TWO) * TWO_POINTS[0] ** 2 + P_TWO * TWO_POINTS[1] ** 2
    limit = {smooth_pair: mu2 / mu**2 + np.log(mu), log_mean_two_points: np.log(mu)}.get(make, 1 / mu)
    scaled = []
    for m in (64, 256, 1024):
        exact, expected = exact_and_expected(make, m)
        exact[0] -= limit
        scaled.append(m * (expected / exact - 1))
    # Relative errors are of order 1/m: m times them is bounded and converges.
    assert np.all(np.abs(scaled) < 4)
    assert np.all(np.abs(scaled[2] - scaled[1]) < np.abs(scaled[1] - scaled[0]) / 2 + 0.01)


def test_cumulants_of_a_mean_are_unbiased():
    for m in (3, 10, 40):
        k = np.arange(m + 1)
        samples = np.where(np.arange(m) < k[:, None], TWO_POINTS[1], TWO_POINTS[0])
        estimator = estimators.mean(lambda noise, position, candidate: noise, m, draw=normal)
        estimates = jax.jit(jax.vmap(lambda s, e=estimator: e(s, 0.0, 0.0)[:4]))(jnp.asarray(samples))
        expected = [float(stats.binom(m, P_TWO).pmf(k) @ np.asarray(x)) for x in estimates[2:]]
        gap, q = TWO_POINTS[1] - TWO_POINTS[0], P_TWO
        wanted = gap**2 * q * (1 - q) / m, gap**3 * q * (1 - q) * (1 - 2 * q) / m**2
        np.testing.assert_allclose(expected, wanted, rtol=1e-11)


def test_estimated_variance_of_continuous_samples_is_right_on_average():
    replicates, m = 20_000, 8
    estimator = estimators.mean(None, m, draw=exponential)
    noise = estimator.noise(KEY, POSITION, (replicates,))
    estimates = jax.vmap(lambda n: estimator(n, POSITION, CANDIDATE)[:4])(noise)
    for values, wanted in zip(estimates, (1.0, 0.0, 1 / m, 2 / m**2), strict=True):
        error = np.std(values) / np.sqrt(replicates)
        assert abs(np.mean(values) - wanted) <= 4.9 * error


def test_batch_means_see_the_dependence_of_an_autoregression():
    m, batches, phi = 512, 8, 0.8
    times = np.arange(m)
    # x = A z is stationary: x_0 = z_0, x_t = phi x_{t-1} + sqrt(1 - phi²) z_t.
    lower = np.where(times[:, None] >= times, phi ** np.clip(times[:, None] - times, 0, None), 0.0)
    lower[:, 1:] *= np.sqrt(1 - phi**2)
    covariance = lower @ lower.T
    np.testing.assert_allclose(covariance, phi ** np.abs(times[:, None] - times), atol=1e-12)
    true = covariance.mean()  # the variance of the average

    def expected_variance(estimator):
        # A variance estimate is a quadratic form in the noise: its expectation is the sum over unit vectors.
        return float(np.sum(jax.jit(jax.vmap(lambda e: estimator(e, 0.0, 0.0).variance))(np.eye(m))))

    def chain(noise, position, candidate):
        return jnp.asarray(lower) @ noise

    by_batches = estimators.batch_means(chain, m, batches, normal)
    of_batch = covariance[: m // batches, : m // batches].mean()
    assert expected_variance(by_batches) == pytest.approx((of_batch - true) / (batches - 1), rel=1e-10)
    assert expected_variance(by_batches) == pytest.approx(true, rel=0.1)
    as_if_independent = estimators.batch_means(chain, m, m, normal)
    assert expected_variance(as_if_independent) < true / 8


# --- noise, and other numbers of samples


def test_draws_as_samples_equal_a_sample_that_returns_them():
    def itself(noise, position, candidate):
        return noise

    def combine(w, position, candidate):
        return jnp.log1p(w**2) + candidate

    pairs = [
        (estimators.mean(None, 8, draw=normal), estimators.mean(itself, 8, draw=normal)),
        (estimators.smooth(None, combine, 8, draw=normal), estimators.smooth(itself, combine, 8, draw=normal)),
    ]
    for without, given in pairs:
        assert_estimate(estimate_of(without), *estimate_of(given), tolerance=1e-14)
        for a, b in zip(estimate_of(without)[:4], estimate_of(given)[:4], strict=True):
            assert a == b
        # The moments come with the noise: it does not grow with the number of samples.
        sizes = [sum(x.size for x in jax.tree.leaves(without.with_count(m).noise(KEY, 0.0, (7,)))) for m in (4, 400)]
        assert sizes == [21, 21]


def test_one_draw_in_bulk_with_the_key_unsplit():
    calls = []

    def recorded(key, count):
        calls.append((key, count))
        return {"a": jr.normal(key, (count,)), "b": jr.normal(key, (count, 3))}

    estimator = estimators.mean(lambda noise, position, candidate: noise["a"] + noise["b"].sum(), 6, draw=recorded)
    noise = estimator.noise(KEY, POSITION, (5, 4))
    assert noise["a"].shape == (5, 4, 6) and noise["b"].shape == (5, 4, 6, 3)
    [(key, count)] = calls
    assert key is KEY and count == 120
    assert np.array_equal(noise["a"].ravel(), jr.normal(KEY, (120,)))


def test_without_a_draw_each_sample_has_a_key():
    estimator = estimators.mean(lambda key, position, candidate: jr.normal(key), 6)
    noise = estimator.noise(KEY, POSITION, (5, 4))
    assert noise.shape == (5, 4, 6)
    assert len(np.unique(jr.key_data(noise).reshape(-1, 2), axis=0)) == 120
    samples = np.array([float(jr.normal(key)) for key in jr.split(KEY, 6)])
    estimate = estimate_of(estimator)
    assert float(estimate.value) == pytest.approx(samples.mean(), abs=1e-14)
    assert float(estimate.variance) == pytest.approx(samples.var(ddof=1) / 6, abs=1e-14)


def combine_log(w, position, candidate):
    return jnp.log(w)


def with_all(m):
    noisy = estimators.mean(one_sample, m, draw=normal)
    return {
        "mean": noisy,
        "smooth": estimators.smooth(None, combine_log, m, draw=exponential),
        "log_mean_exp": estimators.log_mean_exp(log_weight, m, draw=normal),
        "batch_means": estimators.batch_means(lambda noise, position, candidate: noise, m, 4, normal),
        "two_sided": estimators.two_sided(noisy),
        "difference": estimators.difference(noisy, estimators.mean(None, m, draw=exponential)),
        "known_variance": estimators.known_variance(noisy, 3.0 / m),
        "gaussianized": estimators.gaussianized(log_difference, lambda z: z[0], 3.0 / m, m, draw=normal),
    }


@pytest.mark.parametrize("name", with_all(8))
def test_with_count_is_the_estimator_made_with_that_count(name):
    changed, made = with_all(8)[name].with_count(20), with_all(20)[name]
    assert changed.count == 20
    noise, other = (e.noise(KEY, POSITION) for e in (changed, made))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, noise, other))
    assert_estimate(changed(noise, POSITION, CANDIDATE), *made(noise, POSITION, CANDIDATE), tolerance=1e-14)
    twice = changed.with_count(4).with_count(8)
    assert_estimate(estimate_of(twice), *estimate_of(with_all(8)[name]), tolerance=1e-14)


@pytest.mark.parametrize("name", with_all(8))
def test_interpreted_estimates_equal_compiled_ones(name):
    estimator = with_all(8)[name]
    noise = estimator.noise(KEY, POSITION)
    compiled = jax.jit(lambda n: estimator(n, POSITION, CANDIDATE))(noise)
    interpreted = estimator(jax.tree.map(np.asarray, noise), np.float64(POSITION), np.float64(CANDIDATE))
    assert_estimate(interpreted, *compiled)


@pytest.mark.parametrize("name", ["mean", "log_mean_exp", "batch_means"])
@pytest.mark.parametrize("m", [8, 64])  # added up in Python, and by NumPy
@pytest.mark.parametrize("is_interpreted", [False, True])
def test_the_value_alone_is_that_of_the_estimate(name, m, is_interpreted):
    estimator = with_all(m)[name]
    arguments = estimator.noise(KEY, POSITION), POSITION, CANDIDATE
    if is_interpreted:
        arguments = jax.tree.map(np.asarray, arguments[0]), np.float64(POSITION), np.float64(CANDIDATE)
    assert estimator.value(*arguments) == estimator(*arguments).value


@pytest.mark.parametrize("log_weights", [[0.3, np.nan, 800.0], [np.nan, 0.3, 800.0], [np.inf, 0.0], [-np.inf, -np.inf]])
def test_extreme_weights_are_averaged_alike_interpreted_and_compiled(log_weights):
    estimator = estimators.log_mean_exp(lambda noise, position, candidate: noise, len(log_weights), draw=normal)
    with np.errstate(all="ignore"):
        interpreted = estimator(np.array(log_weights), np.float64(0.0), np.float64(1.0))
    compiled = jax.jit(lambda noise: estimator(noise, 0.0, 1.0))(jnp.array(log_weights))
    np.testing.assert_array_equal(interpreted.value, compiled.value)


def test_who_knows_a_variance():
    one = estimators.mean(one_sample, 1, draw=normal)
    known = estimators.known_variance(one, 0.3)
    assert not one.has_variance and one.with_count(2).has_variance and known.has_variance
    assert known.is_variance_known
    assert estimators.two_sided(known).is_variance_known and not estimators.two_sided(one).has_variance
    assert estimators.difference(known, known).is_variance_known
    assert not getattr(estimators.difference(known, one), "is_variance_known", False)
    assert estimate_of(known).variance == 0.3
    assert np.isnan(estimate_of(one).variance)


def test_too_few_samples_for_a_third_cumulant_give_nan_there_only():
    estimate = estimate_of(estimators.mean(one_sample, 2, draw=normal))
    assert np.isfinite(estimate.variance) and np.isnan(estimate.third)
