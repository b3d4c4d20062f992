"""Every kernel speaks one protocol; kernels that are the same algorithm take the same steps."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from blackjax.util import run_inference_algorithm
from covering import in_turn

import lockstep as ls
from lockstep import kernels, ratios
from lockstep.core.kernel import Kernel

KEY = jr.key(5)
DATA = np.array([0.3, 1.2, -0.4])
VARIANCE = 0.25


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    with jax.enable_x64(True):
        yield


def log_density(theta):
    return -0.5 * jnp.sum(theta**2)


def log_difference(position, candidate):
    return log_density(candidate) - log_density(position)


def normal(key):
    return jr.normal(key)


def normals(key, count):
    return jr.normal(key, (count,))


def one_sample(noise, position, candidate):
    return log_difference(position, candidate) + 0.5 * noise


def log_weight(noise, position, candidate):
    return log_difference(position, candidate) + 0.5 * noise - 0.125


def log_likelihood(theta, x):
    return -0.5 * jnp.sum((x - theta[0]) ** 2)


def simulate(noise, theta):
    return theta[0] + noise


def auxiliary_log_density(x):
    return -0.5 * jnp.sum((x - 0.4) ** 2)


def three_normals(key):
    return jr.normal(key, (3,))


def log_estimate(noise, theta):
    return log_density(theta) + 0.3 * noise - 0.045


def surrogate(theta):
    return -0.4 * jnp.sum((theta - 0.1) ** 2)


def auxiliary(noise, position, candidate):
    return VARIANCE**0.5 * noise


def auxiliary_density(x, position, candidate):
    return -(x**2) / (2 * VARIANCE)


WALK = ls.RandomWalk([1.0, 0.7])
MEAN = ls.estimators.mean(one_sample, 4, draw=normals)
REFLECTED = ls.Density(auxiliary, auxiliary_density, ls.Reflection(VARIANCE), draw=normal)
KERNELS = {
    "standard": lambda walk: ls.standard(log_density, walk),
    "naive": lambda walk: ls.naive(MEAN, walk),
    "penalty": lambda walk: ls.penalty(MEAN, walk),
    "penalty series": lambda walk: ls.penalty(MEAN, walk, series=True),
    "corrected": lambda walk: ls.corrected(MEAN, walk),
    "randomized": lambda walk: ls.randomized(log_density, walk, REFLECTED),
    "universal": lambda walk: ls.universal(MEAN, 1.0, walk),
    "exchange": lambda walk: ls.exchange(log_density, log_likelihood, simulate, DATA, walk, draw=three_normals),
    "averaged exchange": lambda walk: ls.averaged_exchange(
        log_density, log_likelihood, simulate, DATA, walk, 3, draw=three_normals
    ),
    "pseudo-marginal": lambda walk: ls.pseudo_marginal(log_estimate, walk, draw=normal),
    "correlated": lambda walk: ls.pseudo_marginal(log_estimate, walk, correlation=0.9, draw=normal),
    "auxiliary variable": lambda walk: ls.auxiliary_variable(
        log_density, log_likelihood, simulate, auxiliary_log_density, DATA, walk, draw=three_normals
    ),
    "screened": lambda walk: ls.screened(ls.standard(log_density, walk), surrogate),
    "screened pseudo-marginal": lambda walk: ls.screened(
        ls.pseudo_marginal(log_estimate, walk, draw=normal), surrogate
    ),
    "cycle": lambda walk: ls.Cycle([ls.standard(log_density, walk), ls.standard(log_density, ls.UniformWalk(1.0))]),
    "mixture": lambda walk: ls.Mixture([ls.standard(log_density, walk), ls.naive(MEAN, walk)], [0.3, 0.7]),
}
RANDOM_MEMORY = {"pseudo-marginal", "screened pseudo-marginal", "correlated", "auxiliary variable"}
every_kernel = pytest.mark.parametrize("name", KERNELS)


@functools.cache
def kernel_named(name):
    return KERNELS[name](WALK)


def start():
    return jnp.array([0.3, -0.5])


def assert_equal(first, second):
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def assert_close(first, second, tolerance=1e-12):
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def walk_with(kernel, noise, state):
    """Positions and infos of the moves that an array of noise makes."""

    def move(state, one):
        state, info = kernel.move(state, one)
        return state, (state.position, info)

    return jax.jit(lambda state, noise: jax.lax.scan(move, state, noise)[1])(state, noise)


def walk(kernel, steps=200, key=KEY):
    return walk_with(kernel, kernel.noise(key, start(), (steps,)), kernel.init(start(), key))


# --- the protocol


# Kernels that need models or data of their own.
ELSEWHERE = {
    "bridged_exchange": "test_exchange_family.py",
    "noisy_exchange": "test_exchange_family.py",
    "poisson_product": "test_subsample.py",
    "subsampled": "test_subsample.py",
    "tunamh": "test_subsample.py",
}


def test_every_constructor_is_here_or_elsewhere():
    here = {name.replace(" ", "_").replace("-", "_") for name in KERNELS}
    assert {name for name in kernels.__all__ if name.islower()} <= here | set(ELSEWHERE)
    for name, file in ELSEWHERE.items():
        assert f"{name}(" in next(Path(__file__).parents[1].rglob(file)).read_text()


@every_kernel
def test_protocol(name):
    kernel = kernel_named(name)
    assert isinstance(kernel, Kernel)
    assert kernel.exact_when is None or isinstance(kernel.exact_when, str)
    assert name not in ("naive", "penalty", "penalty series", "corrected", "mixture") or kernel.exact_when is None
    assert type(kernel).__name__ in repr(kernel)


@every_kernel
def test_step_is_move_with_the_noise_of_the_key(name):
    kernel = kernel_named(name)
    state = kernel.init(start(), KEY)
    for key in jr.split(KEY, 3):
        noise = kernel.noise(key, state.position)
        stepped = kernel.step(key, state)
        assert_equal(stepped, kernel.move(state, noise))
        assert_equal(stepped, kernel.move(state, noise))  # nothing is used up
        state = stepped[0]


@pytest.mark.parametrize("name", in_turn(KERNELS, 0))
def test_step_compiles_and_maps_over_hyperparameters(name):
    scales = [np.array([1.0, 0.7]), np.array([0.1, 0.2]), np.array([3.0, 0.5])]
    made = [KERNELS[name](ls.RandomWalk(scale)) for scale in scales]
    assert any(np.array_equal(leaf, scales[0]) for leaf in jax.tree.leaves(made[0]))
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *made)
    # Several steps of each, since a screen refuses some without a ratio.
    keys, state = jr.split(KEY, (3, 8)), made[0].init(start(), KEY)
    stepped = jax.jit(jax.vmap(lambda kernel, keys: jax.vmap(lambda key: kernel.step(key, state))(keys)))(stacked, keys)
    one_by_one = [kernel.step(key, state) for kernel, key in zip(made, keys[:, 0], strict=True)]
    mapped = jax.tree.map(lambda leaf: leaf[:, 0], stepped)
    assert_close(mapped, jax.tree.map(lambda *leaves: np.stack(leaves), *one_by_one))
    assert_close(jax.jit(made[0].step)(keys[0, 0], state), one_by_one[0])
    assert len(np.unique(stepped[1].log_ratio)) >= 3


@pytest.mark.parametrize("name", in_turn(KERNELS, 1))
def test_blackjax_runs_it_without_an_adapter(name):
    kernel = kernel_named(name)
    final, (states, infos) = run_inference_algorithm(KEY, kernel, 30, initial_position=start())
    assert states.position.shape == (30, 2)
    assert_equal(final.position, states.position[-1])
    accepted = np.asarray(infos.is_accepted).reshape(30, -1)
    moved = np.any(np.diff(np.vstack([start(), states.position]), axis=0) != 0, axis=1)
    assert np.array_equal(moved, accepted.any(axis=1))
    assert moved.sum() > 0


@every_kernel
def test_moves_contain_no_random_number_generator(name):
    kernel = kernel_named(name)
    state, noise = kernel.init(start(), KEY), kernel.noise(KEY, start())
    program = str(jax.make_jaxpr(kernel.move)(state, noise))
    assert "random" not in program and "threefry" not in program
    assert "random" in str(jax.make_jaxpr(kernel.step)(KEY, state))


@every_kernel
def test_noise_looks_at_the_shape_of_the_position_only(name):
    kernel = kernel_named(name)
    assert_equal(kernel.noise(KEY, start(), (4,)), kernel.noise(KEY, 100 + start(), (4,)))
    many, single = (jax.eval_shape(lambda shape=shape: kernel.noise(KEY, start(), shape)) for shape in ((4, 3), ()))
    assert jax.tree.structure(many) == jax.tree.structure(single)
    for leaf, one in zip(jax.tree.leaves(many), jax.tree.leaves(single), strict=True):
        assert leaf.shape == (4, 3, *one.shape)


@every_kernel
def test_random_memory_needs_a_key(name):
    kernel = kernel_named(name)
    if name in RANDOM_MEMORY:
        with pytest.raises(ValueError, match="needs a key"):
            kernel.init(start())
        first, second = (kernel.init(start(), key).memory for key in jr.split(KEY))
        assert any(not np.array_equal(*leaves) for leaves in zip(*map(jax.tree.leaves, (first, second)), strict=True))
    else:
        assert_equal(kernel.init(start()), kernel.init(start(), KEY))


@pytest.mark.parametrize("name", in_turn([name for name in KERNELS if name not in ("cycle", "mixture")], 2))
def test_accepts_iff_the_noise_is_below_the_log_ratio(name):
    kernel = kernel_named(name)
    noise = jax.jit(lambda key: kernel.noise(key, start(), (200,)))(KEY)
    state = kernel.init(start(), KEY)
    moved, info = jax.jit(jax.vmap(kernel.move, in_axes=(None, 0)))(state, noise)
    assert np.array_equal(info.is_accepted, noise.accept <= info.log_ratio)
    assert np.array_equal(np.any(moved.position != start(), axis=1), info.is_accepted)
    assert np.all(noise.accept < 0) and np.all(info.is_valid)
    candidates = jax.jit(jax.vmap(kernel.proposal, in_axes=(0, None)))(noise.proposal, start())[0]
    accepted = np.asarray(info.is_accepted)
    assert np.array_equal(moved.position[accepted], candidates[accepted])


# --- hyperparameters


def test_kernels_can_be_made_while_tracing():
    def position_after(scale):
        kernel = ls.standard(log_density, ls.RandomWalk(scale))
        return kernel.step(KEY, kernel.init(start()))[0].position

    scales = jnp.array([0.1, 0.5])
    assert_close(jax.vmap(position_after)(scales), jnp.stack([position_after(scale) for scale in scales]))


def test_kernels_of_one_kind_share_their_compilation():
    traces = []

    def counted(theta):
        traces.append(1)
        return log_density(theta)

    move = jax.jit(lambda kernel, state, noise: kernel.move(state, noise))
    for scale in (1.0, 2.0, 0.3):
        kernel = ls.standard(counted, ls.RandomWalk(scale))
        state = ls.State(start(), log_density(start()))
        move(kernel, state, kernel.noise(KEY, start()))
    assert len(traces) == 1


def test_data_of_a_function_are_leaves():
    def with_data(data, theta):
        return -0.5 * jnp.sum((theta - data) ** 2)

    traces = []

    @jax.jit
    def evaluate(kernel):
        traces.append(1)
        return kernel.init(start()).memory

    for data in (jnp.zeros(2), jnp.ones(2)):
        kernel = ls.standard(jax.tree_util.Partial(with_data, data), WALK)
        assert float(evaluate(kernel)) == pytest.approx(float(with_data(data, start())), abs=1e-15)
    assert len(traces) == 1


# --- interpreted


class Point:
    """A plain NumPy log density that cannot be traced."""

    def __call__(self, theta):
        assert isinstance(theta, np.ndarray)
        if theta[0] > 2.5:
            return -np.inf
        return -0.5 * float(np.sum(theta**2))


def test_a_plain_numpy_density_runs_interpreted():
    interpreted = ls.standard(Point(), WALK)

    def log_density_in_jax(theta):
        return jnp.where(theta[0] > 2.5, -jnp.inf, log_density(theta))

    compiled = ls.standard(log_density_in_jax, WALK)
    noise = compiled.noise(KEY, start(), (300,))
    positions, infos = walk_with(compiled, noise, compiled.init(start()))
    in_numpy = jax.tree.map(np.asarray, noise)
    state = interpreted.init(np.asarray(start()))
    for i in range(300):
        state, info = interpreted.move(state, jax.tree.map(lambda leaf, i=i: leaf[i], in_numpy))
        assert isinstance(info.is_accepted, np.bool_) and isinstance(info.is_valid, np.bool_ | bool)
        assert isinstance(state.position, np.ndarray) and isinstance(state.memory, np.float64)
        assert info.is_accepted == infos.is_accepted[i]
        np.testing.assert_allclose(state.position, positions[i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(info.log_ratio, infos.log_ratio[i], rtol=1e-12, atol=1e-12)
    assert np.any(np.isneginf(infos.log_ratio))


@pytest.mark.parametrize("name", in_turn(KERNELS, 2))
def test_interpreted_moves_equal_compiled_ones(name):
    kernel = kernel_named(name)
    move = jax.jit(kernel.move)
    state, noise = jax.tree.map(np.asarray, (kernel.init(start(), KEY), kernel.noise(KEY, start(), (4,))))
    for i in range(4):
        one = jax.tree.map(lambda leaf, i=i: leaf[i], noise)
        assert_close(kernel.move(state, one), move(state, one))


# --- the same algorithm written twice takes the same steps


def exact_estimate(noise, theta):
    return log_density(theta)


def exact_sample(noise, position, candidate):
    return log_difference(position, candidate)


def log_likelihood_of_nothing(theta, x):
    return -0.5 * jnp.sum(x**2)


def noise_itself(noise, theta):
    return noise


def density_of_nothing(x, position, candidate):
    return -0.5 * x**2


def take_noise(noise, position, candidate):
    return noise


NOISELESS = ls.estimators.mean(exact_sample, 3, draw=normals)
WITHOUT_NOISE = {
    "naive": ls.naive(NOISELESS, WALK),
    "penalty, estimated": ls.penalty(NOISELESS, WALK),
    "penalty, series": ls.penalty(NOISELESS, WALK, series=True),
    "penalty, known": ls.penalty(ls.estimators.known_variance(NOISELESS.with_count(1), 0.0), WALK),
    "corrected": ls.corrected(NOISELESS, WALK),
    "two-sided": ls.corrected(ls.estimators.two_sided(NOISELESS), WALK),
    "importance sampling": ls.naive(ls.estimators.log_mean_exp(exact_sample, 1, draw=normals), WALK),
    "universal": ls.universal(NOISELESS, 1e-300, WALK),
    "pseudo-marginal": ls.pseudo_marginal(exact_estimate, WALK, draw=normal),
    "correlated": ls.pseudo_marginal(exact_estimate, WALK, correlation=0.5, draw=normal),
    "randomized": ls.randomized(log_density, WALK, ls.Density(take_noise, density_of_nothing, draw=normal)),
    "exchange": ls.exchange(log_density, log_likelihood_of_nothing, noise_itself, DATA, WALK, draw=three_normals),
    "averaged exchange": ls.averaged_exchange(
        log_density, log_likelihood_of_nothing, noise_itself, DATA, WALK, 3, draw=three_normals
    ),
    "auxiliary variable": ls.auxiliary_variable(
        log_density, log_likelihood_of_nothing, noise_itself, lambda x: -0.5 * jnp.sum(x**2), DATA, WALK, three_normals
    ),
}


@pytest.fixture(scope="module")
def standard_walk(double_precision):
    return walk(kernel_named("standard"))


@pytest.mark.parametrize("name", in_turn(WITHOUT_NOISE, 1, of=2))
def test_without_noise_every_kernel_is_the_standard_one(name, standard_walk):
    positions, infos = walk(WITHOUT_NOISE[name])
    assert np.array_equal(infos.is_accepted, standard_walk[1].is_accepted)
    assert np.array_equal(positions, standard_walk[0])
    log_ratios = np.minimum(standard_walk[1].log_ratio, 0) if name == "universal" else standard_walk[1].log_ratio
    np.testing.assert_allclose(infos.log_ratio, log_ratios, rtol=1e-12, atol=1e-13)
    assert 20 < np.sum(infos.is_accepted) < 180


DIFFERENT = ["naive", "penalty", "corrected", "randomized", "exchange", "averaged exchange", "pseudo-marginal"]


@pytest.mark.parametrize("name", in_turn(DIFFERENT, 0))
def test_with_noise_they_differ(name, standard_walk):
    assert not np.array_equal(walk(kernel_named(name))[0], standard_walk[0])


def test_penalty_written_two_ways():
    known = ls.estimators.known_variance(
        ls.estimators.mean(lambda z, p, c: log_difference(p, c) + VARIANCE**0.5 * z, 1, draw=normals), VARIANCE
    )
    estimated, randomized = ls.penalty(known, WALK), kernel_named("randomized")
    gaussianized = ls.penalty(
        ls.estimators.gaussianized(log_difference, lambda z: z[0], VARIANCE, 1, draw=normals), WALK
    )
    noise = estimated.noise(KEY, start(), (200,))
    z = noise.ratio[:, 0]
    positions, infos = walk_with(estimated, noise, estimated.init(start()))
    others = [(randomized, ((), z)), (gaussianized, z)]
    for kernel, ratio_noise in others:
        other_positions, other_infos = walk_with(kernel, noise._replace(ratio=ratio_noise), kernel.init(start()))
        assert np.array_equal(positions, other_positions)
        np.testing.assert_allclose(infos.log_ratio, other_infos.log_ratio, rtol=0, atol=1e-12)
    # The same key makes the same noise of the first and the last.
    assert np.array_equal(gaussianized.noise(KEY, start(), (200,)).ratio, z)


def test_corrected_and_naive_are_one_chain_on_unbiased_weights():
    weights = ls.estimators.log_mean_exp(log_weight, 4, draw=normals)
    naive, corrected, penalty = (walk(make(weights, WALK)) for make in (ls.naive, ls.corrected, ls.penalty))
    assert_equal(naive, corrected)
    assert not np.array_equal(naive[1].log_ratio, penalty[1].log_ratio)


def test_corrected_is_penalty_on_a_mean():
    assert_equal(walk(kernel_named("corrected")), walk(kernel_named("penalty")))


def test_correlated_noise_of_correlation_zero_is_plain_pseudo_marginal():
    plain = walk(kernel_named("pseudo-marginal"))
    zero = ls.MetropolisHastings(WALK, ls.Carried(ratios.Noisily(log_estimate, normal), jnp.array(0.0)))
    assert_equal(plain, walk(zero))


def test_noise_of_a_correlated_chain_keeps_its_law():
    # u' = ρ u + √(1-ρ²) ε is standard normal if u and ε are, and has correlation ρ with u.
    kernel = kernel_named("correlated")
    n = 20_000
    u, epsilon = jr.normal(KEY, (2, n))

    def candidate_noise(u, epsilon):
        memory = kernel.ratio.init(u, start())
        return kernel.ratio(epsilon, start(), memory, start(), 0.0)[1].noise

    u_next = np.asarray(jax.vmap(candidate_noise)(u, epsilon))
    np.testing.assert_allclose(u_next, 0.9 * u + np.sqrt(1 - 0.81) * epsilon, atol=1e-14)


def test_one_kernel_alone_is_itself():
    kernel = kernel_named("pseudo-marginal")
    noise, state = kernel.noise(KEY, start(), (100,)), kernel.init(start(), KEY)
    wanted_positions, wanted = walk_with(kernel, noise, state)
    positions, infos = walk_with(ls.Cycle([kernel]), (noise,), state)
    assert np.array_equal(positions, wanted_positions)
    assert_equal(jax.tree.map(lambda leaf: leaf[:, 0], infos), wanted)
    positions, infos = walk_with(ls.Mixture([kernel]), (jnp.zeros(100, int), (noise,)), state)
    assert_equal((positions, infos), (wanted_positions, wanted))


def test_exchange_and_auxiliary_variable_by_hand():
    theta, candidate, x, x_new = start(), jnp.array([0.9, 0.1]), jnp.array([0.2, 0.5, -1.0]), jnp.array([1.0, 0.1, 0.4])

    def target(t):
        return log_density(t) + log_likelihood(t, DATA)

    ratio = kernel_named("exchange").ratio
    log_ratio, memory, _ = ratio(((), x_new - candidate[0]), theta, target(theta), candidate, 0.25)
    wanted = target(candidate) - target(theta) + log_likelihood(theta, x_new) - log_likelihood(candidate, x_new) + 0.25
    assert float(log_ratio) == pytest.approx(float(wanted), abs=1e-13)
    assert memory == target(candidate)

    ratio = kernel_named("auxiliary variable").ratio
    memory = ratio.init(x - theta[0], theta)
    log_ratio = ratio(x_new - candidate[0], theta, memory, candidate, 0.25).log_ratio
    wanted = (
        (target(candidate) + auxiliary_log_density(x_new) - log_likelihood(candidate, x_new))
        - (target(theta) + auxiliary_log_density(x) - log_likelihood(theta, x))
        + 0.25
    )
    assert float(log_ratio) == pytest.approx(float(wanted), abs=1e-13)


def test_universal_by_hand():
    ratio = kernel_named("universal").ratio
    candidate, noise, noise_self = (
        jnp.array([0.9, 0.1]),
        jnp.array([0.1, 0.2, 0.3, 0.4]),
        jnp.array([1.0, 0.0, 0.0, 0.6]),
    )
    d = float(log_difference(start(), candidate)) + 0.5 * 0.25
    for log_q in (0.25, 5.0):
        log_ratio, memory, is_violated = ratio((noise, noise_self), start(), (), candidate, log_q)
        assert float(log_ratio) == pytest.approx(min(log_q + d, 0.5 * 0.4) - 1.0, abs=1e-13)
        assert memory == () and not is_violated
    assert ratio((noise, 10 * noise_self), start(), (), candidate, 0.0)[2]


@pytest.mark.parametrize(
    "proposal", [ls.IndependentNormal(0.5, [1.0, 2.0]), ls.RandomWalk(1.0)], ids=["independent", "walk"]
)
def test_every_ratio_adds_the_log_proposal_ratio(proposal):
    noise = proposal.noise(KEY, start())
    candidate, log_q = proposal(noise, start())
    for name in KERNELS.keys() - {"cycle", "mixture", "universal", "screened", "screened pseudo-marginal"}:
        kernel = KERNELS[name](proposal)
        state = kernel.init(start(), KEY)
        ratio_noise = kernel.ratio.noise(KEY, start())
        log_ratio = kernel.ratio(ratio_noise, start(), state.memory, candidate, log_q).log_ratio
        without = kernel.ratio(ratio_noise, start(), state.memory, candidate, 0.0).log_ratio
        assert float(log_ratio - without) == pytest.approx(float(log_q), abs=1e-13)


def test_nan_is_rejected_and_counted_and_zero_density_is_rejected():
    def treacherous(theta):
        return jnp.where(theta[0] > 0.3, jnp.nan, jnp.where(theta[0] < 0.2, -jnp.inf, 0.0))

    kernel = ls.standard(treacherous, ls.RandomWalk(0.1))
    noise = kernel.noise(KEY, jnp.array([0.25, 0.0]), (500,))
    state = kernel.init(jnp.array([0.25, 0.0]))
    moved, info = jax.jit(jax.vmap(kernel.move, in_axes=(None, 0)))(state, noise)
    candidates = 0.25 + np.asarray(noise.proposal)[:, 0]
    is_nan, is_zero = candidates > 0.3, candidates < 0.2
    assert is_nan.sum() > 50 and is_zero.sum() > 50
    assert np.array_equal(info.is_valid, ~is_nan)
    assert np.array_equal(info.is_accepted, ~is_nan & ~is_zero)
    assert np.all((moved.position[:, 0] >= 0.2) & (moved.position[:, 0] <= 0.3))
