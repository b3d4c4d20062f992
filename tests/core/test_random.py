"""Random numbers: the bits of JAX, transforms right to the last digit, and laws that are right to the tails."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import lockstep as ls
from lockstep.core import random
from lockstep.core.precision import double_precision

ALARM = 1e-6  # of a test by frequencies
DIGITS = 4e-16


@pytest.fixture(autouse=True)
def in_double_precision():
    with double_precision():
        yield


def as_words(bits) -> jax.Array:
    """Numbers of 64 bits as pairs of words."""
    bits = np.asarray(bits, np.uint64)
    high, low = (bits >> np.uint64(32)).astype(np.uint32), bits.astype(np.uint32)
    return jax.lax.complex(jnp.asarray(high.view(np.float32)), jnp.asarray(low.view(np.float32)))


def some_bits(count: int) -> np.ndarray:
    """Random bits, and those at the ends and the seams of the transforms."""
    quarters = np.arange(4, dtype=np.uint64) << np.uint64(62)
    ends = np.array([0, 2**10, 2**12, 2**61 - 1, 2**61, 2**62 - 1], np.uint64)
    # Numbers whose logarithm is taken on the other side of √½ and √2 of a power of 2.
    seams = [np.uint64(int((2 - 2**-k * np.sqrt(0.5) - 1) * 2**52) << 12) for k in range(40)]
    near = np.array(seams, np.uint64)[:, None] + np.array([0, 2**12, 2**13], np.uint64)
    edges = np.concatenate([(quarters[:, None] + ends).ravel(), near.ravel(), ~ends])
    return np.concatenate([edges, np.random.default_rng(0).integers(0, 2**64, count, np.uint64)])


def uniform_of(bits: np.ndarray) -> np.ndarray:
    return 2 - ((bits >> np.uint64(12)) | np.uint64(0x3FF0000000000000)).view(np.float64)


def test_words_are_those_of_jax():
    words = random._words(jr.key(3), (5, 7))
    assert np.array_equal(random._joined(words[0]).ravel(), jr.bits(jr.key(3), (35,), jnp.uint64))
    assert not np.array_equal(words[0], words[1])


@pytest.mark.parametrize("size", [1, 3, 1000, 2_000_000, 2**31 - 1])
def test_numbers_of_rows_are_the_first_bits_times_the_size(size):
    drawn = np.asarray(random.below(jr.key(3), size, (40, 25)))
    bits = np.asarray(jr.bits(jr.key(3), (1000,), jnp.uint64)).astype(object)
    assert drawn.dtype == np.int32 and drawn.ravel().tolist() == [(int(b) >> 12) * size >> 52 for b in bits]
    ends = random._share(jnp.array([0, 2**64 - 1], jnp.uint64), size)
    assert ends.tolist() == [0, size - 1]


@pytest.mark.parametrize("make", (jr.key, jr.PRNGKey, lambda seed: jr.key(seed, impl="rbg")))
def test_uniform_numbers_are_those_of_jax(make):
    ours, theirs = random.uniform(make(3), (40, 25)), jr.uniform(make(3), (40, 25), float)
    assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    assert random.uniform(make(3)) == jr.uniform(make(3), (), float)
    keys = jax.vmap(make)(jnp.arange(3))
    batches = [jax.vmap(lambda key, draw=draw: draw(key, (4,)))(keys) for draw in (random.uniform, jr.uniform)]
    assert np.array_equal(*batches)
    with jax.threefry_partitionable(False):
        assert np.array_equal(random.uniform(make(3), (5,)), jr.uniform(make(3), (5,), float))


def is_same(ours, theirs) -> bool:
    return ours.dtype == theirs.dtype and np.array_equal(jr.key_data(ours), jr.key_data(theirs))


@pytest.mark.parametrize("make", (jr.key, jr.PRNGKey, lambda seed: jr.key(seed, impl="rbg")))
def test_derived_keys_are_those_of_jax(make):
    key = make(7)
    assert all(is_same(random.split(key, count), jr.split(key, count)) for count in (1, 2, 3, 7))
    assert all(is_same(random.fold_in(key, number), jr.fold_in(key, number)) for number in (0, 5, 2**31, 2**32 - 1))
    assert is_same(random.split(key, (2, 3)), jr.split(key, (2, 3))) and is_same(random.split(key), jr.split(key))
    keys = jr.split(key, 5)
    ours = jax.vmap(lambda key, number: random.split(random.fold_in(key, number), 3))(keys, jnp.arange(5))
    assert is_same(ours, jax.vmap(lambda key, number: jr.split(jr.fold_in(key, number), 3))(keys, jnp.arange(5)))
    # All of some numbers into all of some keys: few on the host, many by a program.
    for count in (3, 2 * random.MOST_ON_HOST):
        numbers = np.arange(2**32 - count, 2**32)
        theirs = jax.vmap(lambda key, numbers=numbers: jax.vmap(lambda n: jr.fold_in(key, n))(numbers))(keys)
        assert is_same(random.fold_in(keys, numbers), theirs)
    for how in (random.two_keys, jax.jit(random.two_keys)):
        assert all(map(is_same, how(key), jr.split(key)))
    with jax.threefry_partitionable(False):
        assert is_same(random.split(key, 3), jr.split(key, 3)) and is_same(random.two_keys(key)[1], jr.split(key)[1])


@pytest.mark.parametrize("impl", ("threefry2x32", "rbg"))
def test_seeds_give_the_keys_of_jax(impl):
    with jax.default_prng_impl(impl):
        seeds = (0, 5, np.int32(7), 2**31, 2**32 + 5, 2**63 - 1)
        assert all(is_same(random.seeded(seed), jr.key(seed)) for seed in seeds)


def test_few_keys_take_no_program(caplog):
    with jax.log_compiles():
        random.fold_in(random.split(random.seeded(7), 61), np.arange(59))
    assert "Compiling" not in caplog.text
    with jax.log_compiles():
        random.fold_in(random.split(random.seeded(7), 61), np.arange(random.MOST_ON_HOST + 1))
    assert "Compiling" in caplog.text


def worst_logarithm() -> float:
    """The largest relative error of -log(u)."""
    u = uniform_of(some_bits(50_000))
    u = u[u < 1]
    exact = -np.log(u.astype(np.longdouble))
    return float(np.max(np.abs(np.asarray(jax.jit(lambda u: random._minus_log(u))(u)) - exact) / exact))


def worst_point() -> float:
    """The largest error of a point of the plane, in units of its distance from the origin."""
    bits = some_bits(50_000)
    radii, angles = bits, np.random.default_rng(1).permutation(bits)
    points = np.asarray(jax.jit(lambda *words: random._point(*words))(as_words(radii), as_words(angles)))
    distance = np.sqrt(-2 * np.log(uniform_of(radii).astype(np.longdouble)))
    quarter = uniform_of(~(angles << np.uint64(2))) - np.longdouble(2.0**-52)  # what was drawn, from 0 up to 1
    x = (quarter - np.longdouble(0.5)) * 2 * np.arctan(np.longdouble(1))
    sign = np.where(angles >> np.uint64(63), -1, 1)
    across, along = np.sin(x), sign * np.cos(x)
    is_upright = (angles >> np.uint64(62)) & np.uint64(1) == 1
    first, second = np.where(is_upright, across, along), np.where(is_upright, along, across)
    errors = np.hypot(points.real - distance * first, points.imag - distance * second)
    return float(np.max(errors[distance > 0] / distance[distance > 0]))


def test_transforms_are_right_to_the_last_digit():
    assert worst_logarithm() < DIGITS
    assert worst_point() < DIGITS


@pytest.mark.parametrize(
    "series, judged", [("_ATANH", worst_logarithm), ("_SINE", worst_point), ("_COSINE", worst_point)]
)
def test_a_series_with_a_term_too_few_is_seen(monkeypatch, series, judged):
    monkeypatch.setattr(random, series, getattr(random, series)[:-1])
    assert judged() > DIGITS


def test_what_is_farthest_out():
    """The smallest uniform number is 2⁻⁵², the largest 1: nothing is infinite."""
    words = as_words([0, 2**64 - 1])
    assert np.array_equal(random._unit(words), [1.0, 2.0**-52])
    np.testing.assert_allclose(random._minus_log(random._unit(words)), [0.0, 52 * np.log(2)], rtol=1e-15)
    assert np.max(np.abs(random._point(words, words))) < 8.5


@pytest.mark.parametrize("draw, law", [(random.normal, stats.norm), (random.exponential, stats.expon)])
def test_laws(draw, law):
    numbers = np.asarray(draw(jr.key(1), (300_001,)))
    assert numbers.dtype == np.float64
    assert stats.kstest(numbers, law.cdf).pvalue > ALARM
    # Neither of two numbers that were made together, or after each other, tells of the other one.
    half = 2 * -(-len(numbers) // 4)  # how far apart the two coordinates of a point are
    for lag in (half, half // 2, 1, 2):
        for power in (1, 2):
            first, second = numbers[:-lag] ** power, numbers[lag:] ** power
            assert stats.pearsonr(first, second).pvalue > ALARM
            assert stats.pearsonr(np.abs(first), np.abs(second)).pvalue > ALARM
    beyond = np.count_nonzero(numbers > law.isf(1e-4))
    assert stats.binomtest(beyond, len(numbers), 1e-4).pvalue > ALARM


def test_points_have_no_direction():
    points = np.asarray(random._normal(jr.key(2), (2, 100_000)))
    counts = np.bincount(np.floor(np.arctan2(*points) / (2 * np.pi) * 64).astype(int) % 64, minlength=64)
    assert stats.chisquare(counts).pvalue > ALARM


@pytest.mark.parametrize("draw", [random.normal, pytest.param(random.exponential, marks=pytest.mark.study)])
def test_any_shape_and_any_batch(draw):
    for shape in ((), (0,), (1,), (3, 0), (2,), (7,), (3, 5)):
        assert draw(jr.key(4), shape).shape == shape
    require_same_bits(draw, counts=(7, 100))


@pytest.mark.optimized
@pytest.mark.parametrize("draw", [random.normal, random.exponential])
def test_the_same_bits_in_every_program(draw):
    require_same_bits(draw)


def require_same_bits(draw, counts=(7, 64, 100)) -> None:
    """The same numbers alone and in batches of any size, which are other programs."""
    for count in counts:
        keys = jr.split(jr.key(4), (2, 5))
        one = jax.jit(lambda key, count=count: draw(key, (count,)))
        alone = np.array([[one(key) for key in row] for row in keys])
        assert np.array_equal(jax.jit(jax.vmap(jax.vmap(one)))(keys), alone)
        assert np.array_equal(jax.jit(jax.vmap(one))(keys[0]), alone[0])
        assert len(np.unique(alone)) == alone.size


def test_other_generators_and_other_precisions_are_jax_s():
    key = jr.key(0, impl="rbg")
    assert np.array_equal(ls.random.normal(key, (4,)), jr.normal(key, (4,), float))
    assert np.array_equal(ls.random.exponential(key, (4,)), jr.exponential(key, (4,), float))
    with jax.enable_x64(False):
        assert ls.random.normal(jr.key(0), (4,)).dtype == np.float32
    assert np.array_equal(ls.random.normal(jr.PRNGKey(0), (4,)), ls.random.normal(jr.key(0), (4,)))


@pytest.mark.study
def test_a_hundred_million_numbers():
    """Kolmogorov and Smirnov's distance on 10⁸ numbers, moments, and how many lie far out."""
    count, blocks = 10**6, 100
    edges = stats.norm.ppf(np.linspace(0, 1, 10**5 + 1))
    far = np.array([4.0, 4.5, 5.0, 5.5])
    seen, beyond, sums = np.zeros(10**5, int), np.zeros(4, int), np.zeros(4)
    draw = jax.jit(lambda key: random.normal(key, (count,)))
    for key in jr.split(jr.key(5), blocks):
        numbers = np.asarray(draw(key))
        seen += np.histogram(numbers, edges)[0]
        beyond += np.count_nonzero(np.abs(numbers)[:, None] > far, axis=0)
        sums += [np.sum(numbers**power) for power in (1, 2, 3, 4)]
    total = count * blocks
    # Of a distance only the steps between the edges are seen, which are 1e-5 apart.
    distance = np.max(np.abs(np.cumsum(seen) / total - np.linspace(1e-5, 1, 10**5)))
    assert stats.kstwobign.sf(distance * np.sqrt(total)) > ALARM
    assert stats.chisquare(seen).pvalue > ALARM
    for found, expected in zip(beyond, 2 * stats.norm.sf(far) * total, strict=True):
        assert min(stats.poisson.cdf(found, expected), stats.poisson.sf(found - 1, expected)) > ALARM
    deviations = (sums / total - [0, 1, 0, 3]) / np.sqrt(np.array([1, 2, 15, 96]) / total)
    assert np.all(np.abs(deviations) < stats.norm.isf(ALARM / 2))
    print(f"10⁸ normal numbers: distance {distance:.1e}, moments off by {np.round(deviations, 1)} standard errors")
