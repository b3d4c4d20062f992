"""Black boxes: the draws of compiled code, random numbers of (seed, chain, step), users' own errors."""

import gc
import inspect
import subprocess
import sys
import traceback
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import lockstep as ls
from lockstep.core.precision import canonical, double_precision
from lockstep.engine import interpreted, pace
from lockstep.engine.block import Block
from lockstep.engine.hosted import hosted
from lockstep.engine.interface import Moving
from lockstep.engine.interpreted import INTERPRETED
from lockstep.engine.thinning import Thinning
from lockstep.host.generator import RandomKey
from lockstep.host.scope import quiet
from lockstep.separation.predict import replicates_of
from lockstep.starts.states import initial_states

WALK = ls.RandomWalk(0.8)
DATA = np.array([0.3, 1.2, -0.4, 0.8, 1.7])
E = ls.estimators


# Functions that NumPy and JAX both understand, so that they can be given either way.
def log_density(theta):
    return -0.5 * (theta**2).sum()


def difference(position, candidate):
    return log_density(candidate) - log_density(position)


def noisy(noise, position, candidate):
    return difference(position, candidate) + 0.5 * noise


def vector(noise, position, candidate):
    return noise**2 + 0.3 * position[0] ** 2  # whose average stays away from 0, where `combine` has no derivative


def combine(average, position, candidate):
    return difference(position, candidate) + (average**2).sum() ** 0.5 - 1.7


def combine_number(average, position, candidate):
    return difference(position, candidate) + average + average**3


def consecutive(noise, position, candidate):
    return difference(position, candidate) + noise.cumsum() / 8


def log_likelihood(theta, x):
    return -0.5 * ((x - theta[0]) ** 2).sum()


def simulate(noise, theta):
    return theta[0] + noise


def log_estimate(noise, theta):
    return log_density(theta) + 0.3 * noise.sum()


def normals(*shape):
    return lambda key, count: jr.normal(key, (count, *shape), float)


def normal(*shape):
    return lambda key: jr.normal(key, shape, float)


def estimators(box):
    """Kernels of every estimator and rule, and the ratios without a random memory."""
    average = E.mean(box(noisy), 5, draw=normals())
    return ls.Cycle(
        [
            ls.standard(box(log_density), ls.IndependentNormal(0.1, np.linalg.cholesky([[1.0, 0.3], [0.3, 2.0]]))),
            ls.naive(average, WALK),
            ls.penalty(average, ls.UniformWalk(0.7), series=True),
            ls.penalty(E.known_variance(average, box(lambda position, candidate: 0.05 + 0 * position[0])), WALK),
            ls.corrected(E.smooth(box(vector), box(combine), 6, draw=normals(3)), WALK),
            ls.corrected(E.smooth(None, box(combine_number), 6, draw=normals()), WALK),
            ls.penalty(E.log_mean_exp(box(noisy), 4, draw=normals()), WALK),
            ls.corrected(E.batch_means(box(consecutive), 12, batches=4, draw=normals()), WALK),
            ls.corrected(E.two_sided(average), ls.Component(0, WALK)),
            ls.penalty(E.difference(average, E.mean(box(noisy), 3, draw=normals())), WALK),
            ls.universal(average, 2.0, WALK),
            ls.exchange(box(log_density), box(log_likelihood), box(simulate), DATA, WALK, draw=normal(5)),
            ls.randomized(
                box(log_density),
                ls.IndependentUniform(-3.0, 3.0),
                ls.Density(
                    box(lambda noise, position, candidate: 0.5 * noise),
                    box(lambda x, position, candidate: -2 * x**2),
                    ls.Reflection(0.25),
                    draw=normal(),
                ),
            ),
        ]
    )


def correlated(box):
    return ls.pseudo_marginal(box(log_estimate), WALK, correlation=0.9, draw=normal(3))


def auxiliary(box):
    def density(x):
        return -0.5 * (x**2).sum()

    return ls.auxiliary_variable(
        box(log_density), box(log_likelihood), box(simulate), box(density), DATA, WALK, draw=normal(5)
    )


def coupled(box):
    average = E.mean(box(noisy), 5, draw=normals())
    proposal = ls.IndependentNormal(0.0, 1.5)
    return ls.Coupled(ls.standard(box(log_density), proposal), ls.corrected(average, proposal))


def shadowed(box):
    return ls.Shadowed(ls.standard(box(log_density), WALK), ls.naive(E.mean(box(noisy), 5, draw=normals()), WALK))


def structured(box):
    def of_dict(theta):
        return -0.5 * theta["a"] ** 2 - (theta["b"] ** 2).sum()

    return ls.Mixture(
        [ls.standard(box(of_dict), ls.Component("a", WALK)), ls.standard(box(of_dict), ls.Component("b", WALK))],
        [0.3, 0.7],
    )


def mixed(box):
    """A black box for the simulator alone: the other functions are compiled in either case."""
    exact = ls.exchange(
        lambda theta: -0.5 * jnp.sum(theta**2), log_likelihood, box(simulate), DATA, WALK, draw=normal(5)
    )
    by_key = E.mean(lambda key, a, b: difference(a, b) + jr.normal(key, (), float), 3)
    return ls.Coupled(exact, ls.corrected(by_key, WALK))


SMOOTH = [4, 5]  # the kernels of `estimators` whose derivatives are differences on the host
STEPS = 100  # in two pieces


@jax.jit
def compiled_steps(kernel, start, key_start, key_noise):
    noise = kernel.noise(key_noise, start, (STEPS,))
    end, (positions, info) = jax.lax.scan(
        lambda state, row: (lambda s, i: (s, (s.position, i)))(*kernel.move(state, row)),
        kernel.init(start, key_start),
        noise,
    )
    return jax.tree.map(RandomKey.of, noise), end, positions, info


def interpreted_steps(kernel, start, key_start, noise):
    state = INTERPRETED.init(kernel, jax.tree.map(lambda leaf: np.asarray(leaf)[None], start), key_start[None])
    rows = interpreted.rows_of(jax.tree.map(lambda leaf: leaf[:, None], noise), slice(None), 0)
    with quiet():
        first = jax.tree.map(lambda leaf: leaf[0], state)
        end, updates = interpreted.walk(hosted(kernel).move, first, rows, Block(0, STEPS), 0)
    return end, updates.positions, updates.info


@pytest.mark.parametrize("make", [estimators, correlated, auxiliary, shadowed, structured, mixed])
def test_a_function_takes_the_same_steps_compiled_and_as_a_black_box(make):
    start = {"a": 0.2, "b": np.array([0.1, -0.3])} if make is structured else np.array([0.4, -0.2])
    with double_precision():
        kernel, boxed = canonical(make(lambda f: f), "kernel"), canonical(make(ls.blackbox), "kernel")
        start = canonical(start, "start")
        noise, *expected = compiled_steps(kernel, start, jr.key(1), jr.key(2))
        found = interpreted_steps(boxed, start, jr.key(1), noise)
    expected, found = jax.tree.leaves_with_path(expected), jax.tree.leaves_with_path(list(found))
    assert len(expected) == len(found)
    for (path, a), (_, b) in zip(expected, found, strict=True):
        a, b = np.array(a), np.array(b)
        assert a.dtype == b.dtype and a.shape == b.shape, path
        if make is estimators and a.shape == (STEPS, 13) and a.dtype == float:
            np.testing.assert_allclose(a[:, SMOOTH], b[:, SMOOTH], rtol=1e-6, atol=1e-7)
            a, b = (np.delete(leaf, SMOOTH, axis=1) for leaf in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=jax.tree_util.keystr(path))


def test_a_thinned_run_is_the_same_compiled_and_as_a_black_box():
    options = {"draws": 70, "chains": 2, "seed": 3, "thin": 3, "warmup": 5}
    compiled, boxed = (ls.sample(coupled(box), np.zeros(2), **options) for box in (lambda f: f, ls.blackbox))
    expected, found = (jax.tree.leaves_with_path((run.positions, run.info)) for run in (compiled, boxed))
    for (path, a), (_, b) in zip(expected, found, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, path
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=jax.tree_util.keystr(path))
    assert 0.02 < boxed.acceptance < 0.98 and boxed.info.marks.any()


def noisy_box(theta, rng):
    return log_density(theta) + np.log(rng.exponential(size=4).mean())


def states_and_keys(kernel, chains=3):
    kernel = canonical(kernel, "kernel")
    keys = jax.vmap(lambda chain: jr.fold_in(jr.key(5), chain))(jnp.arange(chains))
    return kernel, keys, initial_states(kernel, np.zeros(2), chains, jr.key(6))


def test_a_run_can_be_cut_at_any_step_bit_for_bit():
    with double_precision():
        kernel, keys, start = states_and_keys(ls.pseudo_marginal(ls.blackbox(noisy_box), WALK))
        whole_end, whole = INTERPRETED.advance(Moving(kernel, keys, 4), start, Block(0, 150), Thinning(1))
        state, pieces, step = start, [], 0
        for steps in (1, 62, 1, 3, 70, 13):
            state, piece = INTERPRETED.advance(Moving(kernel, keys, 2), state, Block(step, steps), Thinning(1))
            pieces.append(piece)
            step += steps
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *pieces)
    jax.tree.map(np.testing.assert_array_equal, (joined, state), (whole, whole_end))


def test_random_numbers_depend_on_seed_chain_and_step_alone(monkeypatch):
    monkeypatch.setattr(pace, "FIRST_STEPS", 64)  # one block, in which the chains come one after the other
    seen = []

    def record(theta, rng):
        seen.append(rng.normal())
        return log_density(theta)

    def numbers(**options):
        seen.clear()
        ls.sample(ls.pseudo_marginal(ls.blackbox(record), WALK), np.zeros(2), **options)
        starts, draws = options["chains"], options["draws"]
        return np.array(seen[starts:]).reshape(options["chains"], draws), np.unique(seen[:starts])

    three, starts = numbers(draws=60, chains=3, seed=1)
    assert len(np.unique(three)) == 180 and len(starts) == 3
    two, _ = numbers(draws=20, chains=2, seed=1)
    np.testing.assert_array_equal(two, three[:2, :20])
    other, _ = numbers(draws=20, chains=2, seed=2)
    assert not np.isin(other, three).any()
    assert abs(three.mean()) < 5 / np.sqrt(180) and abs(three.std() - 1) < 5 / np.sqrt(360)


def test_coupled_black_boxes_share_their_random_numbers():
    def sample(rng, position, candidate):
        return difference(position, candidate) + rng.normal()

    average = E.mean(ls.blackbox(sample), 10)
    same = ls.Coupled(ls.naive(average, WALK), ls.naive(E.known_variance(average, 0.1), WALK))
    run = ls.sample(same, np.zeros(2), draws=60, chains=2, seed=0)
    assert run.info.is_equal.all() and 0.1 < run.acceptance < 0.9
    np.testing.assert_array_equal(run.info.first.log_ratio, run.info.second.log_ratio)


@pytest.mark.parametrize(
    "sample",
    [
        lambda rng, position, candidate: difference(position, candidate) + rng.normal(),
        lambda position, candidate, rng: difference(position, candidate) + rng.normal(),
        lambda position, candidate, *, rng: difference(position, candidate) + rng.normal(),
        lambda position, candidate, extra=1, rng=None: difference(position, candidate) + rng.normal(),
        lambda first, position, candidate: difference(position, candidate) + first.normal(),
    ],
)
def test_the_generator_is_the_parameter_rng_or_the_first(sample):
    def all_at_once(count, rng, position, candidate):
        return difference(position, candidate) + rng.normal(size=count)

    one = ls.sample(ls.naive(E.mean(ls.blackbox(sample), 4), WALK), np.zeros(2), draws=10, chains=1, seed=4)
    boxes = E.mean(
        ls.blackbox(
            lambda position, candidate, rng, count: all_at_once(count, rng, position, candidate), vectorized=True
        ),
        4,
    )
    every = ls.sample(ls.naive(boxes, WALK), np.zeros(2), draws=10, chains=1, seed=4)
    np.testing.assert_allclose(one.positions, every.positions)
    np.testing.assert_allclose(one.info.log_ratio, every.info.log_ratio)


def test_all_chains_at_once():
    calls = []

    def batched(thetas):
        calls.append(thetas.shape)
        assert type(thetas) is np.ndarray and thetas.dtype == np.float64
        return -0.5 * (thetas**2).sum(axis=1)

    kernel = ls.standard(ls.blackbox(batched, batched=True), WALK)
    run = ls.sample(kernel, np.zeros(2), draws=70, chains=3, seed=3)
    assert set(calls) == {(3, 2)} and len(calls) == 71
    compiled = ls.sample(ls.standard(log_density, WALK), np.zeros(2), draws=70, chains=3, seed=3)
    np.testing.assert_allclose(run.positions, compiled.positions, rtol=1e-12)


def test_all_chains_and_samples_at_once():
    def batched(rng, position, candidate, count):
        exact = 0.5 * (position**2).sum(axis=1) - 0.5 * (candidate**2).sum(axis=1)
        return exact[:, None] + rng.normal(size=(len(position), count))

    kernel = ls.penalty(E.mean(ls.blackbox(batched, batched=True), 6), WALK)
    run, again = (ls.sample(kernel, np.zeros(2), draws=40, chains=3, seed=3) for _ in range(2))
    np.testing.assert_array_equal(run.positions, again.positions)
    assert len(np.unique(run.info.log_ratio)) == 120


class Mine(Exception):
    """An exception of a user's own."""


def failing(theta):
    if (np.asarray(theta) > 0.5).any():
        raise Mine("broken simulator")
    return -0.5 * (theta**2).sum(axis=-1)


@pytest.mark.parametrize("is_batched", [False, True])
def test_an_exception_arrives_as_itself_with_its_traceback(is_batched):
    kernel = ls.standard(ls.blackbox(failing, batched=is_batched), ls.RandomWalk(5.0))
    starts = ls.Starts(np.array([[0.0, 0.0], [-1e3, -1e3]]))  # the second chain stays far from where it fails
    with pytest.raises(Mine, match="broken simulator") as caught:
        ls.sample(kernel, starts, draws=50, chains=2, seed=0)
    assert str(caught.value) == "broken simulator"
    line = inspect.getsourcelines(failing)[1] + 2
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert any(frame.name == "failing" and frame.lineno == line for frame in frames)
    if not is_batched:
        assert "log_density was called with an array of shape (2,)." in caught.value.__notes__
        assert any("of chain 0" in note for note in caught.value.__notes__)
    # The same black box works again afterwards.
    gentle = ls.standard(ls.blackbox(failing, batched=is_batched), ls.RandomWalk(1e-3))
    assert ls.sample(gentle, np.zeros(2), draws=5, chains=2, seed=0).acceptance == 1


def boxed(function, **options):
    return ls.sample(ls.standard(ls.blackbox(function, **options), WALK), np.zeros(2), draws=5, chains=2)


def averaged(function, **options):
    kernel = ls.naive(E.mean(ls.blackbox(function, **options), 4), WALK)
    return ls.sample(kernel, np.zeros(2), draws=5, chains=2)


def exchanged(function):
    kernel = ls.exchange(log_density, log_likelihood, ls.blackbox(function), DATA, WALK)
    return ls.sample(kernel, np.zeros(2), draws=5, chains=2)


def changed(theta):
    theta[0] = 1.0
    return 0.0


WRONG = [
    (lambda: boxed(lambda theta, rng: 0.0), TypeError, "log_density must take 1 positional argument .*signature is"),
    (lambda: averaged(lambda rng, theta: 0.0), TypeError, "sample of mean must take 3 .*a random generator.*`rng`"),
    (lambda: averaged(lambda position, candidate: 0.0), TypeError, "sample of mean must take 3 positional arguments"),
    (lambda: boxed(lambda theta: theta), ValueError, r"log_density returned an array of shape \(2,\).*one number"),
    (lambda: boxed(lambda theta: None), TypeError, "log_density returned None"),
    (lambda: boxed(lambda theta: "a"), TypeError, "log_density returned 'a'; it must return one real number"),
    (lambda: boxed(lambda theta: 1j), TypeError, "complex"),
    (lambda: boxed(lambda theta: 0.0, batched=True), ValueError, r"must return arrays of shape \(2,\).*chains"),
    (lambda: averaged(lambda rng, a, b: "x"), TypeError, "sample of mean returned 'x'"),
    (
        lambda: averaged(lambda rng, a, b: a),
        ValueError,
        r"sample of mean returned an array of shape \(2,\).*one number",
    ),
    (lambda: averaged(lambda rng, a, b: a, vectorized=True), ValueError, "must return all 4 samples"),
    (
        lambda: exchanged(lambda rng, theta: rng.normal(size=(3, 1))),
        ValueError,
        r"simulate returned .*\(3, 1\).*the data are",
    ),
    (lambda: ls.blackbox(3), TypeError, "function of blackbox must be a Python function"),
    (lambda: ls.blackbox(ls.blackbox(log_density)), TypeError, "black box already"),
    (lambda: ls.blackbox(log_density, vectorized="yes"), TypeError, "vectorized of blackbox is 'yes'"),
    (
        lambda: ls.sample(ls.standard(lambda theta: ls.blackbox(log_density)(theta), WALK), np.zeros(2), draws=5),
        TypeError,
        "wrap the outermost function",
    ),
    (
        lambda: ls.sample(
            ls.naive(E.mean(noisy, 2, draw=ls.blackbox(lambda key, count: np.zeros(count))), WALK), np.zeros(2), draws=5
        ),
        TypeError,
        "draw.* must be JAX functions|cannot draw noise",
    ),
    (
        lambda: ls.sample(ls.standard(lambda theta: float(np.sum(theta)), WALK), np.zeros(2), draws=5),
        TypeError,
        r"not a JAX function.*ls\.blackbox\(function\)",
    ),
]


@pytest.mark.parametrize("call, kind, message", WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_a_mistake_is_named_with_its_remedy(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_arguments_are_read_only():
    with pytest.raises(ValueError, match="read-only") as caught:
        boxed(changed)
    assert any("copy them" in note for note in caught.value.__notes__)


def test_nan_is_counted():
    returned = []

    def log_target(theta):
        returned.append(np.nan if theta[0] > 0.5 else -0.5 * (theta**2).sum())
        return returned[-1]

    with pytest.warns(ls.LockstepWarning, match=r"log ratios .* were NaN.*log_density returned nan at candidate"):
        run = ls.sample(ls.standard(ls.blackbox(log_target), WALK), np.zeros(2), draws=100, chains=2, seed=0)
    in_the_run = np.isnan(returned[2:202])  # after the starts; then the warning looks for an example
    assert (~run.info.is_valid).sum() == in_the_run.sum() > 0


def test_warnings_of_the_users_function_arrive_and_ours_are_silent():
    def loud(theta):
        return np.log(np.float64(-1.0)) * 0 - 1.0

    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"), pytest.raises(ValueError):
        boxed(loud)
    # All weights are zero: our logarithm of 0 is a certain rejection, and says nothing.
    zero = E.log_mean_exp(ls.blackbox(lambda rng, position, candidate: -np.inf), 3)
    run = ls.sample(ls.naive(zero, WALK), np.zeros(2), draws=20, chains=2)
    assert run.acceptance == 0 and run.info.is_valid.all()


KINDS = {
    "numbers": lambda box: E.smooth(None, box(combine_number), 6, draw=normals()),
    "vectors": lambda box: E.smooth(box(vector), box(combine), 6, draw=normals(3)),
}


@pytest.mark.study
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_of_black_boxes_are_those_of_compiled_functions(kind):
    """Callbacks have no derivatives: `smooth` takes differences there too, never a silent zero."""
    run = ls.sample(
        ls.standard(lambda theta: difference(jnp.zeros(2), theta), WALK), np.zeros(2), draws=500, chains=2, seed=1
    )
    kernels = [ls.naive(KINDS[kind](box), WALK) for box in (ls.blackbox, lambda function: function)]
    ls.sample(kernels[0], np.zeros(2), draws=2, chains=1)  # which sees how large samples are
    (found, _), (expected, _) = (replicates_of(run, kernel, pairs=16) for kernel in kernels)
    assert np.abs(expected.linear).max() > 0.1
    for name in ("each", "linear", "halves", "influences"):
        one, other = (jax.tree.leaves(getattr(replicates, name)) for replicates in (found, expected))
        for boxed, compiled in zip(one, other, strict=True):
            np.testing.assert_allclose(boxed, compiled, rtol=1e-3, atol=1e-5)


def test_callbacks_refuse_to_be_differentiated():
    called_back = ls.blackbox(lambda theta: -0.5 * np.sum(theta**2, axis=1), batched=True)
    with pytest.raises(TypeError, match="no derivative in compiled code"):
        jax.grad(lambda theta: called_back(theta[None])[0])(jnp.ones(2))


def test_checks_take_black_boxes():
    log_pi, states = np.array([0.0, -0.7, 0.4]), np.arange(3)
    proposal = ls.Finite(np.full((3, 3), 1 / 3))
    law = ls.check.Law(np.log([0.25, 1.0, 2.5]), np.array([0.4, 0.4, 0.2]))
    right = ls.pseudo_marginal(ls.blackbox(lambda noise, state: log_pi[state] + noise), proposal, draw=normal())
    wrong = ls.pseudo_marginal(ls.blackbox(lambda noise, state: log_pi[state] + noise * state), proposal, draw=normal())
    target = np.exp(log_pi)[:, None] * np.exp(law.values) * law.weights
    for kernel, is_exact in ((right, True), (wrong, False)):
        matrix = ls.check.transition_matrix(kernel, states, law)
        assert (ls.check.stationarity_error(matrix, target.ravel()) < 1e-14) is is_exact

    def skewed(rng, position, candidate):
        return candidate - position + rng.normal() * np.exp(candidate)

    found = ls.check.symmetry(E.mean(ls.blackbox(skewed), 2), np.zeros(1), np.ones(1), replicates=300)
    assert not found and "two_sided" in found.sentence

    def involved(involution):
        density = ls.Density(
            ls.blackbox(lambda rng, a, b: 0.5 * rng.normal()), ls.blackbox(lambda x, a, b: -2 * x**2), involution
        )
        kernel = ls.randomized(ls.blackbox(log_density), WALK, density)
        return ls.check.balance(kernel, np.array([[0.1, 0.2]]), replicates=50)

    assert involved(ls.Reflection(0.25)) and not involved(lambda x: (0.25 - x, 0.3))


@pytest.mark.parametrize("start", [np.zeros(2), 0.0])
def test_a_prior_is_asked_once_of_each_candidate(start):
    seen = []

    def log_prior(theta):
        seen.append(theta)
        return -0.5 * float(np.sum(theta**2))

    def log_likelihood(theta, x):
        return -0.5 * float(np.sum((x - np.ravel(theta)[0]) ** 2))

    def simulate(rng, theta):
        return np.ravel(theta)[0] + rng.standard_normal(5)

    boxes = map(ls.blackbox, (log_prior, log_likelihood, simulate))
    kernel = ls.exchange(*boxes, data=DATA, proposal=WALK)
    run = ls.sample(kernel, start, draws=50, chains=1, seed=1)
    first = len(seen) - 50  # at the start
    assert first <= 4 and len({theta.tobytes() for theta in seen[first:]}) == 50
    assert run.acceptance > 0


def test_a_function_of_a_flag_is_called_at_every_update():
    calls = []

    def log_density(flag):
        calls.append(flag)
        return 0.5 * float(flag)

    flip = ls.Independent(lambda key: jr.bernoulli(key), lambda flag: jnp.log(0.5))
    ls.sample(ls.standard(ls.blackbox(log_density), flip), jnp.array(True), draws=40, chains=1, seed=1)
    assert len(calls) == 1 + 40


def test_a_parameter_rng_is_left_alone_where_there_is_no_generator():
    def log_density(theta, rng=None):
        assert rng is None
        return -0.5 * float(theta @ theta)

    run = ls.sample(ls.standard(ls.blackbox(log_density), WALK), np.zeros(2), draws=20, chains=1, seed=1)
    assert run.acceptance > 0


def test_records_of_updates_do_not_make_the_collector_look_through_all_objects():
    exact = ls.standard(ls.blackbox(lambda theta: -0.5 * float(theta @ theta)), WALK)
    coupled, found = ls.Coupled(exact, exact), []

    def run():
        ls.sample(coupled, np.zeros(2), draws=10_000, chains=1, seed=1)

    def see(phase, info):
        found.append((phase, info["generation"]))

    run()
    gc.collect()
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # as users have it
    gc.callbacks.append(see)
    try:
        run()
    finally:
        gc.callbacks.remove(see)
        gc.set_threshold(*before)
    assert found.count(("start", 1)) <= 2 and found.count(("start", 2)) == 0


def test_the_generator_of_a_key_begins_where_a_new_one_does():
    for seed in (0, 7, 2**64 - 1):
        generator = RandomKey(None, seed).generator()
        generator.standard_normal(3), generator.integers(0, 9, 5, np.uint32)  # half a word is left over
        expected = np.random.Generator(np.random.Philox(key=np.array([seed, 0], np.uint64)))
        found = RandomKey(None, seed).generator()
        for draw in (lambda rng: rng.standard_normal(7), lambda rng: rng.integers(0, 2**30, 3, np.uint32)):
            np.testing.assert_array_equal(draw(found), draw(expected))


def test_a_step_by_hand():
    kernel = ls.pseudo_marginal(ls.blackbox(noisy_box), WALK)
    state = kernel.init(jnp.zeros(2), jr.key(0))
    for key in jr.split(jr.key(1), 5):
        state, _ = kernel.step(key, state)
    assert np.isfinite(state.memory) and state.position.shape == (2,)
    with pytest.raises(TypeError, match="being compiled"):
        jax.jit(kernel.step)(jr.key(0), state)


def test_noise_is_compiled_once_for_all_black_boxes_of_a_kind():
    def run(function, scale):
        ls.sample(ls.standard(ls.blackbox(function), ls.RandomWalk(scale)), np.zeros(3), draws=10, chains=2)

    run(lambda theta: 0.0, 1.0)
    before = INTERPRETED.compilations()
    run(lambda theta: -log_density(theta) * 0, 2.0)
    assert INTERPRETED.compilations() == before


def test_a_slow_black_box_begins_with_short_blocks(monkeypatch):
    blocks = []
    advance = INTERPRETED.advance

    def recorded(moving, state, block, thinning):
        blocks.append(block.steps)
        return advance(moving, state, block, thinning)

    monkeypatch.setattr(INTERPRETED, "advance", recorded)
    ls.sample(ls.standard(ls.blackbox(log_density), WALK), np.zeros(2), draws=300, chains=2)
    assert blocks[0] == 1 and sum(blocks) == 300


def test_the_example_drives_a_program():
    example = Path(__file__).parents[2] / "examples" / "command_line_simulator.py"
    done = subprocess.run([sys.executable, example, "--draws", "4"], capture_output=True, text=True, check=True)
    assert "R0" in done.stdout
